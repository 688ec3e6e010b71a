"""Every entry of a float pass is within its stated error of the interval it stands for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import oracles
import pytest
import strategies
from arithmetic import coarse_pass
from hypothesis import given, settings
from hypothesis import strategies as st

from dpauto.determinization import disambiguated
from dpauto.errors import EmptyLanguage
from dpauto.language import Language
from dpauto.models import MarkovChain
from dpauto.passes import (
    BallLayers,
    FloatLayers,
    FloatPass,
    NearestWords,
    Weights,
    floating,
    words_themselves,
)
from dpauto.passes.nearest import Nearest
from dpauto.words import Costs, IntArray

EXPONENTS = [Fraction(1, 1000), Fraction(1, 2), 5, 100, 700, 2000]
exponents = st.sampled_from([Fraction(a) for a in EXPONENTS])
#: Enough for all layers, and so little that most are computed again.
memories = st.sampled_from([2**27, 100])
passes = st.sampled_from([FloatPass, coarse_pass(30)])


def nearest_of(language: Language, weights: Weights, word: IntArray) -> Nearest:
    run = language.run(word)
    if run is not None and weights.distinguishes:
        return words_themselves(weights, word[np.newaxis], run[np.newaxis])[0]
    return NearestWords(weights, word)


def assert_within_bounds(block: FloatPass, nearest: Sequence[Nearest]) -> None:
    """Compare all entries of all layers, and the totals, with intervals at 300 bits."""
    from flint import arb, ctx

    n, rows = block.length, block.weights.rows
    with ctx.workprec(300):
        for b, near in enumerate(nearest):
            truth = BallLayers(block.weights, block.words[b], near)
            for i in range(n, 0, -1):
                layers, words = np.array([i]), np.array([b])
                unit = arb((1, int(block.scales(layers, words)[0])))
                loss = arb(float(block.losses(layers, words)[0]))
                entries = block.layer(i).reshape(-1, block.width)[: rows[i], b]
                for x, true in zip(entries.tolist(), truth.layer(i), strict=True):
                    allowed = (arb(block.relative(i)) * x + loss) * unit
                    assert abs(arb(x) * unit - true) <= allowed * (1 + arb("1e-60"))
            assert FloatLayers(block, b).outside.overlaps(truth.outside)


@st.composite
def passes_of_automata(draw: st.DrawFn) -> tuple[FloatPass, list[Nearest]]:
    try:
        length = draw(st.integers(1, 12))
        automaton = disambiguated(draw(strategies.automata()), steps=length)
        language = Language.compile(automaton, length)
    except EmptyLanguage:
        language = Language.of(["s0", "s1"], alphabet=["s", "0", "1"])
    m = len(language.alphabet)
    costs = None
    if m > 1 and draw(st.booleans()):
        costs = Costs(draw(strategies.costs(list(language.alphabet))), language.alphabet)
    weights = Weights(language.automaton, language.rows, draw(exponents), costs)
    width = 1 if costs is not None else draw(st.integers(1, 3))
    symbols = st.lists(st.integers(0, m - 1), min_size=language.length, max_size=language.length)
    words = np.array([draw(symbols) for _ in range(width)], dtype=np.int64)
    if draw(st.booleans()):
        words[0] = language.encode(next(language.words()))
    nearest = [nearest_of(language, weights, word) for word in words]
    return draw(passes)(weights, words, nearest, memory=draw(memories)), nearest


@settings(max_examples=150)
@given(passes_of_automata())
def test_any_automaton_any_exponent_any_costs(made):
    assert_within_bounds(*made)


def ring(size: int) -> MarkovChain:
    steps = {k: dict.fromkeys({(k + 1) % size, (k + 2) % size, k}, 1 / 3) for k in range(size)}
    return MarkovChain(states=range(size), transitions=steps)


@pytest.mark.parametrize("a", EXPONENTS)
@pytest.mark.parametrize("arithmetic", [FloatPass, coarse_pass(35)], ids=["float", "coarse"])
def test_long_words(a, arithmetic):
    """At a = 5 states far from the word underflow; at 1/1000 the total grows past all floats."""
    language = ring(7).language(700)
    weights = Weights(language.automaton, language.rows, Fraction(a), None)
    word = language.encode(language.random_word(1))
    foreign = np.zeros(700, dtype=np.int64)
    foreign[::3] = 5
    nearest = [nearest_of(language, weights, w) for w in (word, foreign)]
    block = arithmetic(weights, np.stack([word, foreign]), nearest)
    assert_within_bounds(block, nearest)


@pytest.mark.parametrize("a", [Fraction(1, 1000), Fraction(1, 20), 3])
def test_long_words_under_costs(a):
    language = ring(6).language(300)
    costs = Costs(lambda x, y: (x - y) ** 2, language.alphabet)
    weights = Weights(language.automaton, language.rows, Fraction(a), costs)
    word = language.encode(language.random_word(1))
    nearest = [nearest_of(language, weights, word)]
    assert_within_bounds(FloatPass(weights, word[np.newaxis], nearest), nearest)


@settings(max_examples=60)
@given(st.data())
def test_balls_hold_the_total_of_listed_words(data):
    """The interval pass against the definition: N0 words of weight 1, the others Z'."""
    from flint import ctx

    language, words = data.draw(strategies.languages())
    alphabet = list(language.alphabet)
    w = data.draw(strategies.words(alphabet, language.length))
    table = None
    if len(alphabet) > 1 and data.draw(st.booleans()):
        table = data.draw(strategies.costs(alphabet))
    costs = None if table is None else Costs(table, language.alphabet)
    a = data.draw(st.sampled_from([Fraction(1, 3), Fraction(2)]))
    weights = Weights(language.automaton, language.rows, a, costs)
    word = language.encode(w)
    cost = None if table is None else (lambda x, y: table.get((x, y), 0))
    p = oracles.acceptances(words, w, a, cost)
    with ctx.workprec(128):
        layers = BallLayers(weights, word, nearest_of(language, weights, word))
        assert layers.count == sum(p_v == 1 for p_v in p)
        expected = float(sum(p_v for p_v in p if p_v != 1))
        assert float(layers.outside) == pytest.approx(expected, rel=1e-13, abs=0)
        largest = max((p_v for p_v in p if p_v != 1), default=0)
        assert float(largest) <= float(layers.largest) * (1 + 1e-15)
        for v, p_v in list(zip(words, p, strict=True))[:10]:
            assert float(layers.weight(language.encode(v))) == pytest.approx(float(p_v), rel=1e-13)


