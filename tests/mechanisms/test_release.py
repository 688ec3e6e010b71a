"""What a release asks for, refuses, repeats and never says."""

from __future__ import annotations

import copy
import logging
import pickle
import subprocess
import sys
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import strategies
from hypothesis import given, settings
from hypothesis import strategies as st

from dpauto.errors import (
    DpautoError,
    DuplicateRecord,
    InvalidArgument,
    InvalidWord,
    NotPrivateWarning,
    UnknownSymbol,
)
from dpauto.language import Language
from dpauto.mechanisms import Exponential, Online, PermuteAndFlip, base
from dpauto.models import MarkovChain
from dpauto.randomness import KeyedBits, SeededBits, SystemBits
from dpauto.words import Costs

KEY = b"k" * 32
MECHANISMS = [PermuteAndFlip, Exponential, Online]
every_mechanism = pytest.mark.parametrize("mechanism", MECHANISMS)
LONG = Language.all_words("abcdefgh", 24)
WORD = "abcdefghabcdefghabcdefgh"


def network(length: int = 24) -> Language:
    steps = {k: dict.fromkeys([(k + 1) % 8, (k + 3) % 8, k], 1 / 3) for k in range(8)}
    return MarkovChain(states=range(8), transitions=steps).language(length)


class Certified:
    """Stands for a certificate that fits: what mechanisms ask of one."""

    exponent = Fraction(3, 2)
    loss = Fraction(1)

    def verify_for(self, language: Any, privacy: Any, name: str) -> None:
        """Accept everything."""


class TestReleases:
    @settings(max_examples=60)
    @given(st.data())
    def test_are_words_of_the_language(self, data):
        language, words = data.draw(strategies.languages())
        w = data.draw(strategies.words(list(language.alphabet), language.length))
        written, _ = data.draw(strategies.epsilons)
        listed = {tuple((type(s), s) for s in word) for word in words}
        for mechanism in MECHANISMS:
            v = mechanism(language, epsilon=written).release(w)
            assert tuple((type(s), s) for s in v) in listed

    @every_mechanism
    def test_many_are_each_words_own(self, mechanism):
        m = mechanism(network(), epsilon=40)
        words = [m.language.random_word(k) for k in range(30)]
        released = m.release_many(iter(words), rng=1)
        errors = [
            sum(a != b for a, b in zip(*pair, strict=True))
            for pair in zip(words, released, strict=True)
        ]
        assert max(errors) < 6
        assert m.release_many([]) == []

    @every_mechanism
    def test_do_not_depend_on_the_number_of_workers(self, mechanism, monkeypatch):
        monkeypatch.setattr(base, "LARGE_BATCH", 0)
        m = mechanism(network(), epsilon=3)
        words = [m.language.random_word(k) for k in range(40)]
        alone = m.release_many(words, KeyedBits(KEY), records=range(40), workers=1)
        shared = m.release_many(words, KeyedBits(KEY), records=range(40), workers=2)
        singly = [m.release(w, KeyedBits(KEY), record=k) for k, w in enumerate(words)]
        assert alone == shared == singly

    @every_mechanism
    def test_of_the_system_differ(self, mechanism):
        m = mechanism(LONG, epsilon="1/10")
        assert m.release(WORD) != m.release(WORD)
        assert m.release(WORD, SystemBits()) != m.release(WORD, None)

    @every_mechanism
    def test_accept_any_sequence(self, mechanism):
        m = mechanism(network(3), epsilon=1)
        for w in ([0, 1, 4], (0, 1, 4), np.array([0, 1, 4], dtype=np.int32), iter([0, 1, 4])):
            v = m.release(w)
            assert len(v) == 3
            assert {type(s) for s in v} == {int}


