"""Alphabets number symbols, costs are exact, and neither repeats a symbol of a word in an error."""

from __future__ import annotations

import pickle
import subprocess
import sys
from fractions import Fraction

import numpy as np
import oracles
import pytest
import strategies
from hypothesis import given
from hypothesis import strategies as st

from dpauto.errors import InvalidArgument, InvalidModel, InvalidWord, UnknownSymbol
from dpauto.words import Alphabet, Costs, as_word, canonical_order, hamming_distance


@given(st.data())
def test_encoding_and_decoding_are_inverse(data):
    symbols = data.draw(strategies.alphabets())
    word = data.draw(strategies.words(symbols))
    sigma = Alphabet(symbols)
    numbers = sigma.encode(word)
    assert [symbols[k] for k in numbers] == list(word)
    back = sigma.decode(numbers)
    assert [(type(s), s) for s in back] == [(type(s), s) for s in word]


@given(st.data())
def test_distance_is_counted_position_by_position(data):
    length = data.draw(st.integers(0, 6))
    w, v = (
        data.draw(st.lists(st.sampled_from(strategies.SYMBOLS), min_size=length, max_size=length))
        for _ in range(2)
    )
    assert hamming_distance(w, v) == oracles.distance(w, v)


def test_distance_of_different_lengths_is_refused():
    with pytest.raises(InvalidWord, match="lengths are 2 and 3"):
        hamming_distance("ab", "abc")


def test_one_and_the_text_one_are_two_symbols():
    sigma = Alphabet([1, "1"])
    assert sigma.encode([1, "1", 1]).tolist() == [0, 1, 0]
    assert hamming_distance([1], ["1"]) == 1


@pytest.mark.parametrize("symbols", ["aba", [1, 1.0], [0, 1, 0], [(1, 2), (1, 2)]])
def test_repeated_symbols_are_refused(symbols):
    with pytest.raises(InvalidModel, match="twice"):
        Alphabet(symbols)


def test_an_empty_alphabet_is_refused():
    for symbols in ([], range(0), ""):
        with pytest.raises(InvalidModel, match="at least one symbol"):
            Alphabet(symbols)


def test_an_unhashable_symbol_is_refused_by_its_number():
    with pytest.raises(InvalidModel, match="symbol number 1 is not hashable"):
        Alphabet(["a", []])


class TestNumberedAlphabets:
    """0, 1, …, m - 1 as symbols take no dictionary, and mean the same."""

    def test_a_list_and_a_range_are_equal(self):
        assert Alphabet([0, 1, 2]) == Alphabet(range(3))
        assert hash(Alphabet([0, 1, 2])) == hash(Alphabet(range(3)))
        assert Alphabet([0, 1, 2]).digest == Alphabet(range(3)).digest

    def test_another_range_keeps_its_numbers(self):
        assert Alphabet(range(5, 8)).encode([7, 5]).tolist() == [2, 0]

    @pytest.mark.parametrize("symbol", [-1, 3, "0", 1.5, (0,), None, 2**70, True])
    def test_what_is_no_state_number_is_no_symbol(self, symbol):
        assert symbol not in Alphabet(range(3))
        with pytest.raises(UnknownSymbol, match="position 1"):
            Alphabet(range(3)).encode([symbol])

    @pytest.mark.parametrize("dtype", [np.int8, np.int32, np.uint64])
    def test_numpy_integers_are_read(self, dtype):
        assert Alphabet(range(3)).encode(np.array([2, 0], dtype=dtype)).tolist() == [2, 0]


@pytest.mark.parametrize("symbols", [range(9), "abcdefghi", [*range(8), "SECRET-not"]])
@pytest.mark.parametrize("bad", ["SECRET", ("SECRET", 1), ["SECRET"], {"SECRET"}])
def test_an_unknown_symbol_is_named_by_position_only(symbols, bad):
    sigma = Alphabet(symbols)
    with pytest.raises(UnknownSymbol, match="position 2") as caught:
        sigma.encode([sigma[0], bad])
    assert "SECRET'" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


def test_what_is_no_sequence_is_no_word():
    with pytest.raises(InvalidWord, match="sequence of symbols"):
        as_word(7)


def test_sets_are_ordered_by_type_and_text():
    assert canonical_order({10, 9, "b", "a"}) == [9, 10, "a", "b"]
    assert canonical_order(["b", "a"]) == ["b", "a"]


