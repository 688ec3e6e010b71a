"""Proposals on all words: the table encloses its powers, the draws are those of an automaton."""

from __future__ import annotations

import itertools
from fractions import Fraction

import mpmath
import numpy as np
import oracles
import pytest
from arithmetic import tapes
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import assert_follows

from dpauto.language import Language
from dpauto.mechanisms import Exponential, Online, PermuteAndFlip
from dpauto.passes.all_words import AllWords, AllWordsTable

exponents = st.sampled_from([Fraction(k) for k in ("1/1000", "1/2", "2", "5", "40", "2000")])


@settings(max_examples=40)
@given(st.integers(2, 1000), st.integers(1, 3000), exponents, st.sampled_from([8, 64, 128]))
def test_the_table_encloses_its_powers(size, length, a, bits):
    table = AllWordsTable(size, length, a)
    low, high = table.bounds(bits)
    assert len(low) == len(high) == table.entries <= length
    with mpmath.workdps(80):
        right = 1 / (1 + (size - 1) * mpmath.exp(-mpmath.mpf(a.numerator) / a.denominator))
        for g in {1, len(low) // 2 + 1, len(low)}:
            exact = mpmath.ldexp(right**g, bits)
            assert low[g - 1] <= exact <= high[g - 1]
            assert high[g - 1] - low[g - 1] <= 2
    assert low == sorted(low, reverse=True)
    assert high == sorted(high, reverse=True)


def test_how_a_tape_is_read_does_not_depend_on_the_precision():
    """A number of uniforms that moved with the working precision would read other bits again."""
    from flint import ctx

    for a in (Fraction(1, 3), Fraction(7, 2), Fraction(30), Fraction(2000)):
        made = []
        for bits in (40, 96, 300):
            with ctx.workprec(bits):
                table = AllWordsTable(17, 10**5, a)
                made.append((table.entries, table.error_rate))
        assert made[0] == made[1] == made[2]


@pytest.mark.parametrize(
    ("alphabet", "word", "a"),
    [("ab", "abab", "1"), ("abc", "cab", "1/3"), ("abcd", "dd", "3"), ("ab", "b", "1/2")],
)
def test_proposals_weigh_as_their_words(alphabet, word, a):
    from flint import ctx

    language = Language.all_words(alphabet, len(word))
    numbers, exponent = language.encode(word), Fraction(a)
    with ctx.workprec(96):
        proposals = AllWords(AllWordsTable(len(alphabet), len(word), exponent), numbers)
        words = [w for w in oracles.all_words(alphabet, len(word)) if w != tuple(word)]
        weight = {w: np.exp(-float(exponent) * oracles.distance(w, word)) for w in words}
        total = sum(weight.values())
        assert float(proposals.outside) == pytest.approx(total, rel=1e-14)
        drawn = [language.decode(proposals.draw_outside(tape)) for tape in tapes(4000)]
    assert_follows(drawn, {w: p / total for w, p in weight.items()})


@pytest.mark.parametrize("mechanism", [PermuteAndFlip, Exponential])
def test_laws_are_those_of_the_automaton(mechanism):
    free = Language.all_words("abc", 40)
    same = Language.compile(free.automaton, 40)
    w = ("abc" * 14)[:40]
    one, two = (mechanism(language, epsilon=3).error_law(w) for language in (free, same))
    assert one.pmf.tolist() == pytest.approx(two.pmf.tolist(), rel=0, abs=1e-13)
    assert not same.is_all_words


class TestLarge:
    """A hundred thousand symbols over a thousand letters."""

    language = Language.all_words(range(1000), 100_000)
    word = tuple(itertools.islice(itertools.cycle(range(0, 1000, 7)), 100_000))

    @pytest.mark.parametrize("mechanism", [PermuteAndFlip, Exponential, Online])
    def test_errors_are_as_many_as_expected_and_anywhere(self, mechanism):
        m = mechanism(self.language, epsilon=24, adjacency=1)
        released = np.array(m.release(self.word, rng=2))
        wrong = np.flatnonzero(released != np.array(self.word))
        c = 999 * np.exp(-float(m.exponent))
        mean = 100_000 * c / (1 + c)
        assert abs(len(wrong) - mean) < 6 * np.sqrt(mean)
        assert released.min() >= 0
        assert released.max() < 1000
        if mechanism is Online:
            return
        # Positions and letters are uniform: eight bins each.
        for values, top in ((wrong, 100_000), ((released - self.word)[wrong] % 1000 - 1, 999)):
            bins = (values * 8 // top).tolist()
            assert_follows(bins, dict.fromkeys(range(8), Fraction(1, 8)))

    def test_lists_of_ints_come_back_as_tuples_of_ints(self):
        released = PermuteAndFlip(self.language, epsilon=40).release(list(self.word))
        assert type(released) is tuple
        assert {type(s) for s in released} == {int}
