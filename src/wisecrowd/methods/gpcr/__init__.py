"""VGPCR, RFFGPCR and VFFGPCR: binary Gaussian processes with a logistic link."""

from wisecrowd.methods.gpcr.fourier import RFFGPCR, VFFGPCR
from wisecrowd.methods.gpcr.vgpcr import VGPCR

__all__ = ["RFFGPCR", "VFFGPCR", "VGPCR"]
