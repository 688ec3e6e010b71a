"""Tapes are endless, the same however they are read; sources keep releases apart."""

from __future__ import annotations

import itertools
import pickle
import warnings
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sampling import assert_follows

from dpauto.errors import DuplicateRecord, InvalidArgument, NotPrivateWarning
from dpauto.randomness import (
    BitSource,
    KeyedBits,
    SeededBits,
    SystemBits,
    Tape,
    as_source,
    encode,
)

SEED = bytes(32)
KEY = bytes(range(32))


class TapeOf(Tape):
    """A tape whose uniforms start with the given 64-bit words and go on with zeros or ones."""

    __slots__ = ("_given", "_then")

    def __init__(self, words: list[int], then: int = 0) -> None:
        super().__init__(SEED)
        self._given, self._then = words, then

    def _fresh(self, place: object, count: int) -> np.ndarray:
        words = np.full(max(count, len(self._given)), self._then, dtype=np.uint64)
        words[: len(self._given)] = self._given
        self._given = []
        return words


def read(tape: Tape, index: int, bits: int) -> int:
    """The first bits of one uniform."""
    tape.rewind(bits)
    tape.reserve(index)
    value, size = tape.uniform()
    assert size == bits
    return value


@given(st.lists(st.integers(1, 40), min_size=1, max_size=12), st.booleans())
def test_a_uniform_does_not_depend_on_how_the_others_were_read(chunks, singly):
    whole = Tape(SEED).uniforms(sum(chunks)).tolist()
    tape = Tape(SEED)
    if singly:
        pieces = [tape.uniform()[0] for _ in range(sum(chunks))]
    else:
        pieces = [u for chunk in chunks for u in tape.uniforms(chunk).tolist()]
    assert pieces == whole


@given(
    st.lists(st.integers(1, 700), min_size=1, max_size=8),
    st.lists(st.integers(0, 30), min_size=1, max_size=8),
)
def test_extensions_continue_the_same_string(depths, order):
    endless = [read(Tape(SEED), k, 1000) for k in range(31)]
    tape = Tape(SEED)
    for index, bits in zip(itertools.cycle(order), depths, strict=False):
        assert read(tape, index, bits) == endless[index] >> (1000 - bits)


def test_rewinding_reads_the_same_strings_further():
    tape = Tape(None)
    short = [tape.uniform() for _ in range(40)]
    tape.rewind(192)
    long = [tape.uniform() for _ in range(40)]
    assert [(u >> 128, 64) for u, _ in long] == short
    assert {bits for _, bits in long} == {192}


def test_tapes_of_the_system_differ():
    assert Tape(None).uniforms(4).tolist() != Tape(None).uniforms(4).tolist()


def test_bits_are_even():
    ones = np.unpackbits(Tape(SEED).uniforms(100_000).view(np.uint8)).mean()
    assert abs(ones - 0.5) < 6 * 0.5 / np.sqrt(6_400_000)


