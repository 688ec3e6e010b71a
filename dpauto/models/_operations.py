"""Runs of an NFA, and the automata made from automata: determinised, trimmed, multiplied."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from dpauto.arguments import whole_number
from dpauto.determinization import determinized
from dpauto.errors import InvalidModel, StateLimitExceeded
from dpauto.words import Alphabet, Symbol, as_word

if TYPE_CHECKING:
    from dpauto.models.nfa import NFA

__all__ = ["determinize", "layers", "product", "runs", "trim"]


def layers(nfa: NFA, w: Iterable[Symbol]) -> list[set[int]]:
    """Return the states that each prefix of `w` can reach; nothing if `w` has no run."""
    reached = [{nfa._initial}]
    for symbol in as_word(w):
        number = nfa.alphabet.number(symbol)
        if number is None:
            return []
        heads = {p for q in reached[-1] for p in nfa._moves[q].get(number, ())}
        if not heads:
            return []
        reached.append(heads)
    return reached


def runs(nfa: NFA, w: Iterable[Symbol], *, accepting: bool) -> Iterator[tuple[Any, ...]]:
    """Yield the runs of `w`; see `NFA.runs`."""
    word = as_word(w)
    alive = layers(nfa, word)
    if not alive:
        return
    symbols = nfa.alphabet.encode(word).tolist()
    if accepting:
        alive[-1] = {q for q in alive[-1] if nfa._final[q]}
    # Keep the states that can still read the rest: then no branch of the search is in vain.
    for i in range(len(symbols) - 1, -1, -1):
        ahead = alive[i + 1]
        alive[i] = {q for q in alive[i] if not ahead.isdisjoint(nfa._moves[q].get(symbols[i], ()))}
    # A stack of iterators, since words may be longer than Python's recursion allows.
    run: list[int] = []
    stack = [iter(sorted(alive[0]))]
    while stack:
        del run[len(stack) - 1 :]
        state = next(stack[-1], None)
        if state is None:
            stack.pop()
            continue
        run.append(state)
        if len(run) == len(alive):
            yield tuple(nfa._states[q] for q in run)
        else:
            heads = nfa._moves[state][symbols[len(run) - 1]]
            stack.append(iter([q for q in heads if q in alive[len(run)]]))


def determinize(nfa: NFA, length: int | None, state_limit: int) -> NFA:
    """Return a deterministic automaton; see `NFA.determinize`."""
    result = determinized(nfa._arrays, steps=length, state_limit=state_limit)
    names: list[Symbol] = list(result.states)
    moves: dict[int, set[tuple[int, int]]] = {q: set() for q in range(len(names))}
    for tail, head, label in zip(
        result.tail.tolist(), result.head.tolist(), result.label.tolist(), strict=True
    ):
        moves[tail].add((head, label))
    first = set(zip(result.start_head.tolist(), result.start_label.tolist(), strict=True))
    final = set(np.flatnonzero(result.final).tolist())
    accepts_empty = bool(nfa._final[nfa._initial])
    is_subset = result.start != nfa.initial
    initial = len(names)
    for q, name in enumerate(names):
        # The start is a state like any other if it has its name, or does what that subset does.
        same = is_subset and moves[q] == first and (q in final) == accepts_empty
        if name == result.start or same:
            initial = q
            break
    if initial == len(names):
        names.append(result.start)
    moves[initial] = moves.get(initial, set()) | first
    if accepts_empty:
        final.add(initial)
    edges = [(tail, head, label) for tail, out in moves.items() for head, label in out]
    return nfa._of_edges(names, nfa.alphabet, edges, initial, final)


def trim(nfa: NFA) -> NFA:
    """Return the automaton without useless states; see `NFA.trim`."""
    arrays, size = nfa._arrays, len(nfa._states)
    order, _ = arrays.forward_levels(size)
    finishing = arrays.backward_levels(np.flatnonzero(nfa._final), size)
    kept = np.zeros(size, dtype=bool)
    kept[order] = finishing[order] >= 0
    kept[nfa._initial] = True
    number = np.cumsum(kept) - 1
    edge = kept[arrays.tail] & kept[arrays.head]
    return nfa._of_edges(
        [nfa._states[q] for q in np.flatnonzero(kept).tolist()],
        nfa.alphabet,
        zip(
            number[arrays.tail[edge]].tolist(),
            number[arrays.head[edge]].tolist(),
            arrays.label[edge].tolist(),
            strict=True,
        ),
        int(number[nfa._initial]),
        number[kept & nfa._final].tolist(),
    )


def product(left: NFA, right: NFA, state_limit: int) -> NFA:
    """Return the automaton of the words that both accept; see `NFA.intersection`.

    Raises
    ------
    InvalidArgument
        If `state_limit` is not a whole number of at least 1.
    InvalidModel
        If the alphabets differ.
    StateLimitExceeded
        If more than `state_limit` pairs are reached.
    """
    state_limit = whole_number(state_limit, name="state_limit")
    symbol = _matching(left.alphabet, right.alphabet)
    start = (left._initial, right._initial)
    number = {start: 0}
    queue = deque([start])
    edges: list[tuple[int, int, int]] = []
    while queue:
        p, q = pair = queue.popleft()
        theirs = right._moves[q]
        for s, heads in left._moves[p].items():
            for head in [(a, b) for a in heads for b in theirs.get(symbol[s], ())]:
                if head not in number:
                    number[head] = len(number)
                    queue.append(head)
                edges.append((number[pair], number[head], s))
        if len(number) > state_limit:
            raise StateLimitExceeded(
                f"the product of {len(left._states)} and {len(right._states)} states reaches more"
                f" than {state_limit} pairs: trim both, or raise state_limit"
            )
    return trim(
        left._of_edges(
            [(left._states[p], right._states[q]) for p, q in number],
            left.alphabet,
            edges,
            0,
            [k for (p, q), k in number.items() if left._final[p] and right._final[q]],
        )
    )


def _matching(ours: Alphabet, theirs: Alphabet) -> list[int]:
    """Return the other alphabet's number of each of our symbols."""
    numbers = [theirs.number(s) for s in ours]
    if None in numbers or len(ours) != len(theirs):
        raise InvalidModel(
            f"other: its alphabet of {len(theirs)} symbols is not this automaton's of {len(ours)};"
            " build both with one alphabet, as in NFA.from_regex(…, alphabet=…)"
        )
    return [n for n in numbers if n is not None]