class TestSeeds:
    @every_mechanism
    def test_one_source_never_repeats_its_noise(self, mechanism):
        m = mechanism(LONG, epsilon=1)
        source = SeededBits(7)
        released = [m.release(WORD, source) for _ in range(5)]
        assert len(set(released)) == 5
        again = SeededBits(7)
        assert [m.release(WORD, again) for _ in range(5)] == released
        assert m.release_many([WORD] * 5, SeededBits(7)) == released

    @every_mechanism
    def test_a_number_repeats_the_release_and_warns(self, mechanism):
        m = mechanism(LONG, epsilon=1)
        with pytest.warns(NotPrivateWarning):
            first = m.release(WORD, rng=3)
        assert first == m.release(WORD, rng=3)
        assert first != m.release(WORD, rng=4)

    def test_a_generator_moves_on(self):
        m = PermuteAndFlip(LONG, epsilon=1)
        generator = np.random.default_rng(1)
        assert m.release(WORD, generator) != m.release(WORD, generator)

    def test_mechanisms_do_not_share_noise(self):
        source = SeededBits(1)
        context = {PermuteAndFlip(LONG, epsilon=e)._context(LONG.encode(WORD)) for e in (1, 2)}
        context |= {Exponential(LONG, epsilon=1)._context(LONG.encode(WORD))}
        assert len(set(source.seeds(sorted(context), None))) == 3

    @every_mechanism
    @pytest.mark.parametrize("bad", ["1", 1.5, True, [1], object()])
    def test_what_is_no_source_is_refused(self, mechanism, bad):
        with pytest.raises(InvalidArgument, match="rng must be None, an int seed"):
            mechanism(LONG, epsilon=1).release(WORD, bad)


class TestKeys:
    """A keyed release asked again is the same; anything else changed makes other bits."""

    @every_mechanism
    def test_asked_again_it_is_the_same(self, mechanism):
        m = mechanism(network(), epsilon=1)
        w = m.language.random_word(1)
        first = m.release(w, KeyedBits(KEY), record="r1")
        assert first == m.release(w, KeyedBits(KEY), record="r1")
        assert first == mechanism(network(), epsilon="1.0").release(w, KeyedBits(KEY), record="r1")
        twin = pickle.loads(pickle.dumps(m))
        assert first == twin.release(w, KeyedBits(KEY), record="r1")

    def test_also_in_another_process(self):
        code = (
            "from dpauto import KeyedBits, MarkovChain, PermuteAndFlip;"
            "c = MarkovChain(states={'x', 'y', 'z'}, transitions={'x': {'y': .5, 'z': .5},"
            " 'y': {'x': .5, 'z': .5}, 'z': {'x': .5, 'z': .5}});"
            "m = PermuteAndFlip(c.language(40), epsilon='1/2');"
            "print(m.release('xyzz' * 10, KeyedBits(b'k' * 32), record=7))"
        )
        printed = {
            subprocess.run(
                [sys.executable, "-c", code],
                env={"PYTHONHASHSEED": str(seed)},
                capture_output=True,
                text=True,
                check=True,
            ).stdout
            for seed in (1, 2)
        }
        assert len(printed) == 1

    def test_every_parameter_changes_the_bits(self):
        costs = [
            None,
            Costs(lambda x, y: int(x != y), LONG.alphabet),
            Costs(lambda x, y: 2 * int(x != y), LONG.alphabet),
            Costs(lambda x, y: Fraction(int(x != y), 2), LONG.alphabet),
            Costs(lambda x, y: abs(ord(x) - ord(y)), LONG.alphabet),
        ]
        better = Certified()
        better.exponent = Fraction(5, 3)
        mechanisms = [
            *(m(LONG, epsilon=e, adjacency=b) for m in MECHANISMS for e in (1, 2) for b in (1, 2)),
            # The same exponent from other parameters.
            *(m(LONG, epsilon=4, adjacency=4) for m in MECHANISMS),
            *(PermuteAndFlip(LONG, epsilon=1, costs=c) for c in costs[1:]),
            *(m(LONG, epsilon=1, certificate=Certified()) for m in (PermuteAndFlip, Exponential)),
            PermuteAndFlip(LONG, epsilon=1, certificate=better),
            PermuteAndFlip(Language.compile(LONG.automaton, 24), epsilon=1),
            PermuteAndFlip(Language.all_words("bacdefgh", 24), epsilon=1),
            PermuteAndFlip(Language.all_words("abcdefghi", 24), epsilon=1),
        ]
        words = [WORD, WORD[::-1], "b" + WORD[1:]]
        seeds = [
            KeyedBits(key).seeds([m._context(m.language.encode(w))], [record])[0]
            for m in mechanisms
            for w in words
            for key, record in ((KEY, 1), (KEY, 2), (KEY, "1"), (KEY[1:], 1))
        ]
        assert len(set(seeds)) == len(seeds)

    @every_mechanism
    def test_a_record_is_required(self, mechanism):
        m = mechanism(LONG, epsilon=1)
        with pytest.raises(InvalidArgument, match="record must be given"):
            m.release(WORD, KeyedBits(KEY))
        with pytest.raises(InvalidArgument, match="record must be given"):
            m.release_many([WORD, WORD], KeyedBits(KEY), records=[1])
        with pytest.raises(DuplicateRecord):
            m.release_many([WORD, WORD], KeyedBits(KEY), records=[1, 1])


