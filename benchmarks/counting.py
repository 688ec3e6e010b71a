"""Against automata libraries: counting words, and the product with a Hamming automaton.

One random deterministic automaton of N states in which every state has 4 successors, one for each
of 4 letters, all states accepting. The peers count the words at one distance from a word; dpauto's
`level_counts` counts those at every distance in one pass, `mnfa` those at one distance with the
policy that draws them.
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median
from typing import Any

import numpy as np

from benchmarks.harness import Finding, interleave, isolated, need, peer, ratio, row
from dpauto import NFA, mnfa
from dpauto.words import Word

LETTERS = "abcd"


@row("count-words", states=20, length=8)
def count_words(rounds: int, *, states: int = 1000, length: int = 100) -> Iterator[Finding]:
    """Count the words of a length against automata-lib."""
    automata = peer("automata.fa.dfa", "automata-lib")
    table = _transitions(states)
    model, dfa = _nfa(table), _dfa(automata, table)
    need(model.language(length).count() == dfa.count_words_of_length(length), "counts differ")
    dfa.clear_cache()

    def theirs(_: int) -> None:
        dfa.clear_cache()
        dfa.count_words_of_length(length)

    ours, its = interleave(rounds, lambda _: model.language(length).count(), theirs)
    yield ratio(
        f"compile a language and count its words, {states:,} states, degree 4, n = {length}",
        "automata-lib, a cold count",
        ours,
        its,
        speed_up=True,
    )


@row("product-automata-lib", states=20, length=8, errors=2)
def product_automata_lib(
    rounds: int, *, states: int = 1000, length: int = 20, errors: int = 5
) -> Iterator[Finding]:
    """The words at one distance, product and count, against automata-lib."""
    automata = peer("automata.fa.dfa", "automata-lib")
    table = _transitions(states)
    language, dfa = _nfa(table).language(length), _dfa(automata, table)
    word = _word(length)

    def theirs(_: int) -> int:
        near = automata.DFA(**_hamming(word, errors), allow_partial=True)
        both = dfa.intersection(near, retain_names=False, minify=False)
        return int(both.count_words_of_length(length))

    need(mnfa(word, errors, language).count() == theirs(0), "counts differ")
    ours, its = interleave(rounds, lambda _: mnfa(word, errors, language).count(), theirs)
    yield ratio(
        f"words at distance {errors}: product and count, {states:,} states, degree 4, n = {length}",
        "automata-lib, not minified",
        ours,
        its,
        speed_up=True,
    )


@row("product-pynini", states=20, length=8, errors=2)
def product_pynini(
    rounds: int, *, states: int = 1000, length: int = 100, errors: int = 20
) -> Iterator[Finding]:
    """The words at one distance, product and count, against pynini (OpenFst)."""
    pynini = peer("pynini", "pynini")
    table = _transitions(states)
    language, fst = _nfa(table).language(length), _fst(pynini, table)
    word = _word(length)

    def theirs(_: int) -> int:
        product = pynini.intersect(fst, _hamming_fst(pynini, word, errors))
        return _count_paths(product)

    need(mnfa(word, errors, language).count() == theirs(0), "counts differ")
    one, all_of_them, its = interleave(
        rounds,
        lambda _: mnfa(word, errors, language).count(),
        lambda _: language.level_counts(word),
        theirs,
    )
    for name, ours in (
        (f"words at distance {errors}", one),
        ("words at every distance at once", all_of_them),
    ):
        yield ratio(
            f"{name}: product and count, {states:,} states, degree 4, n = {length}",
            f"pynini, at distance {errors}; counts added up in Python, as its weights are floats",
            ours,
            its,
            speed_up=True,
        )


@row("level-counts-memory", states=20, length=8, errors=2)
def level_counts_memory(
    rounds: int, *, states: int = 1000, length: int = 100, errors: int = 20
) -> Iterator[Finding]:
    """Peak memory of counting by distance against pynini."""
    peer("pynini", "pynini")
    sizes = {"states": states, "length": length}
    idle = isolated(count_levels, **sizes, nothing=True).peak
    pairs = [
        (
            isolated(count_levels, **sizes, nothing=False).peak,
            isolated(count_with_pynini, **sizes, errors=errors).peak,
        )
        for _ in range(rounds)
    ]
    ours, theirs = (median(peaks) for peaks in zip(*pairs, strict=True))
    each = [own / its for own, its in pairs]
    yield Finding(
        work=f"peak memory, words at every distance, {states:,} states, degree 4, n = {length}",
        against=f"pynini, at distance {errors}",
        figure=ours / theirs,
        unit="×",
        low=min(each),
        high=max(each),
        detail=f"{ours:.0f} MiB against {theirs:.0f} MiB; {idle:.0f} MiB before counting",
    )


def count_levels(states: int, length: int, *, nothing: bool) -> int:
    """Count the words by distance with dpauto, in a process of its own."""
    table = _transitions(states)
    language = _nfa(table).language(length)
    return 0 if nothing else len(language.level_counts(_word(length)))


def count_with_pynini(states: int, length: int, errors: int) -> str:
    """Count the words at one distance with pynini, in a process of its own."""
    pynini = peer("pynini", "pynini")
    table = _transitions(states)
    near = _hamming_fst(pynini, _word(length), errors)
    return str(_count_paths(pynini.intersect(_fst(pynini, table), near)))


# -- one automaton for all ------------------------------------------------------------------------


def _transitions(states: int) -> Any:
    """Heads of a random automaton, shape (states, letters): four different ones for each state."""
    rng = np.random.default_rng(7)
    return np.stack([rng.permutation(states)[: len(LETTERS)] for _ in range(states)])


def _word(length: int) -> Word:
    """A word of the automaton: every letter can be read in every state."""
    return tuple(LETTERS[k] for k in np.random.default_rng(8).integers(4, size=length))


def _nfa(table: Any) -> NFA:
    steps = {
        q: {letter: {int(head)} for letter, head in zip(LETTERS, heads, strict=True)}
        for q, heads in enumerate(table)
    }
    states = range(len(table))
    return NFA(states=states, alphabet=LETTERS, transitions=steps, initial=0, final=states)


def _dfa(automata: Any, table: Any) -> Any:
    steps = {
        q: {letter: int(head) for letter, head in zip(LETTERS, heads, strict=True)}
        for q, heads in enumerate(table)
    }
    states = set(range(len(table)))
    return automata.DFA(
        states=states,
        input_symbols=set(LETTERS),
        transitions=steps,
        initial_state=0,
        final_states=states,
    )


def _hamming(word: Word, errors: int) -> dict[str, Any]:
    """The automaton of all words at a distance, as automata-lib's arguments."""
    n = len(word)
    states = {(i, j) for i in range(n + 1) for j in range(min(i, errors) + 1)}
    steps: dict[Any, dict[str, Any]] = {}
    for i, j in states:
        heads = {s: (i + 1, j + (s != word[i])) for s in LETTERS} if i < n else {}
        steps[i, j] = {s: head for s, head in heads.items() if head in states}
    return {
        "states": states,
        "input_symbols": set(LETTERS),
        "transitions": steps,
        "initial_state": (0, 0),
        "final_states": {(n, errors)},
    }


