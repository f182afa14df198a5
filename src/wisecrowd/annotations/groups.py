"""Families of annotators who answer alike, as codes."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from wisecrowd._checks import InputError, listed
from wisecrowd._types import Array


def group_codes(groups: Any, annotators: Array) -> Any:
    """Return the family of every annotator as a code; None if none were given.

    `groups` leads from annotators to families; names are compared as text. An annotator
    who is not named, or whose family is missing (None, NaN), is a family of one.

    Examples
    --------
    >>> names = np.array(["ann", "gpt-4", "gpt-5"])
    >>> group_codes({"gpt-4": "gpt", "gpt-5": "gpt"}, names).tolist()
    [1, 0, 0]
    """
    if groups is None:
        return None
    if not isinstance(groups, pd.Series | Mapping):
        raise InputError(
            f"groups is a mapping or a Series from annotators to families, not a "
            f"{type(groups).__name__}."
        )
    named: dict[str, str] = {}
    for who, family in groups.items():
        if pd.api.types.is_scalar(family) and pd.isna(family):
            continue
        if named.setdefault(str(who), str(family)) != str(family):
            both = listed([named[str(who)], str(family)])
            raise InputError(
                f"groups gives the annotator {listed([who])} two families, {both}. "
                f"Keep one."
            )
    if not named:
        return None
    known = {str(who) for who in annotators.tolist()}
    unknown = sorted(set(named) - known)
    if len(unknown) == len(named):
        raise InputError(
            f"groups names no annotator of these answers. It names "
            f"{listed(unknown, 3)}; the annotators are {listed(annotators, 3)}."
        )
    # Families by their first mention, then annotators alone by their place.
    families = list(dict.fromkeys(named.values()))
    place = {family: code - len(families) for code, family in enumerate(families)}
    codes = [
        place[named[who]] if who in named else alone
        for alone, who in enumerate(map(str, annotators.tolist()))
    ]
    return np.unique(codes, return_inverse=True)[1]
