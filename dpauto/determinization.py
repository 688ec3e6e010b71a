"""Ambiguity and the subset construction, on arrays.

Counting paths counts words only if every word has at most one accepting run. The functions here
decide that by the self-product, and determinise where it fails. Both work on what n steps can
reach and finish, under a budget: subsets may be exponentially many. Often they are few once a state
that another member of its subset simulates is left out.

References
----------
.. [1] Milner, "An algebraic definition of simulation between programs", IJCAI 1971.
.. [2] Glabbeek, Ploeger, "Five determinisation algorithms", CIAA 2008: subsets up to simulation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from dpauto.arguments import whole_number
from dpauto.arrays import START, Automaton, BoolArray, ragged, sort_edges
from dpauto.errors import StateLimitExceeded
from dpauto.words import IntArray, Symbol

__all__ = [
    "STATE_LIMIT",
    "determinized",
    "disambiguated",
    "is_unambiguous",
    "trimmed",
    "unrolled",
]

#: Most states that a determinised automaton may have unless the caller says otherwise.
STATE_LIMIT = 100_000
# Pairs of the self-product and members of all subsets together: some hundred megabytes each.
_PAIR_LIMIT = 5_000_000
_MEMBER_LIMIT = 25_000_000
# Edges expanded at once by the subset construction.
_BLOCK = 1 << 20
# States times edges up to which simulations are looked for.
_SIMULATION_LIMIT = 30_000_000


def trimmed(automaton: Automaton, *, steps: int | None = None) -> Automaton:
    """Return the automaton on the states that lie on an accepting path.

    Parameters
    ----------
    automaton : Automaton
    steps : int, optional
        Keep only states on accepting paths of at most that many steps; None sets no limit.

    Returns
    -------
    Automaton
        The same words (of at most `steps` symbols), with states in breadth-first order.
    """
    most = automaton.n_states if steps is None else steps
    order, level = automaton.forward_levels(most)
    # A few steps reach little of a large network, so look back over that part only.
    nearby = automaton.restricted(order)
    remaining = nearby.backward_levels(np.flatnonzero(nearby.final), most)
    useful = remaining >= 0
    if steps is not None:
        useful &= level[order] + remaining <= steps
    return nearby.restricted(np.flatnonzero(useful))


def is_unambiguous(automaton: Automaton, *, steps: int | None = None) -> bool:
    """Return whether every word has at most one accepting run.

    Two runs of one word part in some step; the word is ambiguous if both can end in accepting
    states at the same time, in particular if they meet again. The test searches the product of the
    automaton with itself for such a pair of states.

    Parameters
    ----------
    automaton : Automaton
    steps : int, optional
        Look only at words of at most that many symbols.

    Returns
    -------
    bool
        With `steps`, True is a proof for all words of at most `steps` symbols; False means that one
        of those has two accepting runs, maybe a shorter one than `steps`.

    Raises
    ------
    StateLimitExceeded
        If the product has more than five million pairs and no ambiguity has shown by then.
    """
    automaton = trimmed(automaton, steps=steps)
    if automaton.is_deterministic:
        return True
    product = _SelfProduct(automaton)
    final = np.append(automaton.final, False)
    remaining = automaton.backward_levels(np.flatnonzero(automaton.final), automaton.n_states)
    seen: set[int] = set()
    frontier = product.start
    step = 0
    while len(frontier) and (steps is None or step < steps):
        step += 1
        fresh: list[int] = []
        for left, right, parted in product.successors(frontier):
            met = left[(left == right) & parted]
            if met.size and (steps is None or bool((step + remaining[met] <= steps).any())):
                return False
            if bool((final[left] & final[right] & (left != right)).any()):
                return False
            codes = np.unique(product.code(left, right)).tolist()
            fresh.extend(code for code in codes if code not in seen)
            seen.update(codes)
            if len(seen) > _PAIR_LIMIT:
                raise StateLimitExceeded(
                    f"deciding ambiguity for {automaton.n_states} states needs more than"
                    f" {_PAIR_LIMIT} pairs of states: give a smaller or deterministic automaton"
                )
        frontier = np.array(fresh, dtype=np.int64)
    return True


class _SelfProduct:
    """The product of an automaton with itself; a pair of states is one number, smaller first."""

    def __init__(self, automaton: Automaton) -> None:
        self.size = automaton.n_states + 1
        self.symbols = len(automaton.alphabet)
        self.indptr, self.head, self.label = _with_start(automaton)
        # Edges are sorted by tail and label, so this key is sorted and finds "from q by symbol s".
        tail = np.repeat(np.arange(self.size), np.diff(self.indptr))
        self.key = tail * self.symbols + self.label
        self.start = self.code(*np.full((2, 1), self.size - 1))

    def code(self, left: IntArray, right: IntArray) -> IntArray:
        """Return the numbers of unordered pairs."""
        return np.minimum(left, right) * self.size + np.maximum(left, right)

    def successors(self, pairs: IntArray) -> Iterator[tuple[IntArray, IntArray, BoolArray]]:
        """Yield (left, right, parted): heads of edges of one label, and whether tails differ."""
        left, right = np.divmod(pairs, self.size)
        degree = self.indptr[left + 1] - self.indptr[left]
        # In blocks of about a million edges, so that memory stays bounded.
        block = np.cumsum(degree) // _BLOCK
        for chosen in np.split(np.arange(len(pairs)), np.flatnonzero(np.diff(block)) + 1):
            one = ragged(self.indptr[left[chosen]], self.indptr[left[chosen] + 1])
            pair = np.repeat(chosen, degree[chosen])
            wanted = right[pair] * self.symbols + self.label[one]
            low = np.searchsorted(self.key, wanted)
            high = np.searchsorted(self.key, wanted, side="right")
            one, pair = np.repeat(one, high - low), np.repeat(pair, high - low)
            other = ragged(low, high)
            yield self.head[one], self.head[other], left[pair] != right[pair]


def determinized(
    automaton: Automaton, *, steps: int | None = None, state_limit: int = STATE_LIMIT
) -> Automaton:
    """Return a deterministic automaton of the same words, by the subset construction.

    Parameters
    ----------
    automaton : Automaton
    steps : int, optional
        Promise only the words of exactly `steps` symbols, and build only what they need. If the
        subsets are still too many, the automaton is unrolled by position first: a state that can
        no longer finish on time then leaves its subset, which often makes them few.
    state_limit : int, optional
        Most states that the result may have.

    Returns
    -------
    Automaton
        Its states are named by tuples of the old names, in breadth-first order of the old states;
        of ``(position, name)`` pairs if it had to be unrolled. A member is left out if another one
        simulates it, for then the other accepts all that it does; of equals the first stays. An
        automaton that is deterministic already comes back trimmed, with its own names.

    Raises
    ------
    InvalidArgument
        If `state_limit` is not a whole number of at least 1.
    StateLimitExceeded
        If more than `state_limit` subsets, or too large ones, are reached.
    """
    state_limit = whole_number(state_limit, name="state_limit")
    automaton = trimmed(automaton, steps=steps)
    if automaton.is_deterministic:
        return automaton
    budget = _Budget(automaton, steps, state_limit)
    try:
        return _subset_automaton(automaton, steps, budget)
    except StateLimitExceeded:
        if steps is None:
            raise
    return _subset_automaton(unrolled(automaton, steps), steps, budget)


def disambiguated(automaton: Automaton, *, steps: int, state_limit: int = STATE_LIMIT) -> Automaton:
    """Return an automaton of the same words of `steps` symbols with at most one run for each.

    It is the trimmed automaton itself if that is unambiguous, else `determinized`.

    Raises
    ------
    StateLimitExceeded
        If determinising is needed and exceeds its budget.
    """
    automaton = trimmed(automaton, steps=steps)
    try:
        if is_unambiguous(automaton, steps=steps):
            return automaton
    except StateLimitExceeded:
        # Undecided is treated as ambiguous: the subset construction is right in either case.
        pass
    return determinized(automaton, steps=steps, state_limit=state_limit)


def unrolled(automaton: Automaton, steps: int) -> Automaton:
    """Return the acyclic automaton of the words of exactly `steps` symbols.

    Its states are pairs (i, q), "q after i symbols", for the q that i steps can reach and that can
    finish in exactly the steps that remain.

    Raises
    ------
    StateLimitExceeded
        If there are more than a hundred million candidate pairs.
    """
    if automaton.n_states * steps > 100_000_000:
        raise StateLimitExceeded(
            f"unrolling {automaton.n_states} states over {steps} steps needs more than 100000000"
            " cells: shorten the words or give an unambiguous automaton"
        )
    viable = _viable(automaton, steps)
    layers = [np.flatnonzero(row) for row in viable]
    offsets = np.concatenate(([0], np.cumsum([len(layer) for layer in layers])))
    tails, heads, labels = [], [], []
    for i in range(steps - 1):
        edges = automaton.out_edges(layers[i])
        edges = edges[viable[i + 1][automaton.head[edges]]]
        tails.append(offsets[i] + np.searchsorted(layers[i], automaton.tail[edges]))
        heads.append(offsets[i + 1] + np.searchsorted(layers[i + 1], automaton.head[edges]))
        labels.append(automaton.label[edges])
    first = viable[0][automaton.start_head]
    number = np.concatenate(layers)
    position = np.repeat(np.arange(1, steps + 1), np.diff(offsets))
    final = position == steps
    empty = [np.empty(0, dtype=np.int64)]
    return Automaton.of(
        alphabet=automaton.alphabet,
        states=_Positions(automaton.states, position, number),
        start=START if automaton.start is START else (0, automaton.start),
        start_edges=(
            np.searchsorted(layers[0], automaton.start_head[first]),
            automaton.start_label[first],
        ),
        edges=(
            np.concatenate(tails or empty),
            np.concatenate(heads or empty),
            np.concatenate(labels or empty),
        ),
        final=final,
    )


def _viable(automaton: Automaton, steps: int) -> BoolArray:
    """Return which states (columns) lie on an accepting path after 1, …, `steps` symbols (rows)."""
    viable = np.zeros((steps, automaton.n_states), dtype=bool)
    viable[0, automaton.start_head] = True
    for i in range(1, steps):
        viable[i, automaton.head[viable[i - 1, automaton.tail]]] = True
    viable[-1] &= automaton.final
    for i in range(steps - 2, -1, -1):
        finishing = np.zeros(automaton.n_states, dtype=bool)
        finishing[automaton.tail[viable[i + 1, automaton.head]]] = True
        viable[i] &= finishing
    return viable


def _with_start(automaton: Automaton) -> tuple[IntArray, IntArray, IntArray]:
    """Return (indptr, head, label) with the start as one more state, the last."""
    return (
        np.append(automaton.indptr, automaton.n_edges + len(automaton.start_head)),
        np.concatenate((automaton.head, automaton.start_head)),
        np.concatenate((automaton.label, automaton.start_label)),
    )


def _subset_automaton(automaton: Automaton, steps: int | None, budget: _Budget) -> Automaton:
    """Run the subset construction breadth first from the start, at most `steps` levels deep."""
    subsets = _Subsets(automaton.states)
    reduced = _reduction(automaton, steps)
    start = automaton.n_states
    indptr, head, label = _with_start(automaton)
    edges: list[tuple[int, int, int]] = []
    frontier = [(-1, np.array([start]))]
    step = 0
    while frontier and (steps is None or step < steps):
        step += 1
        fresh: list[tuple[int, IntArray]] = []
        for block in _blocks(frontier, indptr):
            for tail, symbol, heads in _successors(block, indptr, head, label):
                members = reduced(heads)
                number, is_new = subsets.number(members)
                if is_new:
                    budget.check(subsets)
                    fresh.append((number, members))
                edges.append((tail, number, symbol))
        frontier = fresh
    table = np.array(edges, dtype=np.int64).reshape(-1, 3)
    first = table[:, 0] < 0
    result = Automaton.of(
        alphabet=automaton.alphabet,
        states=subsets,
        start=START if automaton.start is START else (automaton.start,),
        start_edges=(table[first, 1], table[first, 2]),
        edges=(table[~first, 0], table[~first, 1], table[~first, 2]),
        final=subsets.touching(automaton.final),
    )
    return trimmed(result, steps=steps)


def _reduction(automaton: Automaton, steps: int | None) -> Callable[[IntArray], IntArray]:
    """Return what leaves out of a subset the states that another of its states simulates.

    Of states that simulate each other the first stands for all, so that subsets which differ only
    in them become one.
    """
    if automaton.n_states * max(automaton.n_states, automaton.n_edges) > _SIMULATION_LIMIT:
        return lambda members: members
    simulated = _simulation(automaton, steps)
    first = (simulated & simulated.T).argmax(axis=1)
    below = simulated & ~simulated.T
    if not below.any() and bool((first == np.arange(len(first))).all()):
        return lambda members: members

    def reduced(members: IntArray) -> IntArray:
        members = np.unique(first[members])
        return members[~below[np.ix_(members, members)].any(axis=1)]

    return reduced


def _simulation(automaton: Automaton, steps: int | None) -> BoolArray:
    """Return for which pairs [p, q] of states q simulates p, shape (N, N).

    That is: q is final if p is, and for every edge of p has one of the same label whose head
    simulates the other's. Then q accepts every word that p accepts. For words of at most `steps`
    symbols that many rounds of refinement are enough; else they go on until nothing changes.
    """
    size = automaton.n_states
    simulated: BoolArray = ~automaton.final[:, None] | automaton.final
    groups = _edges_by_label_and_tail(automaton)
    rounds = 0
    changed = True
    while changed and (steps is None or rounds < steps):
        rounds += 1
        finer = simulated.copy()
        for tails, bounds, heads in groups:
            # matched[p', q]: some edge of q with this label leads to a state that simulates p'.
            matched = np.zeros((size, size), dtype=bool)
            matched[:, tails] = np.logical_or.reduceat(simulated[:, heads], bounds, axis=1)
            finer[tails] &= np.logical_and.reduceat(matched[heads], bounds, axis=0)
        changed = not np.array_equal(finer, simulated)
        simulated = finer
    return simulated


def _edges_by_label_and_tail(automaton: Automaton) -> list[tuple[IntArray, IntArray, IntArray]]:
    """Return (distinct tails, where each one's edges begin, heads) for every label that occurs."""
    pointer, edges = automaton.by_label
    groups = []
    for low, high in pairwise(pointer.tolist()):
        if low < high:
            chosen = edges[low:high]
            tails, bounds = np.unique(automaton.tail[chosen], return_index=True)
            groups.append((tails, bounds, automaton.head[chosen]))
    return groups


class _Budget:
    """The limits of a subset construction, and the sentence for whoever exceeds them."""

    def __init__(self, automaton: Automaton, steps: int | None, state_limit: int) -> None:
        self.states = state_limit
        within = "" if steps is None else f" within {steps} steps"
        self._cause = (
            f"determinising an automaton of {automaton.n_states} states{within} needs more than"
        )

    def check(self, subsets: _Subsets) -> None:
        """Say whether to go on.

        Raises
        ------
        StateLimitExceeded
            If there are too many subsets or too large ones.
        """
        if len(subsets) > self.states:
            raise StateLimitExceeded(
                f"{self._cause} {self.states} states: raise state_limit, shorten the words, or"
                " give an unambiguous automaton, which needs no determinising"
            )
        if subsets.size > _MEMBER_LIMIT:
            raise StateLimitExceeded(
                f"{self._cause} {_MEMBER_LIMIT} cells: shorten the words, or give an unambiguous"
                " automaton, which needs no determinising"
            )


def _blocks(
    frontier: list[tuple[int, IntArray]], indptr: IntArray
) -> list[list[tuple[int, IntArray]]]:
    """Split the frontier into blocks of about a million edges, so that memory stays bounded."""
    blocks: list[list[tuple[int, IntArray]]] = [[]]
    room = _BLOCK
    for number, members in frontier:
        if room <= 0:
            blocks.append([])
            room = _BLOCK
        blocks[-1].append((number, members))
        room -= int((indptr[members + 1] - indptr[members]).sum())
    return blocks


def _successors(
    block: list[tuple[int, IntArray]], indptr: IntArray, head: IntArray, label: IntArray
) -> list[tuple[int, int, IntArray]]:
    """Return (subset, symbol, successor subset's sorted members) for every subset of a block."""
    owner = np.repeat(np.arange(len(block)), [len(members) for _, members in block])
    state = np.concatenate([members for _, members in block])
    edges = ragged(indptr[state], indptr[state + 1])
    owner = np.repeat(owner, indptr[state + 1] - indptr[state])
    pointer, heads, labels = sort_edges(owner, head[edges], label[edges], len(block))
    owner = np.repeat(np.arange(len(block)), np.diff(pointer))
    new = np.flatnonzero((np.diff(owner) != 0) | (np.diff(labels) != 0)) + 1
    bounds = [0, *new.tolist(), len(heads)] if len(heads) else []
    return [
        (block[int(owner[low])][0], int(labels[low]), heads[low:high])
        for low, high in pairwise(bounds)
    ]


class _Subsets(Sequence[tuple[Symbol, ...]]):
    """The subsets met so far, numbered from 0; read as a sequence it names them."""

    __slots__ = ("_members", "_names", "_numbers", "size")

    def __init__(self, names: Sequence[Symbol]) -> None:
        self._names = names
        self._numbers: dict[bytes, int] = {}
        self._members: list[IntArray] = []
        self.size = 0

    def number(self, members: IntArray) -> tuple[int, bool]:
        """Return the subset's number and whether it is new."""
        known = len(self._members)
        number = self._numbers.setdefault(members.tobytes(), known)
        if number == known:
            # A copy, not a view that would keep its whole block alive.
            self._members.append(members.copy())
            self.size += len(members)
        return number, number == known

    def touching(self, states: BoolArray) -> BoolArray:
        """Return which subsets hold one of `states`."""
        return np.array([bool(states[m].any()) for m in self._members], dtype=bool)

    def __len__(self) -> int:
        return len(self._members)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        return tuple(self._names[q] for q in self._members[index].tolist())


class _Positions(Sequence[tuple[int, Symbol]]):
    """Names (position, state) of an unrolled automaton, made when asked for."""

    __slots__ = ("_names", "_position", "_state")

    def __init__(self, names: Sequence[Symbol], position: IntArray, state: IntArray) -> None:
        self._names, self._position, self._state = names, position, state

    def __len__(self) -> int:
        return len(self._position)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        return int(self._position[index]), self._names[int(self._state[index])]
