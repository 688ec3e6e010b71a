"""Languages hold exactly the words they should, number them alike and draw them uniformly."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Hashable
from fractions import Fraction

import numpy as np
import oracles
import pytest
import strategies
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import assert_follows

from dpauto.arrays import START, Automaton
from dpauto.errors import (
    AmbiguousAutomaton,
    DpautoError,
    EmptyLanguage,
    InvalidArgument,
    InvalidModel,
    InvalidWord,
    UnknownSymbol,
)
from dpauto.language import Language
from dpauto.models import MarkovChain
from dpauto.randomness import KeyedBits
from dpauto.words import Alphabet


def ring(size: int, initial: Hashable = None) -> MarkovChain:
    """Go round in either direction, never stay: half the states at every step."""
    steps = {k: {(k + 1) % size: 0.5, (k - 1) % size: 0.5} for k in range(size)}
    return MarkovChain(states=range(size), transitions=steps, initial=initial)


class Fork:
    """Unambiguous but not deterministic: it guesses the last symbol at the start."""

    words = ("aa", "ab", "ba", "bb")

    @staticmethod
    def automaton() -> Automaton:
        # From states 0 and 1 read anything, then the symbol that was guessed.
        edges = [(0, 2, 0), (1, 2, 1)]
        tails, heads, labels = np.array(edges).T
        return Automaton.of(
            alphabet=Alphabet("ab"),
            states=["then a", "then b", "end"],
            start="start",
            start_edges=(np.array([0, 1, 0, 1]), np.array([0, 0, 1, 1])),
            edges=(tails, heads, labels),
            final=np.array([False, False, True]),
        )


class TestWords:
    @given(st.data())
    def test_membership_count_and_iteration_agree_with_a_list(self, data):
        language, words = data.draw(strategies.languages())
        assert language.count() == len(words)
        listed = list(language.words())
        assert len(listed) == len(words)
        assert set(listed) == set(words)
        w = data.draw(strategies.words(list(language.alphabet), language.length))
        assert (w in language) == (w in set(words))
        assert all(v in language for v in words)

    @given(st.data())
    def test_deterministic_languages_list_words_in_order(self, data):
        language, words = data.draw(strategies.languages())
        listed = [language.encode(w).tolist() for w in language.deterministic().words()]
        assert listed == sorted(listed)
        assert len(listed) == len(words)

    @given(st.data())
    def test_types_of_symbols_come_back(self, data):
        language, words = data.draw(strategies.languages())
        types = {(type(s), s) for word in words for s in word}
        assert {(type(s), s) for word in language.words() for s in word} == types

    @given(st.data())
    def test_level_counts(self, data):
        language, words = data.draw(strategies.languages())
        w = data.draw(strategies.words(list(language.alphabet), language.length))
        assert language.level_counts(w) == oracles.level_counts(words, w)

    @given(st.data())
    def test_runs_lead_along_the_word(self, data):
        language, words = data.draw(strategies.languages())
        a = language.automaton
        for w in words[:20]:
            numbers = language.encode(w)
            run = language.run(numbers)
            assert a.start_label[run[0]] == numbers[0]
            assert a.label[run[1:]].tolist() == numbers[1:].tolist()
            heads = [int(a.start_head[run[0]]), *a.head[run[1:]].tolist()]
            assert a.tail[run[1:]].tolist() == heads[:-1]
            assert a.final[heads[-1]]

    @given(st.data())
    def test_states_that_can_finish(self, data):
        language, _ = data.draw(strategies.languages())
        a = language.automaton
        expected = a.final.copy()
        for steps in range(language.length + 2):
            assert language.finishing(steps).tolist() == expected.tolist()
            into = [bool(expected[a.head[lo:hi]].any()) for lo, hi in pairs(a)]
            expected = np.array(into)

    def test_words_of_another_kind_are_not_in_it(self):
        language = Language.of(["ab", "ba"])
        for other in ("a", "abc", "zz", 7, None, ["a", []], [["a"], "b"]):
            assert other not in language

    def test_an_automaton_that_guesses(self):
        language = Language.compile(Fork.automaton(), 2)
        assert not language.automaton.is_deterministic
        assert sorted(map("".join, language.words())) == list(Fork.words)
        assert language.count() == 4
        assert language.level_counts("ab") == [1, 2, 1]
        deterministic = language.deterministic()
        assert deterministic.automaton.is_deterministic
        assert set(deterministic.words()) == set(language.words())
        assert deterministic.deterministic() is deterministic


def pairs(a: Automaton) -> list[tuple[int, int]]:
    return list(zip(a.indptr[:-1].tolist(), a.indptr[1:].tolist(), strict=True))


class TestRandomWord:
    @pytest.mark.parametrize(
        "language",
        [
            Language.of(["aaa", "aab", "abb", "bbb", "bab"]),
            Language.all_words(["x", 1, "1"], 2),
            ring(4).language(3),
            Language.compile(Fork.automaton(), 2),
        ],
        ids=["list", "all words", "ring", "guessing"],
    )
    def test_every_word_is_equally_likely(self, language):
        generator = np.random.default_rng(4)
        drawn = [language.random_word(generator) for _ in range(4000)]
        words = list(language.words())
        assert_follows(drawn, dict.fromkeys(words, Fraction(1, len(words))))

    def test_paths_do_not_weigh_more_than_words(self):
        # One edge at a time, "a" would come first in half the words instead of one in nine.
        language = Language.of(["aa", *(f"{x}{y}" for x in "bc" for y in "abcd")])
        generator = np.random.default_rng(4)
        drawn = [language.random_word(generator)[0] for _ in range(4000)]
        assert_follows(drawn, {"a": 1 / 9, "b": 4 / 9, "c": 4 / 9})

    def test_counts_of_a_thousand_digits(self):
        language = MarkovChain.from_matrix(np.full((9, 9), 1 / 9)).language(1200)
        word = language.random_word(1)
        assert word in language
        assert abs(np.mean(word) - 4) < 6 * np.sqrt(60 / 9 / 1200)

    def test_seeds_repeat_and_keys_need_a_record(self):
        language = Language.all_words("ab", 40)
        assert language.random_word(5) == language.random_word(5)
        assert language.random_word() != language.random_word()
        with pytest.raises(InvalidArgument, match="record must be given"):
            language.random_word(KeyedBits(b"k" * 32))


class TestConstruction:
    @given(st.data())
    def test_a_list_of_words_is_its_language(self, data):
        alphabet = data.draw(strategies.alphabets())
        length = data.draw(st.integers(1, 4))
        listed = data.draw(st.lists(strategies.words(alphabet, length), min_size=1, max_size=15))
        language = Language.of(listed, alphabet=alphabet)
        assert set(language.words()) == set(listed)
        assert language.count() == len(set(listed))
        assert language.automaton.is_deterministic
        # The same set makes the same language, whatever its order and repetitions.
        shuffled = data.draw(st.permutations(listed + listed[:2]))
        assert Language.of(shuffled, alphabet=alphabet) == language

    @given(st.data())
    def test_compiling_again_changes_nothing(self, data):
        language, _ = data.draw(strategies.languages())
        again = Language.compile(language.automaton, language.length)
        assert again.automaton.indptr.tolist() == language.automaton.indptr.tolist()
        assert again.automaton.label.tolist() == language.automaton.label.tolist()
        if not language.is_all_words:
            assert again == language

    def test_all_words_as_a_list_are_minimal(self):
        language = Language.of(oracles.all_words("ab", 5))
        assert language.automaton.n_states == 5
        assert set(language.words()) == set(Language.all_words("ab", 5).words())

    def test_the_alphabet_of_a_list_is_what_occurs(self):
        assert list(Language.of(["cb", "bc"]).alphabet) == ["b", "c"]
        assert list(Language.of(["cb"], alphabet="abc").alphabet) == ["a", "b", "c"]

    @pytest.mark.parametrize("length", [0, -1, 1.5, "3", None, True, np.float64(2)])
    def test_a_length_is_a_positive_whole_number(self, length):
        message = "length must be a whole number of at least 1"
        with pytest.raises(InvalidArgument, match=message):
            Language.all_words("ab", length)
        with pytest.raises(InvalidArgument, match=message):
            ring(3).language(length)
        with pytest.raises(InvalidArgument, match=message):
            Language.compile(Fork.automaton(), length)

    def test_numpy_lengths_are_lengths(self):
        assert Language.all_words("ab", np.int16(3)).count() == 8

    def test_bad_lists_are_refused_by_row(self):
        with pytest.raises(EmptyLanguage, match="at least one word"):
            Language.of([])
        with pytest.raises(InvalidArgument, match="length"):
            Language.of([""])
        with pytest.raises(InvalidWord, match="word 3 has 1 symbols, word 1 has 2"):
            Language.of(["ab", "ba", "a"])
        with pytest.raises(UnknownSymbol, match="word 2: the symbol at position 1"):
            Language.of(["ab", "ca"], alphabet="ab")
        with pytest.raises(InvalidModel, match="at least one symbol"):
            Language.all_words([], 3)

    def test_it_is_not_constructed_directly(self):
        with pytest.raises(InvalidArgument, match=r"Language\.all_words"):
            Language()


class TestFeasibility:
    def test_a_length_without_words_is_an_error(self):
        chain = MarkovChain(states="abc", transitions={"a": {"b": 1}, "b": {"c": 1}}, initial="a")
        assert list(chain.language(2).words()) == [("b", "c")]
        with pytest.raises(EmptyLanguage, match="no word of length 3 is feasible"):
            chain.language(3)

    def test_dead_ends_are_left_out(self):
        steps = {"a": {"a": 0.5, "dead": 0.5}}
        chain = MarkovChain(states=["a", "dead"], transitions=steps, initial="a")
        language = chain.language(4)
        assert set(language.words()) == {("a",) * 4, ("a", "a", "a", "dead")}
        assert ("a", "dead", "a", "a") not in language

    def test_parity_is_respected(self):
        # On an even ring the public start decides which states each step can be in.
        language = ring(6, initial=0).language(5)
        assert language.count() == 2**5
        assert all(sum(w) % 2 == 1 for w in language.words())
        assert (1, 2, 3, 3, 4) not in language

    def test_only_states_that_matter_are_kept(self):
        language = ring(1000, initial=500).language(3)
        assert language.automaton.n_states == 7
        assert language.rows.tolist() == [0, 2, 5, 7]
        assert len(language.alphabet) == 1000


class TestIdentity:
    def test_fingerprints_tell_languages_apart(self):
        languages = [
            Language.all_words("ab", 3),
            Language.all_words("ab", 4),
            Language.all_words("ba", 3),
            Language.all_words("abc", 3),
            Language.all_words([1, 2], 3),
            Language.all_words(["1", "2"], 3),
            Language.of(["aaa", "bbb"]),
            Language.of(["aaa", "abb"]),
            Language.of(["aaa", "bbb"], alphabet="abc"),
            ring(5).language(3),
            ring(5, initial=0).language(3),
            ring(5, initial=1).language(3),
            ring(5).language(4),
        ]
        assert len({language.fingerprint for language in languages}) == len(languages)

    def test_names_of_states_do_not_matter(self):
        def automaton(names: list[str]) -> Automaton:
            return Automaton.of(
                alphabet=Alphabet("ab"),
                states=names,
                start=names[0],
                start_edges=(np.array([0, 1]), np.array([0, 1])),
                edges=(np.array([0, 1, 1]), np.array([1, 0, 1]), np.array([0, 1, 0])),
                final=np.array([True, True]),
            )

        one, two = (Language.compile(automaton(n), 4) for n in (["x", "y"], ["zz", "a"]))
        assert one.fingerprint == two.fingerprint
        assert one == two
        assert hash(one) == hash(two)

    def test_the_order_of_states_does_not_matter(self):
        a = Automaton.of(
            alphabet=Alphabet("ab"),
            states=["p", "q", "useless"],
            start="p",
            start_edges=(np.array([0, 1]), np.array([0, 1])),
            edges=(np.array([0, 1, 2]), np.array([1, 0, 2]), np.array([0, 1, 0])),
            final=np.array([True, True, False]),
        )
        for order in ([0, 1], [1, 0], [2, 1, 0], [1, 2, 0]):
            again = Language.compile(a.restricted(np.array(order)), 4)
            assert again == Language.compile(a, 4)

    def test_hash_seeds_do_not_matter(self):
        code = (
            "from dpauto import NFA, MarkovChain;"
            "t = {'p': {'a': {'p', 'q'}, 'b': {'p'}}, 'q': {'b': {'r'}}, 'r': {'a': {'r'}}};"
            "nfa = NFA(states={'p', 'q', 'r'}, alphabet={'a', 'b'}, transitions=t, initial='p',"
            " final={'r'});"
            "chain = MarkovChain(states={'x', 'y', ('z', frozenset('uvw'))},"
            " transitions={'x': {'y': 1}, 'y': {('z', frozenset('uvw')): 1}});"
            "print(nfa.language(6).fingerprint, chain.language(2).fingerprint)"
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

    @settings(max_examples=50)
    @given(st.data())
    def test_pickling_keeps_everything(self, data):
        language, words = data.draw(strategies.languages())
        twin = pickle.loads(pickle.dumps(language))
        assert twin == language
        assert twin.count() == len(words)
        assert twin.is_all_words == language.is_all_words

    def test_it_is_equal_to_nothing_else(self):
        assert Language.all_words("ab", 2) != "ab"

    def test_its_text_is_short(self):
        assert repr(Language.all_words("ab", 2)) == "Language.all_words(<2 symbols>, 2)"
        text = repr(ring(1000).language(50))
        assert text == "<Language of length 50 over 1000 symbols, 1000 states>"


class TestLongWords:
    """Five thousand symbols: deeper than Python's recursion allows."""

    def test_all_operations(self):
        n = 5000
        language = ring(5, initial=0).language(n)
        assert language.count() == 2**n
        word = language.random_word(1)
        assert word in language
        assert next(language.words()) in language
        assert len(language.run(language.encode(word))) == n
        assert language.deterministic() is language
        assert pickle.loads(pickle.dumps(language)).fingerprint == language.fingerprint

    def test_a_list_of_long_words(self):
        word = ["a", "b"] * 1000
        language = Language.of([word, word[::-1]])
        assert list(language.words()) == [tuple(word), tuple(word[::-1])]

    def test_all_words_in_closed_form(self):
        language = Language.all_words("abc", 5000)
        assert sum(language.level_counts("a" * 5000)) == language.count() == 3**5000


