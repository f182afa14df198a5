"""Simulated crowds: the true classes and the confusion matrices are known."""

from wisecrowd.simulation.crowds import simulate
from wisecrowd.simulation.glitches.dataset import simulate_glitches

# The same function as wc.simulate_glitches, which is the name that type checkers know.
simulate.glitches = simulate_glitches  # type: ignore[attr-defined]