class TestBelow:
    """floor(U * bound), exactly."""

    @given(st.integers(0, 2**64 - 1), st.integers(1, 2**200), st.integers(1, 2**32), st.booleans())
    def test_it_is_the_floor_of_the_product(self, word, huge, small, ones):
        # With zeros or ones behind it, U is the lower or upper end of its 64-bit interval.
        then = 2**64 - 1 if ones else 0
        for bound in (huge, small):
            drawn = TapeOf([word], then).below(bound)
            low, high = word * bound >> 64, (word + 1) * bound - 1 >> 64
            assert drawn == (high if ones else low)

    @given(st.integers(1, 2**32), st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=20))
    def test_many_are_as_one_by_one(self, bound, words):
        # Words at the borders, where 64 bits do not decide.
        edges = [(k * 2**64) // bound for k in range(1, 4) if k < bound]
        words = [*words, *edges, *(e - 1 for e in edges), 2**64 - 1, 0]
        many = TapeOf(words, 2**64 - 1)
        singly = TapeOf(words, 2**64 - 1)
        assert many.below_many(len(words), bound).tolist() == [singly.below(bound) for _ in words]
        assert many.uniform() == singly.uniform()

    def test_many_are_the_same_at_every_precision(self):
        first, again = Tape(SEED), Tape(SEED)
        again.rewind(256)
        drawn = first.below_many(5000, 7).tolist()
        assert drawn == again.below_many(5000, 7).tolist()
        assert drawn == [read(again, k, 300) * 7 >> 300 for k in range(5000)]

    def test_they_are_uniform(self):
        law = dict.fromkeys(range(6), Fraction(1, 6))
        assert_follows(Tape(SEED).below_many(60_000, 6).tolist(), law)
        tape = Tape(SEED)
        assert_follows((tape.below(6) for _ in range(10_000)), law)

    def test_a_bound_of_a_thousand_bits(self):
        tape = Tape(SEED)
        drawn = [tape.below(3**700) for _ in range(300)]
        assert all(0 <= d < 3**700 for d in drawn)
        assert max(drawn).bit_length() > (3**700).bit_length() - 3

    def test_one_choice_is_no_choice(self):
        assert Tape(SEED).below_many(5, 1).tolist() == [0] * 5
        assert Tape(SEED).below(1) == 0


def decode(content: bytes) -> tuple:
    """The inverse of `encode`: that there is one is what injective means."""
    parts = []
    while content:
        kind, size = content[:1], int.from_bytes(content[1:9], "big")
        body, content = content[9 : 9 + size], content[9 + size :]
        read = {
            b"n": lambda _: None,
            b"b": bytes,
            b"s": lambda raw: raw.decode("utf-8", "surrogatepass"),
            b"i": int,
            b"t": decode,
        }
        parts.append(read[kind](body))
    return tuple(parts)


class TestEncoding:
    leaf = st.none() | st.integers() | st.text(max_size=4) | st.binary(max_size=4)
    part = leaf | st.lists(leaf | st.just(()), max_size=3).map(tuple)

    @given(st.lists(part, max_size=3).map(tuple))
    def test_it_can_be_decoded(self, parts):
        assert decode(encode(*parts)) == parts

    def test_borders_and_types_count(self):
        parts = [
            ("ab", "c"),
            ("a", "bc"),
            ("abc",),
            (("ab", "c"),),
            (b"ab", "c"),
            (1,),
            ("1",),
            (b"1",),
        ]
        assert len({encode(*p) for p in parts}) == len(parts)

    @pytest.mark.parametrize("bad", [1.5, True, [1], {1}, object()])
    def test_what_has_no_encoding_is_refused(self, bad):
        with pytest.raises(InvalidArgument, match="record must be an int, a str, bytes or a tuple"):
            encode(bad)


class TestSeededBits:
    def test_it_warns_and_is_not_private(self):
        with pytest.warns(NotPrivateWarning, match="reproducible and not private"):
            source = SeededBits(1)
        assert not source.private
        with pytest.warns(NotPrivateWarning):
            assert not as_source(np.random.default_rng(1)).private

    def test_the_warning_points_at_the_caller_and_comes_once(self):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("default")
            for seed in range(5):
                as_source(seed)
        assert [w.category for w in caught] == [NotPrivateWarning]

    def test_consecutive_releases_differ_and_repeat_from_the_start(self):
        source, again = SeededBits(3), SeededBits(3)
        seeds = source.seeds([b"x", b"x"], None) + source.seeds([b"x"], None)
        assert len(set(seeds)) == 3
        assert seeds == again.seeds([b"x"] * 3, None)

    def test_different_releases_do_not_share_noise(self):
        assert SeededBits(3).seeds([b"x"], None) != SeededBits(3).seeds([b"y"], None)
        assert SeededBits(3).seeds([b"x"], None) != SeededBits(4).seeds([b"x"], None)

    @pytest.mark.parametrize("bad", [None, 1.5, "1", True])
    def test_a_seed_is_an_integer(self, bad):
        with pytest.raises(InvalidArgument, match="seed must be an integer"):
            SeededBits(bad)


class TestKeyedBits:
    def test_the_same_question_has_the_same_answer(self):
        first = KeyedBits(KEY).seeds([b"x", b"y"], ["r", 2])
        assert first == KeyedBits(bytearray(KEY)).seeds([b"x", b"y"], ["r", 2])
        # It depends on its own record and context only, not on the rest of the table.
        assert first[1:] == KeyedBits(KEY).seeds([b"y"], [2])
        assert KeyedBits(KEY).private

    def test_key_record_and_context_all_count(self):
        seeds = [
            KeyedBits(key).seeds([context], [record])[0]
            for key in (KEY, KEY[::-1])
            for context in (b"x", b"y")
            for record in (1, "1", b"1", (1,), ("1",), (1, None))
        ]
        assert len(set(seeds)) == len(seeds)

    @pytest.mark.parametrize("records", [None, [None, 1], [1], [1, 2, 3]])
    def test_a_missing_record_is_refused(self, records):
        with pytest.raises(InvalidArgument, match="record must be given with KeyedBits"):
            KeyedBits(KEY).seeds([b"x", b"y"], records)

    @pytest.mark.parametrize(
        "records", [["SECRET", "SECRET"], [1, np.int64(1)], [(1, "a"), (1, "a")]]
    )
    def test_repeated_records_are_refused_without_naming_them(self, records):
        with pytest.raises(DuplicateRecord) as caught:
            KeyedBits(KEY).seeds([b"x", b"y"], records)
        assert "SECRET" not in str(caught.value)

    @pytest.mark.parametrize("record", [1.5, ["SECRET"], True, frozenset({"SECRET"})])
    def test_a_record_of_another_type_is_refused_without_repeating_it(self, record):
        with pytest.raises(InvalidArgument, match="record must be an int") as caught:
            KeyedBits(KEY).seeds([b"x"], [record])
        assert "SECRET" not in str(caught.value)

    @pytest.mark.parametrize("key", [b"", b"short", "x" * 32, None, 7])
    def test_a_weak_key_is_refused(self, key):
        with pytest.raises(InvalidArgument, match="key must be at least 16 bytes"):
            KeyedBits(key)

    def test_the_key_is_not_shown(self):
        assert repr(KeyedBits(b"K" * 16)) == "KeyedBits(...)"


class TestSources:
    def test_all_are_bit_sources(self):
        for source in (SystemBits(), SeededBits(1), KeyedBits(KEY)):
            assert isinstance(source, BitSource)
            assert as_source(source) is source

    def test_the_default_is_the_system(self):
        source = as_source(None)
        assert isinstance(source, SystemBits)
        assert source.private
        assert source.seeds([b"x", b"y"], None) == [None, None]

    def test_a_generator_moves_on(self):
        generator = np.random.default_rng(5)
        one, two = as_source(generator), as_source(generator)
        assert one.seeds([b"x"], None) != two.seeds([b"x"], None)
        assert one.__class__ is SeededBits

    @pytest.mark.parametrize("bad", ["1", 1.5, True, object(), np.random.RandomState(1), [1]])
    def test_what_is_no_source_is_refused(self, bad):
        with pytest.raises(InvalidArgument, match="rng must be None, an int seed"):
            as_source(bad)

    def test_they_pickle(self):
        assert pickle.loads(pickle.dumps(SystemBits())).private
        keyed = pickle.loads(pickle.dumps(KeyedBits(KEY)))
        assert keyed.seeds([b"x"], [1]) == KeyedBits(KEY).seeds([b"x"], [1])
        seeded = SeededBits(1)
        seeded.seeds([b"x"], None)
        copied = pickle.loads(pickle.dumps(seeded))
        assert copied.seeds([b"x"], None) == seeded.seeds([b"x"], None)


def test_seeds_spread():
    seeds = KeyedBits(KEY).seeds([b"x"] * 2000, list(range(2000)))
    assert Counter(map(len, seeds)) == {32: 2000}
    assert len(set(seeds)) == 2000
