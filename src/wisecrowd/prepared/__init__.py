"""Answers beyond memory: a prepared folder, and methods that read it in passes."""
