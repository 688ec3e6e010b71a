"""Best-first refinement: bounds that know some of the symbols around a block.

A context is a block, the symbols of the word next to it on either side, and boxes at the ends of
this window. Its bound is a linear-fractional maximum over the boxes (Lemma 8). Adding a symbol
splits a context into several; the largest bound of all contexts that remain bounds the chain.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from dpauto.calibration.blocks import Blocks
from dpauto.calibration.boxes import Boxes
from dpauto.calibration.chain import Chain, Neighbours, Side
from dpauto.calibration.rounding import Discount, FloatArray, largest, up
from dpauto.words import IntArray

__all__ = ["Candidates", "Context", "Refinement"]

#: Contexts that are split at a time, and windows whose matrices are kept.
BATCH = 64
#: One batch in so many begins with a dive to whole words.
DIVE = 32
DEEPEST_DIVE = 200
KEPT = 3000


class Context(NamedTuple):
    """A block with the symbols next to it.

    Attributes
    ----------
    a, t : tuple of int
        States of the word and its neighbour in the block.
    left, right : tuple of int
        States of the word around the block, outwards from it.
    before, after : int
        Which boxes hold beyond the window.
    """

    a: tuple[int, ...]
    t: tuple[int, ...]
    left: tuple[int, ...]
    right: tuple[int, ...]
    before: int
    after: int

    def beyond(self, which: int) -> int:
        """Return `before` (0) or `after` (1)."""
        return self.after if which else self.before


class Candidates(NamedTuple):
    """Blocks of one kind at one position, with their first bounds on Z_neighbour / Z_word."""

    blocks: Blocks
    before: int
    after: int
    ratios: FloatArray


class _Half:
    """The windows on one side of a block.

    For a window, outwards from the block, entry (k, x) of its matrix is the weight that words at
    class k beyond the window hand to state x, the one next to the block's far end.
    """

    def __init__(self, side: Side, steps: Neighbours, discount: Discount, longest: int) -> None:
        self.side, self.discount, self.longest = side, discount, longest
        N = steps.n_rows
        #: From a state to the next one towards the block.
        self.steps = np.zeros((N, N))
        self.steps[steps.rows, steps.members] = 1.0
        self.known: dict[tuple[int, ...], FloatArray] = {(): np.eye(N)}
        self.grouped: dict[tuple[int, ...], FloatArray] = {}

    def _states(self, window: tuple[int, ...]) -> FloatArray:
        """The window's matrix between states."""
        length = len(window)
        while window[:length] not in self.known:
            length -= 1
        found = self.known[window[:length]]
        for k in range(length, len(window)):
            found = self.steps @ found
            weight = np.full(len(found), self.discount.z)
            weight[window[k]] = 1.0
            found *= weight[:, None]
            self.known[window[: k + 1]] = found
        return found

    def window(self, window: tuple[int, ...]) -> FloatArray:
        """Return z**j times the matrix taken j steps into the block, j = 0 …; shape (m, C, N)."""
        found = self.grouped.get(window)
        if found is None:
            if len(self.grouped) > KEPT:
                self.grouped.clear()
                self.known = {(): self.known[()]}
            states = self._states(window)
            grouped = np.zeros((self.side.n_classes, states.shape[1]))
            np.add.at(grouped, self.side.of_state, states)
            powers = [grouped]
            for _ in range(1, self.longest):
                powers.append(self.discount.z * (powers[-1] @ self.steps))
            found = self.grouped[window] = np.stack(powers)
        return found


