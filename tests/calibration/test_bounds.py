"""Every part of the proof, against the definitions on small cases."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from itertools import product

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from losses import distances
from small_languages import small_language

from dpauto import EmptyNeighbourhood, Language, certify
from dpauto.calibration import boxes as boxes_module
from dpauto.calibration import extremes, neighbours
from dpauto.calibration.blocks import find_blocks
from dpauto.calibration.boxes import DenseLayout, NearPairs, dense_boxes, near_boxes
from dpauto.calibration.chain import Chain, Side, as_chain
from dpauto.calibration.extremes import extreme_weights
from dpauto.calibration.losses import flip_loss, log_ratios
from dpauto.calibration.neighbours import possible_distances, require_neighbours
from dpauto.calibration.rounding import Discount, TooLoose, down, largest, log_up, smallest, up


def chains(seed: str, count: int) -> list[tuple[Language, Chain]]:
    rng, found = random.Random(seed), []
    while len(found) < count:
        language = small_language(rng, "chain", most=60, longest=5)
        chain = None if language is None else as_chain(language)
        if language is not None and chain is not None:
            found.append((language, chain))
    return found


# -- rounding ------------------------------------------------------------------------------------


@given(st.integers(0, 10**6))
def test_linear_fractional_extremes_are_at_corners(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, d = rng.random((2, 5)) * (rng.random((2, 5)) < 0.7)
    d[0] = 1.0
    lo = rng.random(5) + 0.01
    hi = lo * (1 + 3 * rng.random(5))
    corners = np.array(list(product(*zip(lo, hi, strict=True))))
    values = (corners @ n) / (corners @ d)
    for start in (None, np.array(7.0), np.array(1e-3)):
        top, bottom = largest(n, d, lo, hi, start=start), smallest(n, d, lo, hi, start=start)
        assert values.max() <= top <= values.max() * (1 + 1e-9) + 1e-250
        assert values.min() * (1 - 1e-9) - 1e-250 <= bottom <= values.min()


def test_discounts_are_correctly_rounded() -> None:
    discount = Discount.of(Fraction(3, 2))
    assert discount.z == pytest.approx(math.exp(-1.5), rel=1e-15)
    assert discount.z + discount.rest == pytest.approx(1, abs=1e-15)
    assert discount.power(3) == pytest.approx(math.exp(-4.5), rel=1e-15)
    with pytest.raises(TooLoose):
        Discount.of(Fraction(1000))


def test_logarithms_and_bounds_are_moved_outwards() -> None:
    assert 0 < log_up(1.0) < Fraction(1, 10**20)
    with mpmath.workdps(60):
        exact = Fraction(mpmath.nstr(mpmath.log(mpmath.mpf(7) / 3), 55))
    assert 0 <= log_up(Fraction(7, 3)) - exact < Fraction(1, 10**29)
    values = np.array([0.0, 0.1, 1.0])
    assert (up(values, 1)[1:] > values[1:]).all()
    assert (down(values, 1)[1:] < values[1:]).all()
    assert up(values, 1)[0] == down(values, 1)[0] == 0
    for unusable in (np.inf, np.nan, 2.0**301):
        with pytest.raises(TooLoose):
            up(np.array([unusable]), 1)


# -- chains, boxes and blocks ----------------------------------------------------------------------


def side_weights(side: Side, states: tuple[int, ...], z: float) -> np.ndarray:
    """S_i of all classes, by its recursion."""
    weights = side.boundary.astype(float)
    for w in states:
        of_state = weights[side.of_state] * np.where(np.arange(len(side.of_state)) == w, 1, z)
        weights = np.array([of_state[side.members.row(k)].sum() for k in range(side.n_classes)])
    return weights


@pytest.mark.parametrize("depth", [1, 2, 3, "near", "near, invariant"])
def test_boxes_hold_for_every_word(depth: int | str, monkeypatch: pytest.MonkeyPatch) -> None:
    compared = 0
    if depth == "near, invariant":
        monkeypatch.setattr(boxes_module, "ALL_LENGTHS", 0)
    for language, chain in chains(f"boxes {depth}", 25):
        exponent = Fraction(random.Random(language.fingerprint).randint(1, 40), 10)
        discount, n = Discount.of(exponent), language.length
        words = [chain_states(language, w) for w in language.words()]
        for side, oriented in (
            (chain.prefix, words),
            (chain.suffix, [w[::-1] for w in words]),
        ):
            if isinstance(depth, str):
                layout: NearPairs | DenseLayout = NearPairs(side, 1, most=10**6)
                pooled = near_boxes(layout, discount, n - 1)
                boxes = [pooled[min(i, 1)] for i in range(n)]
            else:
                layout = DenseLayout(side.n_classes)
                boxes = dense_boxes(side, discount, n - 1, depth=depth)
            classes = np.arange(side.n_classes)
            for word in oriented:
                for i in range(n):
                    reference = side.of_state[word[i]]
                    weights = side_weights(side, word[:i], discount.z)
                    ratios = weights / weights[reference]
                    where = layout.index(np.full(side.n_classes, reference), classes)
                    assert boxes[i].valid[reference]
                    assert (boxes[i].lows[where] <= ratios * (1 + 1e-12)).all()
                    assert (ratios <= boxes[i].highs[where] * (1 + 1e-12)).all()
                    compared += 1
    assert compared > 200


def chain_states(language: Language, word: tuple[int, ...]) -> tuple[int, ...]:
    a = language.automaton
    numbers = language.encode(word)
    of_symbol = {int(label): q for q, label in enumerate(a.state_label)}
    return tuple(of_symbol[int(s)] for s in numbers)


def test_blocks_are_the_irreducible_ways_to_differ() -> None:
    for language, chain in chains("blocks", 40):
        words = [chain_states(language, w) for w in language.words()]
        feasible = set(words)
        expected: set[tuple[str, tuple[int, ...], tuple[int, ...]]] = set()
        n = language.length
        for w, v in product(words, words):
            places = [i for i in range(n) if w[i] != v[i]]
            if not places or places[-1] - places[0] + 1 != len(places) or len(places) > 3:
                continue
            first, last = places[0], places[-1] + 1
            hybrids = [
                x[:cut] + y[cut:] for cut in range(first + 1, last) for x, y in ((w, v), (v, w))
            ]
            if feasible.isdisjoint(hybrids):
                kind = {
                    (True, True): "whole",
                    (True, False): "start",
                    (False, True): "end",
                    (False, False): "inner",
                }[first == 0, last == n]
                expected.add((kind, w[first:last], v[first:last]))
        found = set()
        for kinds in find_blocks(chain, 3, most=10**6):
            assert kinds is not None
            for some in kinds:
                for a, t in zip(some.a, some.t, strict=True):
                    found.add((some.kind, tuple(some.walks[a]), tuple(some.walks[t])))
        # Blocks know nothing of what can stand around them: there may be more, never fewer.
        assert expected <= found


def test_too_many_blocks_are_given_up() -> None:
    _, chain = max(chains("many", 20), key=lambda pair: pair[0].count())
    assert find_blocks(chain, 2, most=1) == [None, None]


def test_only_chains_are_chains() -> None:
    rng = random.Random(3)
    language = None
    while language is None:
        language = small_language(rng, "chain")
    assert as_chain(language) is not None
    assert as_chain(language, most_cells=0) is None
    assert as_chain(Language.of(["ab", "ba", "aa"])) is None


# -- weights, losses, neighbours -------------------------------------------------------------------


@pytest.mark.parametrize("pairs", [True, False])
@pytest.mark.parametrize("kind", ["chain", "automaton", "reversed dfa", "words"])
def test_extreme_weights_hold(kind: str, pairs: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    rng, compared = random.Random(kind), 0
    if not pairs:
        monkeypatch.setattr(extremes, "LAYER_CELLS", 0)
    while compared < 60:
        language = small_language(rng, kind, longest=5)
        if language is None:
            continue
        exponent = Fraction(rng.randint(1, 40), 10)
        found = extreme_weights(language, Discount.of(exponent))
        weights = np.exp(-float(exponent) * distances(list(language.words()))).sum(axis=1)
        assert found is not None
        assert found[0] <= weights.min() * (1 + 1e-12)
        assert weights.max() <= found[1] * (1 + 1e-12)
        compared += 1


def test_losses_of_blocks_add_up() -> None:
    logs, every = [Fraction(1, 2), None, Fraction(3)], (1, 2, 3)
    assert log_ratios(logs, Fraction(10), every) == [Fraction(1, 2), 1, 3]
    assert log_ratios(logs, Fraction(1), every) == [Fraction(1, 2), 1, 3]
    assert log_ratios([None, Fraction(1)], Fraction(10), every) == [None, 1]
    # Never above the exponent times the distance, which may be left aside.
    assert log_ratios([Fraction(5)] * 2, Fraction(1), every) == [1, 2]
    assert log_ratios([Fraction(5)] * 2, None, every) == [5, 10]
    # Where no two words differ in just two positions, none lies half way either.
    assert log_ratios([Fraction(1, 2)] * 3, Fraction(10), (1, 3)) == [1 / 2, None, 1 / 2]


@pytest.mark.parametrize("exponent", [Fraction(1, 2), Fraction(2), Fraction(9), Fraction(20)])
@pytest.mark.parametrize(("log_ratio", "light", "heavy"), [(0, 1.0, None), (1, 1.5, 9.0)])
def test_flip_loss_bounds_its_formula(
    exponent: Fraction, log_ratio: int, light: float, heavy: float | None
) -> None:
    discount = Discount.of(exponent)
    bound = flip_loss(discount, Fraction(log_ratio), light, heavy, Fraction(0))
    nodes, weights = np.polynomial.legendre.leggauss(200)
    t, weights = (nodes + 1) / 2, weights / 2
    worst = 0.0
    for Z in np.geomspace(light + 1e-9, heavy or 1e3, 400):
        X, Y = Z - 1, min(Z * math.exp(log_ratio), heavy or math.inf) - 1
        waiting = -math.expm1(-X) / X
        survival = (weights * (1 - t) * np.exp(Y / discount.z * np.log1p(-discount.z * t))).sum()
        worst = max(worst, math.log(waiting / survival))
    assert worst <= bound + 1e-12
    assert bound <= worst + 1e-2 + (heavy is None) * 0.1


def test_neighbours_are_found_wherever_they_are() -> None:
    rng, empty = random.Random(11), 0
    for _ in range(150):
        language = small_language(rng, rng.choice(["chain", "automaton", "words"]), longest=4)
        if language is None:
            continue
        d = distances(list(language.words()))
        for b in (1, 2, 3):
            if ((d > 0) & (d <= b)).any():
                require_neighbours(language, b)
            else:
                empty += 1
                with pytest.raises(EmptyNeighbourhood):
                    require_neighbours(language, b)
    assert empty > 20
    with pytest.raises(EmptyNeighbourhood):
        require_neighbours(Language.all_words("a", 3), 1)


@pytest.mark.parametrize("kind", ["chain", "automaton", "reversed dfa", "words"])
def test_possible_distances_are_those_that_occur(kind: str) -> None:
    rng, gaps = random.Random(kind), 0
    for _ in range(120):
        language = small_language(rng, kind, longest=5)
        if language is None:
            continue
        d = distances(list(language.words()))
        most = rng.randint(1, language.length)
        expected = sorted(set(d[(d > 0) & (d <= most)].tolist()))
        assert possible_distances(language, most) == expected
        gaps += len(expected) < most
    assert gaps > 10


def test_possible_distances_are_not_sought_in_large_languages(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    language = Language.of(["aaaa", "abba"])
    assert possible_distances(language, 3) == [2]
    monkeypatch.setattr(neighbours, "SMALL_STATES", 2)
    assert possible_distances(language, 3) == [1, 2, 3]


def test_weights_around_any_symbols_are_exact_on_all_words(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(extremes, "LAYER_CELLS", 0)
    discount = Discount.of(Fraction(3))
    listed = Language.of("".join(w) for w in product("abc", repeat=4))
    found = extreme_weights(listed, discount)
    assert found == (1.0, pytest.approx((1 + 2 * math.exp(-3)) ** 4, rel=1e-9))


def test_large_automata_are_certified(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extremes, "LAYER_CELLS", 0)
    rng = random.Random(5)
    words = {"".join(rng.choices("abcd", k=8)) for _ in range(40)}
    listed = Language.of(sorted(words | {w[:-1] + "a" for w in words}))
    certificate = certify(listed, epsilon=12, adjacency=1)
    assert certificate.method == "extreme weights"
    assert certificate.gain > 1.9
    certificate.check(listed)