def test_neither_order_nor_digest_depends_on_hashing():
    symbols = "{'b', 'a', 'zz', (1, 'x'), frozenset({'p', 'q', 'r'}), (frozenset('xyz'), 2)}"
    code = (
        "from dpauto.words import Alphabet;"
        f"sigma = Alphabet({symbols}); print([len(str(s)) for s in sigma], sigma.digest.hex())"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": str(seed)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in (1, 2, 3)
    }
    assert len(printed) == 1


def test_digests_tell_types_and_borders_apart():
    alphabets = ["ab", "ba", "abc", ["ab"], [1, 2], ["1", "2"], [(1,), 2], [1, (2,)], range(2)]
    digests = {Alphabet(symbols).digest for symbols in alphabets}
    assert len(digests) == len(alphabets)


@pytest.mark.parametrize("symbols", ["abc", range(4), [(1, 2), "x"]])
def test_alphabets_pickle(symbols):
    sigma = pickle.loads(pickle.dumps(Alphabet(symbols)))
    assert sigma == Alphabet(symbols)
    assert sigma.encode([sigma[1]]).tolist() == [1]


class TestCosts:
    sigma = Alphabet("abc")

    @given(st.data())
    def test_totals_are_exact_sums(self, data):
        table = data.draw(strategies.costs("abc"))
        costs = Costs(table, self.sigma)
        w, v = (data.draw(strategies.words("abc", 5)) for _ in range(2))
        total = costs.total(self.sigma.encode(w), self.sigma.encode(v))
        expected = sum(table.get(pair, 0) for pair in zip(w, v, strict=True))
        assert Fraction(total, costs.denominator) == expected

    @given(st.data())
    def test_spread_is_what_one_substitution_can_change(self, data):
        table = data.draw(strategies.costs("abc"))

        def cost(x, s):
            return table.get((x, s), 0)

        spread = max(abs(cost(x, s) - cost(y, s)) for x in "abc" for y in "abc" for s in "abc")
        assert Costs(table, self.sigma).spread == spread

    def test_mapping_callable_and_matrix_mean_the_same(self):
        table = {(x, y): abs(ord(x) - ord(y)) for x in "abc" for y in "abc" if x != y}
        by_call = Costs(lambda x, y: abs(ord(x) - ord(y)), self.sigma)
        rows = [[0, 1, 2], [1, 0, 1], [2, 1, 0]]
        for other in (table, rows, np.array(rows), np.array(rows, dtype=object)):
            assert Costs(other, self.sigma).matrix.tolist() == by_call.matrix.tolist() == rows

    @pytest.mark.parametrize(
        ("table", "reason"),
        [
            ({("a", "b"): 1}, "must be an int or Fraction"),
            (lambda x, y: 0.5 * (x != y), "must be an int or Fraction"),
            (lambda x, y: x != y, "must be an int or Fraction"),
            (lambda x, y: -(x != y), "at least 0"),
            (lambda x, y: 1, "must cost 0"),
            (lambda x, y: 0, "tell at least two symbols apart"),
            (np.zeros((2, 2), dtype=int), r"shape \(3, 3\)"),
            (np.full((3, 3), 0.5), "hold integers"),
            (lambda x, y: 2**63 * (x != y), "too large"),
            (
                np.full((3, 3), 2**63, dtype=np.uint64) * (1 - np.eye(3, dtype=np.uint64)),
                "too large",
            ),
            (np.eye(3, dtype=int), "'a' for 'a' must cost 0"),
            (np.eye(3, k=1, dtype=int) - np.eye(3, k=-2, dtype=int), "'a' for 'c' must cost at"),
            ([[0, 1], [1]], r"shape \(3, 3\)"),
        ],
    )
    def test_what_makes_no_sense_is_refused(self, table, reason):
        with pytest.raises(InvalidArgument, match=reason):
            Costs(table, self.sigma)

    def test_they_pickle_and_cannot_be_changed(self):
        costs = pickle.loads(pickle.dumps(Costs(lambda x, y: int(x != y), self.sigma)))
        assert costs.spread == 1
        with pytest.raises(ValueError, match="read-only"):
            Costs(lambda x, y: int(x != y), self.sigma).matrix[0, 0] = 1