class TestSecrets:
    """Errors about a word name a place, never a symbol."""

    @pytest.mark.parametrize(
        "word",
        [["a", "SECRET", "b"], ["SECRET"] * 2, ["a", ["SECRET"], "b"], [("SECRET",), "a", "b"]],
    )
    @pytest.mark.parametrize("method", ["encode", "level_counts"])
    def test_nothing_of_the_word_is_repeated(self, word, method):
        for language in (Language.all_words("ab", 3), Language.of(["aba", "bab"])):
            with pytest.raises(DpautoError) as caught:
                getattr(language, method)(word)
            error = caught.value
            assert "SECRET" not in f"{error!s}{error!r}{error.args}"
            assert error.__cause__ is None
            assert error.__context__ is None

    def test_the_place_is_named(self):
        with pytest.raises(UnknownSymbol, match="position 2"):
            Language.all_words("ab", 3).encode(["a", "SECRET", "b"])
        with pytest.raises(InvalidWord, match="length 3, not 2"):
            Language.all_words("ab", 3).encode(["SECRET", "a"])


def test_compile_refuses_runs_for_words():
    # Two states that both read "a" from the start: one word, two accepting runs.
    twice = Automaton.of(
        alphabet=Alphabet("ab"),
        states=(0, 1),
        start=START,
        start_edges=(np.array([0, 1]), np.array([0, 0])),
        edges=(np.array([0, 1]), np.array([0, 1]), np.array([1, 1])),
        final=np.ones(2, dtype=bool),
    )
    with pytest.raises(AmbiguousAutomaton, match="automaton has two accepting runs"):
        Language.compile(twice, 3)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Language.of(None), "words must be a collection"),  # type: ignore[arg-type]
        (lambda: Language.all_words(5, 3), "alphabet must be a collection"),  # type: ignore[arg-type]
    ],
)
def test_what_is_no_collection_is_refused(make, message):
    with pytest.raises(DpautoError, match=message):
        make()
