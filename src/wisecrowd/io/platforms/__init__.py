"""One file per platform whose exports wisecrowd reads."""
