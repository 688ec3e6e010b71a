"""Ambiguity and determinisation on arrays, against runs counted one by one."""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import nfas

from dpauto import determinization
from dpauto.arrays import START, Automaton
from dpauto.determinization import (
    determinized,
    disambiguated,
    is_unambiguous,
    trimmed,
    unrolled,
)
from dpauto.errors import InvalidArgument, StateLimitExceeded
from dpauto.words import Alphabet


def automaton(
    size: int,
    edges: Iterable[tuple[int, int, int]],
    *,
    first: Iterable[tuple[int, int]] | None = None,
    final: Iterable[int],
    start: object = 0,
) -> Automaton:
    """Build from (tail, head, label); the first step is that of state 0 unless given."""
    edges = list(edges)
    first = [(h, s) for t, h, s in edges if t == 0] if first is None else first
    accepting = np.zeros(size, dtype=bool)
    accepting[list(final)] = True
    head, label = np.array(list(first), dtype=np.int64).reshape(-1, 2).T
    table = np.array(edges, dtype=np.int64).reshape(-1, 3)
    return Automaton.of(
        alphabet=Alphabet("ab"),
        states=range(size),
        start=start,
        start_edges=(head, label),
        edges=(table[:, 0], table[:, 1], table[:, 2]),
        final=accepting,
    )


def accepting_runs(a: Automaton, length: int) -> Counter[tuple[int, ...]]:
    """How many accepting runs every word of a length has."""
    prefixes = Counter(((s,), h) for h, s in zip(a.start_head, a.start_label, strict=True))
    for _ in range(length - 1):
        longer: Counter[tuple[tuple[int, ...], int]] = Counter()
        for (word, q), runs in prefixes.items():
            for e in range(a.indptr[q], a.indptr[q + 1]):
                longer[(*word, int(a.label[e])), int(a.head[e])] += runs
        prefixes = longer
    found: Counter[tuple[int, ...]] = Counter()
    for (word, q), runs in prefixes.items():
        if a.final[q]:
            found[word] += runs
    return found


def ambiguous(a: Automaton, lengths: Iterable[int]) -> bool:
    return any(runs > 1 for n in lengths for runs in accepting_runs(a, n).values())


def explosive(k: int) -> Automaton:
    """k + 1 states for "the k-th symbol from the end is the first": 2**k subsets."""
    waiting = [(i, i + 1, s) for i in range(1, k) for s in (0, 1)]
    return automaton(k + 1, [(0, 0, 0), (0, 0, 1), (0, 1, 0), *waiting], final=[k])


EXPLOSIVE = explosive(17)

small_automata = nfas(max_states=4, max_symbols=2).map(lambda nfa: nfa._arrays)


@given(small_automata, st.integers(1, 6))
def test_ambiguity_within_n_steps_is_that_of_counted_runs(a: Automaton, n: int) -> None:
    assert is_unambiguous(a, steps=n) == (not ambiguous(a, range(1, n + 1)))


@given(nfas(max_states=3, max_symbols=2).map(lambda nfa: nfa._arrays))
def test_ambiguity_at_any_length_shows_within_the_square_of_the_states(a: Automaton) -> None:
    # A pair of runs that parts and meets visits no pair of states twice: 1 + 9 steps are enough.
    assert is_unambiguous(a) == (not ambiguous(a, range(1, a.n_states**2 + 2)))


@given(small_automata, st.integers(1, 5))
def test_determinising_keeps_the_words_with_one_run_each(a: Automaton, n: int) -> None:
    words = set(accepting_runs(a, n))
    for result in (determinized(a), determinized(a, steps=n), disambiguated(a, steps=n)):
        runs = accepting_runs(result, n)
        assert set(runs) == words
        assert set(runs.values()) <= {1}
    assert determinized(a).is_deterministic


@given(small_automata, st.integers(1, 5))
def test_unrolling_and_trimming_keep_every_run(a: Automaton, n: int) -> None:
    runs = accepting_runs(a, n)
    assert accepting_runs(unrolled(a, n), n) == runs
    assert accepting_runs(trimmed(a), n) == runs
    assert accepting_runs(trimmed(a, steps=n), n) == runs
    assert accepting_runs(unrolled(a, n), n + 1) == Counter()


def test_trimming_drops_what_is_unreachable_or_cannot_finish_in_time() -> None:
    a = automaton(5, [(0, 1, 0), (1, 2, 0), (2, 3, 0), (0, 4, 1), (2, 2, 1)], final=[3])
    assert list(trimmed(a).states) == [1, 2, 3]
    assert trimmed(a, steps=2).n_states == 0


def test_an_unambiguous_automaton_is_not_determinised() -> None:
    # Nondeterministic, but only one branch can finish each word: "ends in a" read ahead.
    a = automaton(3, [(0, 0, 0), (0, 0, 1), (0, 1, 0)], final=[1])
    assert not a.is_deterministic
    kept = disambiguated(a, steps=5)
    assert not kept.is_deterministic
    assert set(accepting_runs(kept, 5).values()) == {1}


def test_any_start_is_determinised_too() -> None:
    a = automaton(2, [(0, 1, 0), (1, 0, 0)], first=[(0, 0), (1, 0)], final=[0, 1], start=START)
    assert not is_unambiguous(a)
    result = determinized(a)
    assert result.start is START
    assert accepting_runs(result, 3) == Counter({(0, 0, 0): 1})


