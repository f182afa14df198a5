"""What a fitted model says: tables, a summary, flags, files, comparison of methods.

Everything here is data: DataFrames and plain dictionaries. The report, the command
line and the experiments show it. Nothing here needs JAX.
"""