class TestPickling:
    @every_mechanism
    def test_a_used_mechanism_pickles(self, mechanism):
        for language in (LONG, network()):
            m = mechanism(language, epsilon="7/3", adjacency=2)
            w = language.random_word(1)
            m.release(w)
            twin = pickle.loads(pickle.dumps(m))
            assert twin.privacy == m.privacy
            assert twin.language == m.language
            assert twin.release(w, 5) == m.release(w, 5)
            assert copy.deepcopy(m).release(w, 5) == m.release(w, 5)

    def test_with_costs(self):
        m = PermuteAndFlip(network(), epsilon=2, costs=lambda x, y: abs(x - y))
        w = m.language.random_word(1)
        twin = pickle.loads(pickle.dumps(m))
        assert twin.release(w, KeyedBits(KEY), record=1) == m.release(w, KeyedBits(KEY), record=1)


class TestParameters:
    @every_mechanism
    @pytest.mark.parametrize("epsilon", [0, -1, float("nan"), float("inf"), True, None, "x", "1/0"])
    def test_epsilon(self, mechanism, epsilon):
        with pytest.raises(InvalidArgument, match="epsilon must be a positive number"):
            mechanism(LONG, epsilon=epsilon)

    @every_mechanism
    @pytest.mark.parametrize("adjacency", [0, -1, 1.5, True, None, "1"])
    def test_adjacency(self, mechanism, adjacency):
        with pytest.raises(InvalidArgument, match="adjacency must be a whole number"):
            mechanism(LONG, epsilon=1, adjacency=adjacency)

    @every_mechanism
    def test_the_rest(self, mechanism):
        with pytest.raises(InvalidArgument, match="language must be a Language"):
            mechanism("abc", epsilon=1)
        with pytest.raises(TypeError):
            mechanism(LONG, 1)
        for distance in (-1, 1.5, True, None):
            with pytest.raises(InvalidArgument, match="distance must be a whole number"):
                mechanism(LONG, epsilon=1).privacy_loss(distance)

    def test_costs(self):
        other = Costs(lambda x, y: int(x != y), Language.all_words("ab", 1).alphabet)
        with pytest.raises(InvalidArgument, match="over the language's alphabet"):
            PermuteAndFlip(LONG, epsilon=1, costs=other)
        with pytest.raises(InvalidArgument, match="leave costs out"):
            PermuteAndFlip(LONG, epsilon=1, costs=lambda x, y: int(x != y), certificate=Certified())
        with pytest.raises(TypeError):
            Online(LONG, epsilon=1, costs=lambda x, y: int(x != y))

    def test_costs_whose_totals_would_overflow(self):
        language = Language.of(["a" * 200, "b" * 200])
        with pytest.raises(InvalidArgument, match="costs are too large"):
            PermuteAndFlip(language, epsilon=1, costs=lambda x, y: (x != y) * 2**61)

    def test_exponents(self):
        assert PermuteAndFlip(LONG, epsilon=3, adjacency=2).exponent == Fraction(3, 4)
        assert Online(LONG, epsilon=3, adjacency=2).exponent == Fraction(3, 2)
        with_costs = Exponential(LONG, epsilon=3, costs=lambda x, y: 7 * abs(ord(x) - ord(y)))
        assert with_costs.exponent == Fraction(3, 2 * 49)
        certified = PermuteAndFlip(LONG, epsilon=1, certificate=Certified())
        assert certified.exponent == Fraction(3, 2)
        assert [certified.privacy_loss(d) for d in (0, 1, 2)] == [0, 1, 6]


