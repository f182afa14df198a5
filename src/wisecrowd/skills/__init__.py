"""Models of annotators, as parts that any method can use.

A part is a frozen record with the methods of :class:`~wisecrowd.skills.part.Skills`.
:class:`ConfusionMatrices` has a Dirichlet posterior for every annotator,
:class:`Ability` is GLAD's, :class:`Subtypes` is EBCC's, :class:`ByFeatures` is
Yan's. :class:`LayerMatrices` and :class:`CommonConfusions` are what a network learns
beside its classes, in crowd layers and in CoNAL. :class:`Votes` and :class:`Trusted`
learn nothing and only count.
"""

from wisecrowd.skills.ability import Ability
from wisecrowd.skills.by_features import ByFeatures
from wisecrowd.skills.confusion_matrices import ConfusionMatrices
from wisecrowd.skills.layers import CommonConfusions, LayerMatrices
from wisecrowd.skills.part import SeeingSkills, Skills
from wisecrowd.skills.subtypes import Subtypes
from wisecrowd.skills.tally import Tally, Trusted, Votes

__all__ = [
    "Ability",
    "ByFeatures",
    "CommonConfusions",
    "ConfusionMatrices",
    "LayerMatrices",
    "SeeingSkills",
    "Skills",
    "Subtypes",
    "Tally",
    "Trusted",
    "Votes",
]
