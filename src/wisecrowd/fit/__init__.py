"""The loops that climb a bound, and the trace that they leave."""