def test_a_pass_of_more_layers_than_memory_agrees():
    language = ring(9).language(60)
    weights = Weights(language.automaton, language.rows, Fraction(1, 2), None)
    word = language.encode(language.random_word(3))
    nearest = [nearest_of(language, weights, word)]
    full = FloatPass(weights, word[np.newaxis], nearest)
    thrifty = FloatPass(weights, word[np.newaxis], nearest, memory=500)
    assert thrifty.kept.nbytes < full.kept.nbytes / 5
    for i in [*range(60, 0, -1), 3, 50, 1]:
        rows = int(weights.rows[i])
        assert thrifty.layer(i)[:rows].tolist() == full.layer(i)[:rows].tolist()


def test_the_coarse_pass_is_coarse():
    """Otherwise the tests that use it would test nothing."""
    language = ring(5).language(20)
    weights = Weights(language.automaton, language.rows, Fraction(1, 2), None)
    word = language.encode(language.random_word(3))
    nearest = [nearest_of(language, weights, word)]
    exact = FloatPass(weights, word[np.newaxis], nearest)
    rough = coarse_pass(12)(weights, word[np.newaxis], nearest)
    off = np.abs(rough.layer(1) / exact.layer(1) - 1)
    assert 2**-12 < off.max() < rough.relative(1)


@pytest.mark.parametrize("a", [Fraction(100, 3), Fraction(1999, 3)])
def test_weights_do_not_depend_on_the_precision_of_the_caller(a):
    from flint import ctx

    language = Language.of(["ab", "ba"])
    with ctx.workprec(20):
        z = Weights(language.automaton, language.rows, a, None).z
    assert z == pytest.approx(math.exp(-a), rel=1e-12)
    with ctx.workprec(300):
        assert z == Weights(language.automaton, language.rows, a, None).z


def test_no_entry_is_lost_unseen_when_a_layer_is_rescaled():
    """The smallest entry that a layer may hold beside the largest, which lowers it most."""
    language = ring(5).language(200)
    weights = Weights(language.automaton, language.rows, Fraction(1, 2), None)
    word = language.encode(language.random_word(3))
    block = FloatPass(weights, word[np.newaxis], [nearest_of(language, weights, word)])
    layer = np.array([[0.0], [2.0**980 * (1 - 2**-53)], [floating.FLOOR * 2.0**-100]])
    block._losses[:] = 0.0
    block._rescale(weights.spacing, layer)
    assert layer[:, 0].tolist() == [0.0, 2.0**floating.TOP * (1 - 2**-53), 0.0]
    assert block.losses(weights.spacing, 0) >= floating.FLOOR
