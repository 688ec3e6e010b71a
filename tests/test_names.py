"""The names of mechanisms: one list, which the mechanisms themselves bear."""

from __future__ import annotations

import pytest

from dpauto import Exponential, Online, PermuteAndFlip, names
from dpauto.errors import InvalidArgument


def test_the_mechanisms_bear_the_names():
    assert [kind.name for kind in (PermuteAndFlip, Exponential, Online)] == [*names.UNCERTIFIED]


@pytest.mark.parametrize("name", ["", "magic", "Online", None])
def test_other_names_are_refused_with_those_that_are_known(name):
    with pytest.raises(InvalidArgument, match=r"must be 'permute-and-flip' or 'exponential'$"):
        names.parse_mechanism(name, names.OFFLINE)
