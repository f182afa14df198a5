"""The experiments: tables and figures of the paper, and those of our documentation.

An experiment is a list of jobs (:mod:`~wisecrowd.experiments.runner`), whose rows are
kept in a file, and of parts (:mod:`~wisecrowd.experiments.parts`): tables and figures
that are made from the rows.
"""
