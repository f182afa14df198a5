"""Read and write files: annotations, features and gold classes."""
