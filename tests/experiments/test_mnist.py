import pytest

from wisecrowd._checks import InputError
from wisecrowd.experiments import mnist
