"""Files: answers, features and gold classes in, annotations out."""