def _fst(pynini: Any, table: Any) -> Any:
    fst = pynini.Fst()
    fst.add_states(len(table))
    fst.set_start(0)
    for state, heads in enumerate(table.tolist()):
        fst.set_final(state)
        for letter, head in enumerate(heads, 1):
            fst.add_arc(state, pynini.Arc(letter, letter, 0, head))
    return fst.arcsort()


def _hamming_fst(pynini: Any, word: Word, errors: int) -> Any:
    fst, arguments = pynini.Fst(), _hamming(word, errors)
    states = sorted(arguments["states"])
    number = {state: k for k, state in enumerate(states)}
    fst.add_states(len(states))
    fst.set_start(0)
    fst.set_final(number[len(word), errors])
    for tail, steps in arguments["transitions"].items():
        for symbol, head in steps.items():
            letter = LETTERS.index(symbol) + 1
            fst.add_arc(number[tail], pynini.Arc(letter, letter, 0, number[head]))
    return fst.connect().arcsort()


def _count_paths(fst: Any) -> int:
    """Count the accepting paths of an acyclic transducer, exactly."""
    fst.topsort()
    counts = [0] * fst.num_states()
    counts[fst.start()] = 1
    total = 0
    infinite = type(fst.final(fst.start())).zero(fst.weight_type())
    for state in range(len(counts)):
        if fst.final(state) != infinite:
            total += counts[state]
        for arc in fst.arcs(state):
            counts[arc.nextstate] += counts[state]
    return total
