"""Sums of leaving edges, and choices among them, against fractions."""

from __future__ import annotations

from fractions import Fraction
from itertools import accumulate

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from dpauto.passes import Undecided
from dpauto.passes.leaving_sums import LeavingSums, WordSums

#: As far apart as the layers of a very long word.
exponents = st.one_of(st.integers(-5, 5), st.integers(-5000, 5000))
errors = st.sampled_from([0.0, 0.0, 2.0**-1074, 2.0**-500, 1.0])
weights = st.one_of(st.just(0.0), st.floats(0.5, 1))
edges = st.lists(st.tuples(st.integers(0, 60), weights, exponents), max_size=20).map(sorted)
UNIT = 2.0**-53


def power(exponent: int) -> Fraction:
    return Fraction(2) ** exponent


def sums_of(found: list[tuple[int, float, int]], lost: list[float], scale: list[int]) -> WordSums:
    steps, mantissa, exponent = (np.array([edge[k] for edge in found]) for k in range(3))
    return LeavingSums(
        np.array([0, len(found)]),
        steps.astype(np.int64),
        mantissa.astype(np.float64),
        exponent.astype(np.int64),
        np.array(lost, dtype=np.float64),
        np.array(scale, dtype=np.int64),
        1,
    ).of(0)


@settings(max_examples=200)
@given(edges, st.data())
def test_the_total_is_within_its_bound(found, data):
    size = len(found)
    lost = data.draw(st.lists(errors, min_size=size, max_size=size))
    scale = data.draw(st.lists(exponents, min_size=size, max_size=size))
    total, absolute, unit = sums_of(found, lost, scale).total
    if absolute == float("inf"):
        return
    true = sum((Fraction(m) * power(e) for _, m, e in found), Fraction(0))
    error = sum((Fraction(x) * power(s) for x, s in zip(lost, scale, strict=True)), Fraction(0))
    allowed = Fraction(total) * Fraction(size * UNIT) + Fraction(absolute)
    assert abs(Fraction(total) * power(unit) - true) + error <= allowed * power(unit)


@settings(max_examples=300)
@given(edges, st.integers(0, 60), st.integers(0, 2**64 - 1), st.data())
def test_a_choice_is_that_of_fractions(found, first, u, data):
    sums = sums_of(found, [0.0] * len(found), [0] * len(found))
    stay = data.draw(st.booleans())
    kept = [(k, Fraction(m) * power(e)) for k, (i, m, e) in enumerate(found) if i >= first]
    if not stay and first and kept:
        first, kept = 0, [(k, Fraction(m) * power(e)) for k, (_, m, e) in enumerate(found)]
    relative = (len(found) + 4) * UNIT
    try:
        if stay:
            chosen = sums.choose_later(first, u, 64, relative)
        elif kept:
            chosen = sums.choose(u, 64, relative)
        else:
            return
    except Undecided:
        return
    # The last edges come first, and staying, which weighs 1, comes last.
    order = [*reversed(kept), *([(None, Fraction(1))] if stay else [])]
    reached = [*accumulate((weight for _, weight in order), initial=Fraction(0))]
    at = [edge for edge, _ in order].index(chosen)
    assert reached[at] <= Fraction(u, 2**64) * reached[-1]
    assert Fraction(u + 1, 2**64) * reached[-1] <= reached[at + 1]


def test_what_is_carried_outlives_a_stretch_of_another_scale():
    """Early edges that lead nowhere, in layers whose other entries are huge."""
    sums = sums_of([(0, 0.0, 7000), (40, 0.5, 0)], [0.0, 0.0], [7000, 0])
    total, absolute, unit = sums.total
    assert total * 2.0**unit == 0.5
    assert absolute < 2.0**-900
    assert sums.choose(2**63, 64, UNIT) == 1
    assert sums.choose_later(0, 2**60, 64, UNIT) == 1
    assert sums.choose_later(0, 2**63, 64, UNIT) is None


def test_nothing_weighs_exactly_nothing():
    assert sums_of([], [], []).total == (0.0, 0.0, 0)
    total, absolute, _ = sums_of([(0, 0.0, 0), (40, 0.0, 90)], [0.0, 0.0], [0, 90]).total
    assert (total, absolute) == (0.0, 0.0)
