"""Feasible words within the adjacency, counted without counting the others."""

from __future__ import annotations

import warnings
from unittest import mock

import numpy as np
import oracles
import pytest
import strategies
from hypothesis import given, settings
from hypothesis import strategies as st

from dpauto import InvalidArgument, Language, MarkovChain, neighbour_report
from dpauto.accuracy import NeighbourReport, neighbours, sampled_neighbours
from dpauto.accuracy.neighbours import nearby_counts


@given(strategies.languages(), st.integers(0, 5), st.sampled_from([1, 100, 10**6]), st.data())
@settings(max_examples=80)
def test_counts_by_enumeration(
    found: tuple[Language, list[oracles.Word]], limit: int, cells: int, data: st.DataObject
) -> None:
    language, words = found
    one = strategies.words(language.alphabet, language.length)
    asked = data.draw(st.lists(one, min_size=1, max_size=5))
    expected = [oracles.level_counts(words, w)[: limit + 1] for w in asked]
    numbers = np.stack([language.encode(w) for w in asked])
    # However many words are counted side by side.
    with mock.patch.object(neighbours, "BLOCK_CELLS", cells):
        assert nearby_counts(language, numbers, limit) == expected


def test_counts_beyond_64_bits() -> None:
    # Loops on 40 symbols everywhere, as a chain: C(60, 12) 39**12 is about 2**104.
    chain = MarkovChain(
        states=range(40), transitions={k: dict.fromkeys(range(40), 1 / 40) for k in range(40)}
    )
    language, w = chain.language(60), [0] * 60
    everything = Language.all_words(range(40), 60)
    expected = everything.level_counts(w)[:13]
    assert expected[12] > 2**100
    # Words with counts of all sizes do not disturb each other.
    other = [0] * 59 + [1]
    numbers = np.stack([language.encode(w), language.encode(other)])
    assert nearby_counts(language, numbers, 12) == [expected, expected]


def test_a_report_says_who_is_alone() -> None:
    language = Language.of(["aaa", "aab", "abb", "ccc"])
    report = neighbour_report(language, ["aaa", "ccc", "abb"], adjacency=2)
    assert report.counts == ((1, 1), (0, 0), (1, 1))
    assert report.within == (2, 0, 2)
    assert report.alone == pytest.approx(1 / 3)
    assert (report.median, report.nearly_empty) == (2, False)
    assert str(report).startswith("2 other feasible words lie within 2 substitutions of a word")


def test_a_parity_language_hides_nothing_at_one_substitution() -> None:
    words = [w for w in oracles.all_words("ab", 6) if w.count("a") % 2 == 0]
    language = Language.of(words)
    report = sampled_neighbours(language, adjacency=1, samples=20)
    assert (report.alone, report.nearly_empty) == (1, True)
    assert "longer adjacency" in str(report)
    assert sampled_neighbours(language, adjacency=2, samples=20).within == (15,) * 20


def test_samples_are_public_and_repeatable() -> None:
    language = Language.of(["aa", "ab", "bb", "cc", "dc", "ed"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        first = sampled_neighbours(language, adjacency=1, samples=30)
    assert first == sampled_neighbours(language, adjacency=1, samples=30)
    assert len(set(first.counts)) > 1


def test_medians_of_even_and_odd_numbers() -> None:
    assert NeighbourReport(1, ((1,), (4,))).median == 2.5
    assert NeighbourReport(1, ((1,), (4,), (9,))).median == 4


def test_arguments_out_of_range() -> None:
    language = Language.of(["ab"])
    with pytest.raises(InvalidArgument, match="adjacency"):
        neighbour_report(language, ["ab"], adjacency=0)
    with pytest.raises(InvalidArgument, match="at least one word"):
        neighbour_report(language, [], adjacency=1)
    with pytest.raises(InvalidArgument, match="samples"):
        sampled_neighbours(language, adjacency=1, samples=0)
