"""Networks that learn from crowds: AggNet, crowd layers and CoNAL."""

from wisecrowd.methods.deep.aggnet import AggNet
from wisecrowd.methods.deep.conal import CoNAL
from wisecrowd.methods.deep.crowd_layer import CrowdLayer

__all__ = ["AggNet", "CoNAL", "CrowdLayer"]
