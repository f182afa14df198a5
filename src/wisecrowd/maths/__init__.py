"""Pure functions of arrays: one formula, one function."""
