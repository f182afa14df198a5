"""One file for each platform whose exports wisecrowd reads."""
