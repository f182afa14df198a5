"""Save a fitted model to a folder and load it again, without pickle.

A run folder holds ``model.json`` (the class, its settings, everything that is not a
number array) and ``model.safetensors`` (the number arrays, to the last bit). Both are
guarded by a checksum in ``model.json``. A class is found by its public name in
:mod:`wisecrowd` and nowhere else, so that a file can never choose what is imported.
"""

from wisecrowd.persist.models import load, save

__all__ = ["load", "save"]
