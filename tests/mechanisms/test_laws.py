"""The probability of every single word, against Definition 4 written out."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import oracles
import pytest
import strategies
from arithmetic import draws
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import assert_follows

from dpauto.arrays import Automaton
from dpauto.language import Language
from dpauto.mechanisms import Exponential, Online, PermuteAndFlip
from dpauto.models import NFA, MarkovChain
from dpauto.words import Alphabet

SAMPLES = 3_000


def guessing() -> Language:
    """Words of three letters, from an unambiguous automaton that guesses the last one."""
    edges = [(0, 2, 0), (0, 2, 1), (2, 4, 0), (1, 3, 0), (1, 3, 1), (3, 4, 1)]
    tails, heads, labels = np.array(edges).T
    automaton = Automaton.of(
        alphabet=Alphabet("ab"),
        states=range(5),
        start="start",
        start_edges=(np.array([0, 1, 0]), np.array([0, 0, 1])),
        edges=(tails, heads, labels),
        final=np.arange(5) == 4,
    )
    return Language.compile(automaton, 3)


CHAIN = MarkovChain(
    states=["x", "y", 1, "1"],
    transitions={
        "x": {"x": 0.5, "y": 0.5},
        "y": {1: 0.3, "1": 0.7},
        1: {"x": 1},
        "1": {"y": 0.5, "1": 0.5},
    },
)
LISTED = Language.of(["aaa", "aab", "aba", "bbb", "bab", "cab"], alphabet="abcd")


def metres(x: Hashable, y: Hashable) -> int:
    """Distance between places on a line; two of them are in one place."""
    place = {"a": 0, "b": 0, "c": 250, "d": 900, "x": 0, "y": 30, 1: 100, "1": 100}
    return abs(place[x] - place[y])


def halves(x: Hashable, y: Hashable) -> Fraction:
    """An asymmetric table of fractions, one of them 0."""
    return Fraction(0) if x == y or (x, y) == ("b", "a") else Fraction(1, 2 + ord(str(y)) % 3)


@dataclass
class Case:
    name: str
    language: Language
    word: Any
    epsilon: str
    adjacency: int = 1
    costs: Callable[[Any, Any], Any] | None = None

    @property
    def words(self) -> list[tuple[Hashable, ...]]:
        return list(self.language.words())


CASES = [
    Case("feasible", LISTED, "aba", "2"),
    Case("infeasible", LISTED, "ddd", "3", 2),
    Case("nearly feasible", LISTED, "aad", "6"),
    Case("a chain", CHAIN.language(3), ["x", "y", "1"], "4"),
    Case("off a chain", CHAIN.language(3), ["1", "x", 1], "2"),
    Case("all words", Language.all_words(["x", 1, "1"], 2), ["1", 1], "5/2"),
    Case(
        "the same by automaton",
        Language.compile(Language.all_words("abc", 2).automaton, 2),
        "ca",
        "5/2",
    ),
    Case("a guessing automaton", guessing(), "aba", "3"),
    Case("metres, two in one place", LISTED, "aba", "4", 1, metres),
    Case("metres, infeasible", LISTED, "dcd", "4", 1, metres),
    Case("fractions, a guessing automaton", guessing(), "aba", "3", 1, halves),
    Case("fractions", LISTED, "bab", "3", 2, halves),
    Case("all words, metres", Language.all_words("abcd", 2), "cd", "3", 1, metres),
]
ids = [case.name for case in CASES]


def exponent(case: Case) -> Fraction:
    a = Fraction(case.epsilon) / (2 * case.adjacency)
    if case.costs is None:
        return a
    sigma = case.language.alphabet
    cost = case.costs
    return a / max(abs(cost(x, s) - cost(y, s)) for x in sigma for y in sigma for s in sigma)


@pytest.mark.parametrize("case", CASES, ids=ids)
def test_permute_and_flip(case):
    law = oracles.integral_law(case.words, tuple(case.word), exponent(case), case.costs)
    mechanism = PermuteAndFlip(
        case.language, epsilon=case.epsilon, adjacency=case.adjacency, costs=case.costs
    )
    assert mechanism.exponent == exponent(case)
    assert_follows(draws(mechanism, case.word, SAMPLES), law)


@pytest.mark.parametrize("case", CASES, ids=ids)
def test_exponential(case):
    law = oracles.exponential_law(case.words, tuple(case.word), exponent(case), case.costs)
    mechanism = Exponential(
        case.language, epsilon=case.epsilon, adjacency=case.adjacency, costs=case.costs
    )
    assert_follows(draws(mechanism, case.word, SAMPLES), law)


@pytest.mark.parametrize("case", [c for c in CASES if c.costs is None], ids=lambda c: c.name)
def test_online(case):
    rate = Fraction(case.epsilon) / case.adjacency
    law = oracles.online_law(case.words, tuple(case.word), rate)
    mechanism = Online(case.language, epsilon=case.epsilon, adjacency=case.adjacency)
    assert_follows(draws(mechanism, case.word, SAMPLES), law)


def test_an_ambiguous_pattern_counts_words_not_runs():
    language = NFA.from_regex("(a|b)*aba(a|b)*", alphabet="ab").language(5)
    words = [w for w in oracles.all_words("ab", 5) if "aba" in "".join(w)]
    for w in ("ababa", "bbbbb"):
        law = oracles.integral_law(words, tuple(w), Fraction(1))
        assert_follows(draws(PermuteAndFlip(language, epsilon=2), w, SAMPLES), law)


def test_sampling_with_replacement_would_be_seen():
    """The exponential mechanism is what permute-and-flip is mistaken for."""
    case = CASES[0]
    law = oracles.exponential_law(case.words, tuple(case.word), exponent(case))
    mechanism = PermuteAndFlip(case.language, epsilon=case.epsilon)
    with pytest.raises(AssertionError):
        assert_follows(draws(mechanism, case.word, SAMPLES), law)


class TestDefinitionFour:
    """The subset sum, the integral and the law by distance are one number."""

    @settings(max_examples=25)
    @given(st.data())
    def test_subsets_integral_and_law(self, data):
        language, words = data.draw(strategies.languages(max_length=3, max_words=9))
        if len(words) > 9:
            language, words = LISTED, list(LISTED.words())
        w = data.draw(strategies.words(list(language.alphabet), language.length))
        written, epsilon = data.draw(strategies.epsilons)
        b = data.draw(strategies.adjacencies)
        a = epsilon / (2 * b)
        subsets = oracles.subset_sum_law(words, w, a)
        integral = oracles.integral_law(words, w, a)
        assert all(abs(subsets[v] - integral[v]) < mpmath.mpf(10) ** -30 for v in words)
        law = PermuteAndFlip(language, epsilon=written, adjacency=b).error_law(w)
        expected = [float(p) for p in oracles.by_distance(subsets, w)]
        assert law.pmf.tolist() == pytest.approx(expected, rel=0, abs=1e-12)

    def test_twelve_words(self):
        words = oracles.all_words("abc", 3)[::3][:6] + oracles.all_words("abc", 3)[1::3][:6]
        w = ("b", "b", "b")
        subsets = oracles.subset_sum_law(words, w, Fraction(3, 4))
        law = PermuteAndFlip(Language.of(words), epsilon="3/2").error_law(w)
        expected = [float(p) for p in oracles.by_distance(subsets, w)]
        assert law.pmf.tolist() == pytest.approx(expected, rel=0, abs=1e-12)

    @settings(max_examples=30)
    @given(st.data())
    def test_baselines(self, data):
        language, words = data.draw(strategies.languages(max_length=3))
        w = data.draw(strategies.words(list(language.alphabet), language.length))
        written, epsilon = data.draw(strategies.epsilons)
        for mechanism, law in (
            (Exponential, oracles.exponential_law(words, w, epsilon / 2)),
            (Online, oracles.online_law(words, w, epsilon)),
        ):
            pmf = mechanism(language, epsilon=written).error_law(w).pmf
            expected = [float(p) for p in oracles.by_distance(law, w)]
            assert pmf.tolist() == pytest.approx(expected, rel=0, abs=1e-12)


class TestPromises:
    """Over every pair of words within b, feasible or not, no output is e^ε likelier."""

    @pytest.mark.parametrize("b", [1, 2])
    @pytest.mark.parametrize("language", [LISTED, guessing(), CHAIN.language(2)])
    def test_epsilon_holds(self, language, b):
        words, everything = (
            list(language.words()),
            oracles.all_words(language.alphabet, language.length),
        )
        epsilon = Fraction(2)
        a = PermuteAndFlip(language, epsilon=2, adjacency=b).exponent
        assert a == epsilon / (2 * b)
        some = everything[:: max(1, len(everything) // 16)]
        for law in (oracles.integral_law, oracles.exponential_law):
            assert oracles.true_epsilon(lambda w: law(words, w, a), some, b) <= 2 + 1e-9  # noqa: B023
        rate = Online(language, epsilon=2, adjacency=b).exponent
        online = oracles.true_epsilon(lambda w: oracles.online_law(words, w, rate), some, b)
        assert online <= 2 + 1e-9

    @pytest.mark.parametrize("mechanism", [PermuteAndFlip, Exponential, Online])
    def test_loss_grows_with_the_distance_up_to_the_length(self, mechanism):
        m = mechanism(LISTED, epsilon="3/2", adjacency=2)
        assert [m.privacy_loss(d) for d in range(5)] == [
            0,
            Fraction(3, 4),
            Fraction(3, 2),
            Fraction(9, 4),
            Fraction(9, 4),
        ]
