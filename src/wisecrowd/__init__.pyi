from . import datasets as datasets
from . import metrics as metrics
from ._checks import InputError as InputError
from .annotations import Annotations as Annotations
from .io.features import read_features as read_features
from .io.gold import matched_gold as matched_gold
from .io.gold import read_gold as read_gold
from .io.join import read_feature_table as read_feature_table
from .io.read import read_annotations as read_annotations
from .io.write import write_annotations as write_annotations
from .methods.bcc import BCC as BCC
from .methods.dawid_skene import DawidSkene as DawidSkene
from .methods.glad import GLAD as GLAD
from .methods.majority_vote import MajorityVote as MajorityVote
from .methods.raykar import Raykar as Raykar
from .methods.svgpcr import SVGP as SVGP
from .methods.svgpcr import SVGPCR as SVGPCR
from .persist import load as load
from .persist import save as save
from .registry import AGGREGATORS as AGGREGATORS
from .registry import CLASSIFIERS as CLASSIFIERS
from .registry import METHODS as METHODS
from .registry import cite as cite
from .results.comparison import compare as compare
from .results.cross_validation import cross_validate as cross_validate
from .simulation.crowds import simulate as simulate

__version__: str
