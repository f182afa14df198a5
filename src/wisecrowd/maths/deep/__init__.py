"""Networks and layers for crowds, with JAX and Equinox."""
