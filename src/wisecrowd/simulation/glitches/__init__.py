"""Simulated glitches of a gravitational-wave detector, as in the paper's section 3."""

from wisecrowd.simulation.glitches.dataset import Glitches, simulate_glitches

__all__ = ["Glitches", "simulate_glitches"]