def everything_said(error: BaseException) -> str:
    """All text of an error and of the errors behind it."""
    said = ""
    seen: set[int] = set()
    queue: list[BaseException | None] = [error]
    while queue:
        e = queue.pop()
        if e is not None and id(e) not in seen:
            seen.add(id(e))
            said += f"{e!s}{e!r}{e.args!r}{vars(e)!r}{getattr(e, '__notes__', '')}"
            queue += [e.__cause__, e.__context__]
    return said


class TestSecrets:
    """Nothing of a word in errors, logs, text or state; only where it is wrong."""

    @every_mechanism
    @pytest.mark.parametrize(
        "word", [["SECRET"] * 24, [*WORD[:-1], ("SECRET",)], [*WORD[:-1], ["SECRET"]], ["SECRET"]]
    )
    @pytest.mark.parametrize("method", ["release", "release_many", "error_law"])
    def test_errors(self, mechanism, word, method):
        for language in (LONG, Language.of([WORD])):
            m = mechanism(language, epsilon=1)
            argument = [WORD, word] if method == "release_many" else word
            with pytest.raises((InvalidWord, UnknownSymbol)) as caught:
                getattr(m, method)(argument)
            assert "SECRET" not in everything_said(caught.value)
            place = "word 2" if method == "release_many" else "w"
            assert place in str(caught.value)

    def test_the_first_word_of_several_is_named_too(self):
        m = PermuteAndFlip(LONG, epsilon=1)
        with pytest.raises(InvalidWord, match="ws: word 1 must have the language's length"):
            m.release_many([["SECRET"], WORD])

    def test_symbols_of_the_alphabet_are_not_said_either(self):
        secret = ["SECRET", "other"] * 2
        language = Language.all_words(["SECRET", "other"], 5)
        with pytest.raises(InvalidWord) as caught:
            PermuteAndFlip(language, epsilon=1).release(secret)
        assert "SECRET" not in everything_said(caught.value)

    def test_a_refusal_for_a_certificate(self):
        language = Language.of(["ab", "bb"])
        m = PermuteAndFlip(language, epsilon=1, certificate=Certified())
        with pytest.raises(InvalidWord, match="w must be feasible when a certificate") as caught:
            m.release(["a", "a"])
        said = everything_said(caught.value)
        assert "'a'" not in said
        assert "aa" not in said

    def test_a_broken_word(self):
        class Broken:
            def __iter__(self):
                raise TypeError("SECRET")

        with pytest.raises(DpautoError) as caught:
            PermuteAndFlip(LONG, epsilon=1).release(Broken())
        assert "SECRET" not in str(caught.value)

    @every_mechanism
    def test_logs_and_output(self, mechanism, caplog, capfd):
        language = Language.all_words(["SECRET", "other"], 4)
        with caplog.at_level(logging.DEBUG):
            mechanism(language, epsilon=1).release(["SECRET"] * 4)
        out, err = capfd.readouterr()
        assert "SECRET" not in caplog.text + out + err

    @every_mechanism
    def test_text_and_state_after_a_release(self, mechanism):
        language = Language.of([WORD, WORD[::-1], "h" * 24])
        m = mechanism(language, epsilon=1)
        before = repr(m), pickle.dumps(m)
        assert "epsilon='1', adjacency=1" in before[0]
        m.release("g" * 12 + "h" * 12)
        assert repr(m) == before[0]
        # Caches hold what is public: they do not depend on the word that was released.
        other = mechanism(language, epsilon=1)
        other.release(WORD)
        assert pickle.dumps(m) == pickle.dumps(other)
