"""Where warnings point: the line of the user, however deep in the library they arise."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

import dpauto


@pytest.mark.parametrize(
    "act",
    [
        lambda: dpauto.SeededBits(1),
        lambda: dpauto.Language.all_words("ab", 3).random_word(1),
        lambda: dpauto.PermuteAndFlip(dpauto.Language.of(["ab"]), epsilon=1).release("ab", 1),
        lambda: dpauto.MarkovChain.fit(["ab"]),
    ],
    ids=["source", "language", "mechanism", "fit"],
)
def test_a_warning_points_at_the_line_outside_the_library(act) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        act()
    assert [Path(warning.filename).name for warning in caught] == [Path(__file__).name]
    assert caught[0].lineno == act.__code__.co_firstlineno
