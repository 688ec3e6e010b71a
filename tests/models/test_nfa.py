"""NFAs: acceptance, runs, ambiguity, determinisation, products, and the words of one length."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import oracles
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import nfa_parts, words

from dpauto import NFA, EmptyLanguage, InvalidArgument, InvalidModel, StateLimitExceeded

Parts = dict[str, object]


def contains_aba() -> NFA:
    return NFA.from_regex("(a|b)*aba(a|b)*", alphabet="ab")


def explosive() -> NFA:
    """The classical 18 states whose deterministic automaton has 131,072."""
    transitions = {0: {"a": {0, 1}, "b": {0}}}
    transitions |= {k: {"a": {k + 1}, "b": {k + 1}} for k in range(1, 17)}
    return NFA(states=range(18), alphabet="ab", transitions=transitions, initial=0, final=[17])


def all_runs(parts: Parts, word: tuple[object, ...]) -> list[tuple[object, ...]]:
    """Runs by trying every sequence of states."""
    transitions, states = parts["transitions"], parts["states"]
    return [
        (parts["initial"], *rest)
        for rest in product(states, repeat=len(word))
        if all(
            q in transitions.get(p, {}).get(s, ())
            for p, s, q in zip((parts["initial"], *rest), word, rest, strict=False)
        )
    ]


def listed(nfa: NFA, length: int) -> set[tuple[object, ...]]:
    try:
        return set(nfa.language(length).words())
    except EmptyLanguage:
        return set()


def known_counts() -> list[tuple[str, str, int, list[int]]]:
    rows = []
    for line in (Path(__file__).parent / "known_counts.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            pattern, alphabet, first, *counts = line.split()
            rows.append((pattern, alphabet, int(first), [int(c) for c in counts]))
    return rows


# -- words ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("pattern", "alphabet", "first", "counts"), known_counts())
def test_words_are_as_many_as_is_known(
    pattern: str, alphabet: str, first: int, counts: list[int]
) -> None:
    nfa = NFA.from_regex(pattern, alphabet=alphabet)
    for length, count in enumerate(counts, first):
        if count:
            assert nfa.language(length).count() == count
        else:
            with pytest.raises(EmptyLanguage, match=f"no word of length {length} is feasible"):
                nfa.language(length)


@settings(max_examples=50)
@given(nfa_parts(max_states=4), st.integers(1, 4))
def test_the_language_is_the_set_of_accepted_words(parts: Parts, length: int) -> None:
    nfa = NFA(**parts)
    expected = oracles.nfa_words(
        parts["transitions"], parts["initial"], parts["final"], parts["alphabet"], length
    )
    assert listed(nfa, length) == set(expected)
    if expected:
        assert nfa.language(length).count() == len(expected)


@given(nfa_parts(max_states=4), st.data())
def test_acceptance_and_runs_follow_the_definition(parts: Parts, data: st.DataObject) -> None:
    nfa = NFA(**parts)
    word = data.draw(words(parts["alphabet"], max_length=4))
    runs = all_runs(parts, word)
    accepting = [run for run in runs if run[-1] in parts["final"]]
    found = list(nfa.runs(word))
    assert sorted(found, key=repr) == sorted(runs, key=repr)
    number = {state: k for k, state in enumerate(nfa.states)}
    assert found == sorted(found, key=lambda run: [number[q] for q in run])
    assert sorted(nfa.runs(word, accepting=True), key=repr) == sorted(accepting, key=repr)
    assert nfa.accepts(word) == bool(accepting)


def test_many_runs_are_one_word() -> None:
    nfa = contains_aba()
    assert not nfa.is_unambiguous()
    assert len(list(nfa.runs("ababaaba", accepting=True))) > 2
    language = nfa.language(8)
    assert language.count() == sum("aba" in "".join(w) for w in product("ab", repeat=8))
    assert len(set(language.words())) == language.count()


def test_the_empty_word_has_one_run() -> None:
    nfa = NFA.from_regex("a*", alphabet="a")
    assert nfa.accepts("")
    assert list(nfa.runs("")) == [(0,)]
    assert list(NFA.from_regex("a", alphabet="a").runs("", accepting=True)) == []


def test_words_outside_the_alphabet_are_not_accepted() -> None:
    nfa = NFA(states=[0], alphabet=[1], transitions={0: {1: [0]}}, initial=0, final=[0])
    assert nfa.accepts([1, 1])
    assert not nfa.accepts(["1", 1])
    assert list(nfa.runs([1, "1"])) == []
    assert not nfa.accepts([[]])


def test_runs_of_long_words_are_lazy_and_need_no_recursion() -> None:
    nfa = contains_aba()
    runs = nfa.runs("aba" * 5000, accepting=True)
    assert len(next(runs)) == 15001
    assert len(next(runs)) == 15001


def test_symbols_and_states_of_one_text_are_different() -> None:
    nfa = NFA(
        states=[1, "1"],
        alphabet=["a", ("a",), 1, "1", "two words"],
        transitions={1: {1: {"1"}}, "1": {"1": {1}, ("a",): {1}, "two words": {1}}},
        initial=1,
        final=[1],
    )
    assert set(nfa.language(2).words()) == {(1, "1"), (1, ("a",)), (1, "two words")}
    assert nfa.accepts([1, "1"])
    assert not nfa.accepts(["1", 1])
    assert nfa.graph.number_of_nodes() == 2


@pytest.mark.parametrize("length", [0, -1, 1.0, True, None, "3"])
def test_a_length_is_a_whole_number_of_at_least_one(length: int) -> None:
    with pytest.raises(InvalidArgument, match="length must be a whole number of at least 1"):
        contains_aba().language(length)
    if length is not None:
        with pytest.raises(InvalidArgument, match="length must be a whole number"):
            contains_aba().determinize(length)


# -- ambiguity and determinisation ------------------------------------------------------------


@settings(max_examples=50)
@given(nfa_parts(max_states=3, max_symbols=2))
def test_ambiguity_is_a_word_with_two_accepting_runs(parts: Parts) -> None:
    nfa = NFA(**parts)
    most = max(
        len([run for run in all_runs(parts, word) if run[-1] in parts["final"]])
        for length in range(6)
        for word in product(parts["alphabet"], repeat=length)
    )
    if most > 1:
        assert not nfa.is_unambiguous()
    if len(parts["states"]) < 3:
        assert nfa.is_unambiguous() == (most <= 1)


@settings(max_examples=50)
@given(nfa_parts(max_states=4), st.integers(1, 4))
def test_determinising_keeps_the_language(parts: Parts, length: int) -> None:
    nfa = NFA(**parts)
    words = listed(nfa, length)
    dfa, exact = nfa.determinize(), nfa.determinize(length)
    for result in (dfa, exact):
        assert listed(result, length) == words
        for moves in result.transitions.values():
            assert all(len(heads) == 1 for heads in moves.values())
    assert dfa.accepts("") == nfa.accepts("")
    assert dfa.is_unambiguous()


def test_determinised_states_are_tuples_of_states() -> None:
    nfa = NFA(
        states=["p", "q"],
        alphabet="ab",
        transitions={"p": {"a": ["p", "q"], "b": ["p"]}, "q": {"b": ["q"]}},
        initial="p",
        final=["q"],
    )
    dfa = nfa.determinize()
    assert dfa.initial == ("p",)
    assert set(dfa.states) == {("p",), ("p", "q")}
    assert dfa.final == {("p", "q")}


def test_a_deterministic_automaton_keeps_its_names() -> None:
    nfa = NFA(
        states=["p", "q", "unused"],
        alphabet="ab",
        transitions={"p": {"a": ["q"]}, "q": {"a": ["p"]}},
        initial="p",
        final=["q"],
    )
    assert set(nfa.determinize().states) == {"p", "q"}
    assert nfa.determinize().initial == "p"
    # Also where the initial state does the same as another one.
    loop = NFA(
        states=["p", "q"],
        alphabet="a",
        transitions={"p": {"a": ["q"]}, "q": {"a": ["q"]}},
        initial="p",
        final=["p", "q"],
    )
    assert set(loop.determinize().states) == {"p", "q"}


def test_a_determinised_start_is_no_state_of_its_own_without_need() -> None:
    assert len(contains_aba().determinize().states) == 4
    assert len(NFA.from_regex("(a|b)*a", alphabet="ab").determinize().states) == 2


def test_exponentially_many_subsets_are_refused() -> None:
    nfa = explosive()
    assert len(nfa.states) == 18
    with pytest.raises(StateLimitExceeded) as error:
        nfa.determinize()
    assert "more than 100000 states: raise state_limit" in str(error.value)
    assert nfa.determinize(20).language(20).count() == 2**19
    # Unambiguous, so that its words can be counted at any length all the same.
    assert nfa.language(200).count() == 2**199


def test_a_language_that_needs_too_many_states_is_refused() -> None:
    # Two positions at a distance of 12 differ somewhere: what was read must be remembered.
    nfa = NFA.from_regex(".*(a.{11}b|b.{11}a).*", alphabet="ab")
    with pytest.raises(StateLimitExceeded, match="within 40 steps needs more than 500 states"):
        nfa.language(40, state_limit=500)


# -- trimming and products --------------------------------------------------------------------


@settings(max_examples=50)
@given(nfa_parts(max_states=4), st.integers(1, 4))
def test_trimming_keeps_the_language_and_only_useful_states(parts: Parts, length: int) -> None:
    nfa = NFA(**parts)
    trimmed = nfa.trim()
    assert listed(trimmed, length) == listed(nfa, length)
    assert trimmed.accepts("") == nfa.accepts("")
    assert trimmed.trim() == trimmed
    assert [q for q in nfa.states if q in trimmed.states] == list(trimmed.states)


def test_trimming_drops_the_unreachable_and_the_hopeless() -> None:
    nfa = NFA(
        states=["start", "end", "island", "trap"],
        alphabet="a",
        transitions={"start": {"a": ["end", "trap"]}, "island": {"a": ["end"]}},
        initial="start",
        final=["end"],
    )
    assert nfa.trim().states == ("start", "end")
    nothing = NFA(states=[0, 1], alphabet="a", transitions={0: {"a": [1]}}, initial=0, final=[])
    assert nothing.trim().states == (0,)
    assert nothing.trim().transitions == {}


@settings(max_examples=50)
@given(nfa_parts(max_states=3, max_symbols=2), st.data())
def test_an_intersection_accepts_what_both_accept(parts: Parts, data: st.DataObject) -> None:
    same = data.draw(st.permutations(parts["alphabet"]))
    other = data.draw(nfa_parts(max_states=3, alphabet=same))
    left, right = NFA(**parts), NFA(**other)
    both = left.intersection(right)
    for length in range(1, 4):
        assert listed(both, length) == listed(left, length) & listed(right, length)
    assert both.accepts("") == (left.accepts("") and right.accepts(""))
    assert both.alphabet == left.alphabet


def test_an_intersection_reaches_only_the_pairs_it_needs() -> None:
    chain = NFA.from_regex("a{50}", alphabet="ab")
    assert len(chain.intersection(chain).states) == 51
    with pytest.raises(StateLimitExceeded, match="reaches more than 10 pairs: trim both"):
        chain.intersection(chain, state_limit=10)


def test_alphabets_that_differ_are_no_intersection() -> None:
    left = NFA.from_regex("a", alphabet="ab")
    for other in (NFA.from_regex("a", alphabet="abc"), NFA.from_regex("1", alphabet="12")):
        with pytest.raises(InvalidModel, match="build both with one alphabet"):
            left.intersection(other)
    with pytest.raises(InvalidArgument, match="other must be an NFA"):
        left.intersection("a")


def test_relabelling_renames_symbols() -> None:
    nfa = contains_aba().relabel({"a": ("left", 1)})
    assert list(nfa.alphabet) == [("left", 1), "b"]
    assert nfa.accepts([("left", 1), "b", ("left", 1)])
    with pytest.raises(InvalidModel, match="symbols: symbol 'b' occurs twice"):
        contains_aba().relabel({"a": "b"})
    with pytest.raises(InvalidModel, match="symbols: 'c' is not a known symbol"):
        contains_aba().relabel({"c": "d"})
    with pytest.raises(InvalidModel, match=r"symbols must be a mapping \{old: new\}"):
        contains_aba().relabel([("a", "b")])


# -- construction -----------------------------------------------------------------------------

GOOD = {
    "states": ["p", "q"],
    "alphabet": "ab",
    "transitions": {"p": {"a": {"q"}}},
    "initial": "p",
    "final": ["q"],
}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"states": []}, "states must hold at least one state"),
        ({"states": 3}, "states must be a collection of states"),
        ({"states": ["p", "q", "p"]}, "states: state 'p' occurs twice"),
        ({"states": ["p", "q", ["r"]]}, "states: state number 2 is not hashable"),
        ({"states": ["p", "q", None]}, "states: None cannot be a state"),
        ({"alphabet": []}, "alphabet must hold at least one symbol"),
        ({"alphabet": "aa"}, "alphabet: symbol 'a' occurs twice"),
        ({"alphabet": 7}, "alphabet must be a collection of symbols"),
        ({"initial": "r"}, "initial: 'r' is not a known state"),
        ({"initial": ["p"]}, r"initial: \['p'\] is not a known state"),
        ({"final": "q"}, r"final must be a set of states, not a bare state: write \{'q'\}"),
        ({"final": 3}, "final must be a set of states"),
        ({"final": ["r"]}, "final: 'r' is not a known state"),
        ({"transitions": []}, r"transitions must be a mapping \{state: \{symbol: \{state, …\}\}\}"),
        ({"transitions": {"r": {}}}, "transitions: 'r' is not a known state"),
        (
            {"transitions": {"p": {"a"}}},
            r"transitions\['p'\] must be a mapping \{symbol: \{state, …\}\}",
        ),
        (
            {"transitions": {"p": {"c": ["q"]}}},
            r"transitions\['p'\]: 'c' is not a known symbol",
        ),
        (
            {"transitions": {"p": {"a": "q"}}},
            r"transitions\['p'\]\['a'\] must be a set of states, not a bare state: write \{'q'\}",
        ),
        (
            {"transitions": {"p": {"a": ["q", "r"]}}},
            r"transitions\['p'\]\['a'\]: 'r' is not a known state",
        ),
        ({"transitions": {"p": {"a": 5}}}, r"transitions\['p'\]\['a'\] must be a set of states"),
    ],
)
def test_what_does_not_fit_is_named(change: Parts, message: str) -> None:
    with pytest.raises(InvalidModel, match=message):
        NFA(**{**GOOD, **change})


def test_a_bare_tuple_state_is_no_set_of_states() -> None:
    with pytest.raises(InvalidModel, match="not a bare state: write"):
        NFA(
            states=[(0, 1), 0, 1],
            alphabet="a",
            transitions={0: {"a": (0, 1)}},
            initial=0,
            final=[0],
        )


def test_a_state_of_the_same_text_is_pointed_out() -> None:
    with pytest.raises(InvalidModel, match="'1' is not a known state; there is 1, which is"):
        NFA(states=[1], alphabet="a", transitions={"1": {}}, initial=1, final=[1])
    with pytest.raises(InvalidModel, match="1 is not a known symbol; there is '1', which is"):
        NFA(states=[1], alphabet="1", transitions={1: {1: [1]}}, initial=1, final=[1])


def test_long_names_are_cut_in_messages() -> None:
    with pytest.raises(InvalidModel) as error:
        NFA(**{**GOOD, "initial": "x" * 1000})
    assert len(str(error.value)) < 120


@given(nfa_parts())
def test_the_parts_come_back(parts: Parts) -> None:
    nfa = NFA(**parts)
    assert nfa.states == tuple(parts["states"])
    assert list(nfa.alphabet) == parts["alphabet"]
    assert nfa.initial == parts["initial"]
    assert nfa.final == parts["final"]
    again = NFA(
        states=nfa.states,
        alphabet=nfa.alphabet,
        transitions=nfa.transitions,
        initial=nfa.initial,
        final=nfa.final,
    )
    assert again == nfa
    assert hash(again) == hash(nfa)