def test_subsets_are_named_by_their_members_in_order() -> None:
    a = automaton(3, [(0, 0, 0), (0, 1, 0), (1, 2, 1)], final=[1, 2])
    result = determinized(a)
    assert result.start == (0,)
    assert list(result.states) == [(0, 1), (2,)]
    assert result.states[0:1] == [(0, 1)]
    assert list(pickle.loads(pickle.dumps(result)).states) == [(0, 1), (2,)]


def test_the_explosion_is_stopped_by_its_budget() -> None:
    with pytest.raises(StateLimitExceeded, match=r"18 states needs more than 1000 states") as error:
        determinized(EXPLOSIVE, state_limit=1000)
    assert "raise state_limit, shorten the words" in str(error.value)


def test_the_explosion_has_the_size_that_theory_says() -> None:
    assert determinized(explosive(10), state_limit=2**10).n_states == 2**10
    with pytest.raises(StateLimitExceeded):
        determinized(explosive(10), state_limit=2**10 - 1)


def test_words_of_one_length_avoid_the_explosion() -> None:
    result = determinized(EXPLOSIVE, steps=20, state_limit=1000)
    assert result.n_states == 20
    assert result.start == ((0, 0),)
    counts = np.ones(result.n_states, dtype=object) * result.final
    for _ in range(19):
        counts = np.array(
            [
                sum(counts[result.head[result.indptr[q] : result.indptr[q + 1]]])
                for q in range(result.n_states)
            ],
            dtype=object,
        )
    assert sum(counts[result.start_head]) == 2**19


def test_cells_are_budgeted_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(determinization, "_MEMBER_LIMIT", 100)
    with pytest.raises(StateLimitExceeded, match="more than 100 cells"):
        determinized(EXPLOSIVE)


@given(small_automata, st.integers(1, 4))
def test_a_simulating_state_accepts_all_that_the_other_does(a: Automaton, n: int) -> None:
    def endings(q: int, length: int) -> set[tuple[int, ...]]:
        if length == 0:
            return {()} if a.final[q] else set()
        out = range(a.indptr[q], a.indptr[q + 1])
        return {(int(a.label[e]), *rest) for e in out for rest in endings(a.head[e], length - 1)}

    for steps in (n, None):
        simulated = determinization._simulation(a, steps)
        for p, q in zip(*np.nonzero(simulated), strict=True):
            assert all(endings(p, k) <= endings(q, k) for k in range(n + 1))
        assert simulated.diagonal().all()


def textbook_subsets(a: Automaton) -> int:
    """How many subsets the plain construction reaches on a trimmed automaton."""
    edges = list(zip(a.tail.tolist(), a.label.tolist(), a.head.tolist(), strict=True))
    edges += [
        (-1, s, h) for s, h in zip(a.start_label.tolist(), a.start_head.tolist(), strict=True)
    ]
    seen: set[frozenset[int]] = set()
    waiting = [frozenset({-1})]
    while waiting:
        subset = waiting.pop()
        for symbol in {s for t, s, _ in edges if t in subset}:
            heads = frozenset(h for t, s, h in edges if t in subset and s == symbol)
            if heads not in seen:
                seen.add(heads)
                waiting.append(heads)
    return len(seen)


@given(small_automata)
def test_leaving_out_simulated_states_never_costs_a_state(a: Automaton) -> None:
    a = trimmed(a)
    assert determinized(a).n_states <= textbook_subsets(a)


def test_states_that_can_do_the_same_are_one_subset() -> None:
    # Every symbol is possible in every state, so where a run is does not matter.
    edges = [(i, j, s) for i in range(9) for s in (0, 1) for j in (0, (i + 1 + s) % 9)]
    a = automaton(9, edges, final=range(9))
    assert textbook_subsets(a) > 50
    assert determinized(a).n_states == 1


def test_large_automata_are_determinised_without_simulation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    a = automaton(3, [(0, 0, 0), (0, 1, 0), (0, 2, 0), (1, 1, 1), (2, 2, 1)], final=[1, 2])
    few = determinized(a)
    monkeypatch.setattr(determinization, "_SIMULATION_LIMIT", 0)
    plain = determinized(a)
    assert (few.n_states, plain.n_states) == (2, 2)
    assert list(few.states) == [(0, 1), (1,)]
    assert list(plain.states) == [(0, 1, 2), (1, 2)]


def test_small_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = determinized(explosive(7))
    monkeypatch.setattr(determinization, "_BLOCK", 16)
    blocked = determinized(explosive(7))
    assert np.array_equal(whole.head, blocked.head)
    assert np.array_equal(whole.label, blocked.label)
    assert is_unambiguous(explosive(7))


def test_undecided_ambiguity_is_an_error_alone_and_determinised_in_a_language(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(determinization, "_PAIR_LIMIT", 2)
    a = automaton(3, [(0, 0, 0), (0, 0, 1), (0, 1, 0), (1, 2, 0), (1, 2, 1)], final=[2])
    with pytest.raises(StateLimitExceeded, match="more than 2 pairs of states"):
        is_unambiguous(a)
    assert disambiguated(a, steps=4).is_deterministic


def test_unrolling_is_budgeted() -> None:
    with pytest.raises(StateLimitExceeded, match="needs more than 100000000 cells"):
        unrolled(EXPLOSIVE, 10**8)


@pytest.mark.parametrize("limit", [0, -1, 2.5, True, None])
def test_the_state_limit_is_a_whole_number_of_at_least_one(limit: int) -> None:
    with pytest.raises(InvalidArgument, match="state_limit must be a whole number of at least 1"):
        determinized(EXPLOSIVE, state_limit=limit)
