"""One file per method of the literature; ``__all__`` of a file names its methods."""