class Refinement:
    """The contexts of one chain at one exponent.

    Parameters
    ----------
    chain : Chain
    discount : Discount
    prefix, suffix : sequence of Boxes
        By number of symbols beyond the window; with `pooled`, entry 1 stands for one or more.
    longest : int
        b.
    pooled : bool
    """

    def __init__(
        self,
        chain: Chain,
        discount: Discount,
        prefix: Sequence[Boxes],
        suffix: Sequence[Boxes],
        *,
        longest: int,
        pooled: bool,
    ) -> None:
        self.chain, self.discount, self.pooled = chain, discount, pooled
        self.boxes = (prefix, suffix)
        self.sides = (chain.prefix, chain.suffix)
        self.halves = (
            _Half(chain.prefix, chain.successors, discount, longest),
            _Half(chain.suffix, chain.predecessors, discount, longest),
        )
        self.alive = chain.ever_alive
        power = np.eye(chain.n_states)
        #: ways[r][x, y]: number of ways from x to y in r steps.
        self.ways = [power]
        for _ in range(1, longest):
            power = power @ self.halves[0].steps
            self.ways.append(power)
        self.heaps: list[list[tuple[float, int, bool, Context]]] = [[] for _ in range(longest)]
        self.waiting: list[list[tuple[float, int, int]]] = [[] for _ in range(longest)]
        self.candidates: list[list[Candidates]] = [[] for _ in range(longest)]
        self.orders: list[list[IntArray]] = [[] for _ in range(longest)]
        #: The largest bound of whole words, which is their true ratio.
        self.finished = [0.0] * longest
        self.evaluated = 0
        self.batches = [0] * longest

    def add(self, candidates: Candidates) -> None:
        """Enter blocks with their first bounds."""
        m = candidates.blocks.m
        order = np.argsort(-candidates.ratios, kind="stable")
        order = order[candidates.ratios[order] > 0]
        if len(order):
            number = len(self.candidates[m - 1])
            self.candidates[m - 1].append(candidates)
            self.orders[m - 1].append(order)
            top = float(candidates.ratios[order[0]])
            heapq.heappush(self.waiting[m - 1], (-top, number, 0))

    def ratio(self, m: int) -> float:
        """Return the bound on Z_neighbour / Z_word over all blocks of m positions; 0 if none."""
        tops = [self.finished[m - 1]]
        tops += [-heap[0][0] for heap in (self.heaps[m - 1], self.waiting[m - 1]) if heap]
        return max(tops)

    def is_final(self, m: int) -> bool:
        """Return whether the bound cannot be improved."""
        return self.finished[m - 1] >= self.ratio(m)

    def refine(self, m: int) -> None:
        """Split the contexts of m positions with the largest bounds."""
        if self.batches[m - 1] % DIVE == 0 and self.chain.length <= DEEPEST_DIVE:
            self._dive(m)
        self.batches[m - 1] += 1
        fresh: list[tuple[float, Context]] = []
        for _ in range(BATCH):
            if not self.heaps[m - 1] and not self.waiting[m - 1]:
                break
            if self.ratio(m) <= self.finished[m - 1]:
                break
            fresh += self._split(m)
        if fresh:
            self._evaluate(m, fresh)

    def _dive(self, m: int) -> None:
        """Split the worst context down to whole words, for a true ratio.

        If that is too large already, no number of contexts will help.
        """
        following = self._split(m)
        while following:
            depth = len(self.heaps[m - 1])
            scored = self._evaluate(m, following)
            if len(self.heaps[m - 1]) == depth:
                return
            bound, context = max(scored, key=itemgetter(0))
            if context.before == 0 and context.after == 0:
                return
            entry = next(e for e in self.heaps[m - 1] if e[3] is context)
            self.heaps[m - 1].remove(entry)
            heapq.heapify(self.heaps[m - 1])
            following = self._children(bound, entry[2], context)

    def _split(self, m: int) -> list[tuple[float, Context]]:
        heap, waiting = self.heaps[m - 1], self.waiting[m - 1]
        if not heap or (waiting and waiting[0][0] < heap[0][0]):
            return [self._next_candidate(m)]
        bound, _, on_left, context = heapq.heappop(heap)
        return self._children(-bound, on_left, context)

    def _children(
        self, bound: float, on_left: bool, context: Context
    ) -> list[tuple[float, Context]]:
        which = 0 if (on_left and context.before > 0) or context.after == 0 else 1
        return [(bound, child) for child in self._extended(context, which)]

    def _next_candidate(self, m: int) -> tuple[float, Context]:
        bound, number, rank = heapq.heappop(self.waiting[m - 1])
        found, order = self.candidates[m - 1][number], self.orders[m - 1][number]
        if rank + 1 < len(order):
            following = float(found.ratios[order[rank + 1]])
            heapq.heappush(self.waiting[m - 1], (-following, number, rank + 1))
        row = order[rank]
        walks = found.blocks.walks
        a, t = walks[found.blocks.a[row]], walks[found.blocks.t[row]]
        context = Context(tuple(a.tolist()), tuple(t.tolist()), (), (), found.before, found.after)
        return -bound, context

    def _extended(self, context: Context, which: int) -> Iterable[Context]:
        """All contexts with one more symbol on the left (0) or on the right (1)."""
        side = self.sides[which]
        window, beyond = (context.left, context.right)[which], context.beyond(which)
        inner = window[-1] if window else context.a[0 if which == 0 else -1]
        position = beyond if which == 0 else self.chain.length + 1 - beyond
        alive = self.alive if self.pooled else self.chain.alive[position]
        for state in side.members.row(int(side.of_state[inner])).tolist():
            if not alive[state] or not (window or self._joins(state, context, which)):
                continue
            for rest in (1, 0) if self.pooled else (beyond - 1,):
                if not self.boxes[which][rest].valid[side.of_state[state]]:
                    continue
                wider = (*window, state)
                if which == 0:
                    child = context._replace(left=wider, before=rest)
                else:
                    child = context._replace(right=wider, after=rest)
                if not self._has_wrong_length(child):
                    yield child

    def _joins(self, state: int, context: Context, which: int) -> bool:
        """Whether the neighbour's word can go through the first symbol of a window too."""
        side = self.sides[which]
        end = context.t[0 if which == 0 else -1]
        return state in side.members.row(int(side.of_state[end]))

    def _has_wrong_length(self, context: Context) -> bool:
        """Whether no word of the chain's length fits, where boxes stand for several lengths."""
        if not self.pooled:
            return False
        known = len(context.a) + len(context.left) + len(context.right)
        beyond = context.before + context.after
        return known + beyond > self.chain.length or (beyond == 0 and known != self.chain.length)

    def _evaluate(self, m: int, fresh: list[tuple[float, Context]]) -> list[tuple[float, Context]]:
        """Bound contexts and keep them; each bound is also at most that of its parent."""
        contexts = [context for _, context in fresh]
        bounds = np.minimum(self._bounds(m, contexts), [bound for bound, _ in fresh])
        self.evaluated += len(fresh)
        for bound, context in zip(bounds.tolist(), contexts, strict=True):
            if context.before == 0 and context.after == 0:
                self.finished[m - 1] = max(self.finished[m - 1], bound)
            else:
                on_left = len(context.left) <= len(context.right)
                entry = (-bound, self.evaluated + len(self.heaps[m - 1]), on_left, context)
                heapq.heappush(self.heaps[m - 1], entry)
        return list(zip(bounds.tolist(), contexts, strict=True))

    def _bounds(self, m: int, contexts: list[Context]) -> FloatArray:
        """Return the linear-fractional maximum of every context."""
        left = np.stack([self.halves[0].window(c.left) for c in contexts])
        right = np.stack([self.halves[1].window(c.right) for c in contexts])
        free = self.discount.z * np.matmul(left[:, 0], right[:, m - 1].transpose(0, 2, 1))
        n = free + self._matches(left, right, np.array([c.t for c in contexts]))
        d = free + self._matches(left, right, np.array([c.a for c in contexts]))
        lo, hi = self._ends(contexts)
        size = len(contexts), -1
        found = largest(n.reshape(size), d.reshape(size), lo.reshape(size), hi.reshape(size))
        longest = max(len(c.left) + len(c.right) for c in contexts)
        return up(found, 2 * (longest + 2 * m + 4) * (self.chain.n_states + 8) + 16 * m * m)

    def _matches(self, left: FloatArray, right: FloatArray, walks: IntArray) -> FloatArray:
        """What matches with the walks add, between the classes at both ends of the windows."""
        rest, m = self.discount.rest, walks.shape[1]
        row = np.arange(len(walks))
        onwards: list[FloatArray] = [np.empty(0)] * m
        for j in reversed(range(m)):
            value = right[row, m - 1 - j, :, walks[:, j]]
            for k in range(j + 1, m):
                ways = self.ways[k - j][walks[:, j], walks[:, k]]
                value = value + (rest * self.discount.power(k - j - 1) * ways)[:, None] * onwards[k]
            onwards[j] = value
        total = np.zeros((len(walks), left.shape[2], right.shape[2]))
        for j in range(m):
            total += left[row, j, :, walks[:, j]][:, :, None] * (rest * onwards[j])[:, None, :]
        return total

    def _ends(self, contexts: list[Context]) -> tuple[FloatArray, FloatArray]:
        """Products of the boxes at both ends of every window, shape (contexts, C, D)."""
        found = []
        for which in (0, 1):
            side, boxes = self.sides[which], self.boxes[which]
            low, high = [], []
            for c in contexts:
                window = (c.left, c.right)[which]
                outer = window[-1] if window else c.a[0 if which == 0 else -1]
                box = boxes[c.beyond(which)]
                row = slice(*(side.of_state[outer] * side.n_classes + (0, side.n_classes)))
                low.append(box.lows[row])
                high.append(box.highs[row])
            found.append((np.stack(low), np.stack(high)))
        (left_lo, left_hi), (right_lo, right_hi) = found
        lo = left_lo[:, :, None] * right_lo[:, None, :]
        return lo, left_hi[:, :, None] * right_hi[:, None, :]
