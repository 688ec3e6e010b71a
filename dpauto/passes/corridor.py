"""A pass over the neighbourhood of a trip only, with the law of the whole network.

Most releases stay near the trip. Inside the corridor, the states from which the trip is reached
within a few steps, V follows the recursion; all states outside share one upper bound Ū_i at layer
i. The result dominates V, so a race with the dominating total proposes words too often, and those
that leave the corridor at (i, q) are kept with probability V_i(q) / Ū_i, the true V_i(q) coming
from a pass over what q can reach. A proposal that is not kept never happened. This is thinning
again: the law is exactly that of the full pass.

In the corridor's own automaton state 0 stands for everything outside. Its entries are set, layer by
layer, to Ū_i: since the next `radius` symbols from there are all wrong,

    V_i(q) <= h_radius * max V_{i+radius},     h_k = largest entry of (z A)^k 1.

Ū_i is a float64, that is, one exact number for every arithmetic.
"""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from dpauto.arrays import Automaton, pointers
from dpauto.passes.balls import BallLayers
from dpauto.passes.draws import FloatLayers
from dpauto.passes.floating import FLOOR, TOP, FloatPass
from dpauto.passes.layers import Layers, Undecided, uniform_ball
from dpauto.passes.nearest import Leaving, WordItself, words_themselves
from dpauto.passes.powers import scaled
from dpauto.passes.weights import MOST_STEPS, FloatArray, Weights
from dpauto.randomness import Tape
from dpauto.words import Alphabet, IntArray

if TYPE_CHECKING:
    from flint import arb

__all__ = ["Corridor", "CorridorBalls", "CorridorFloats", "radius_for"]

#: A corridor is worth its preparation only for passes of more elementary steps than this.
LARGE_PASS = 2**21


def radius_for(weights: Weights, length: int) -> int | None:
    """Return how many steps wide a corridor should be, or None if a full pass is better.

    It depends on public quantities only. Leaving a corridor costs a pass of its own. Within n
    steps n h_{radius+1} h_radius bounds the weight of the ways out; on street networks a proposal
    takes one about a thousand times less often. Ways out at the very start are as likely as their
    number.
    """
    a = weights.automaton
    if weights.costs is not None or weights.loses or a.state_of_symbol is None:
        return None
    if length * a.n_edges < LARGE_PASS:
        return None
    reach = weights.reach
    for radius in range(1, MOST_STEPS + 1):
        on_the_way = length * reach[radius + 1] * reach[radius]
        at_the_start = len(a.start_head) * reach[radius] / length
        if on_the_way <= 5 and at_the_start <= 0.02:
            return radius
    return None


class _LocalWeights(Weights):
    """Weights of a corridor's automaton, in which an edge may stand for several."""

    def __init__(
        self,
        automaton: Automaton,
        rows: IntArray,
        exponent: Fraction,
        times: IntArray,
        start_times: IntArray,
    ) -> None:
        super().__init__(automaton, rows, exponent, None)
        self._times, self._start_times = times, start_times

    @property
    def times(self) -> IntArray | None:
        return self._times

    @property
    def start_times(self) -> IntArray | None:
        return self._start_times

    @cached_property
    def uniform_data(self) -> FloatArray:
        return np.asarray(self.z * self._times, dtype=np.float64)

    @cached_property
    def degree(self) -> int:
        return max(1, int(np.bincount(self.automaton.tail, self._times).max(initial=0)))


class Corridor:
    """The part of a chain's automaton near one word, as an automaton of its own.

    Parameters
    ----------
    weights : Weights
        Of the whole chain, under the Hamming distance.
    word, run : int arrays, shape (n,)
        A feasible word and its run.
    radius : int
        At least 1.
    """

    def __init__(self, weights: Weights, word: IntArray, run: IntArray, radius: int) -> None:
        a = weights.automaton
        self.whole, self.radius, self.whole_word = weights, radius, word
        trip = np.concatenate((a.start_head[run[:1]], a.head[run[1:]]))
        #: Global numbers of the states inside, ascending; the local number is one more.
        self.states = _near(a, np.unique(trip), radius)
        self.word = np.searchsorted(self.states, trip) + 1
        self._build(run)

    def _build(self, run: IntArray) -> None:
        a, states = self.whole.automaton, self.states
        size = len(states) + 1
        edges = a.out_edges(states)
        tails = np.repeat(np.arange(1, size), a.indptr[states + 1] - a.indptr[states])
        heads = _local(states, a.head[edges])
        inside = heads > 0
        # One edge to state 0 stands for all edges of a state that lead outside.
        ways_out = np.bincount(tails[~inside], minlength=size)
        leaving = np.flatnonzero(ways_out)
        tail = np.concatenate((tails[inside], leaving))
        head = np.concatenate((heads[inside], np.zeros(len(leaving), dtype=np.int64)))
        times = np.concatenate((np.ones(inside.sum(), dtype=np.int64), ways_out[leaving]))
        order = np.lexsort((head, tail))
        # Likewise one start edge; the start may lead to all states of a large network.
        into = a.start_edge_into[states]
        self._start_inside = np.sort(into[into >= 0])
        self._n_outside = len(a.start_head) - len(self._start_inside)
        outside = [0] if self._n_outside else []
        local_start = np.array([*outside, *np.flatnonzero(into >= 0) + 1], dtype=np.int64)
        start_times = np.where(local_start == 0, self._n_outside, 1)
        automaton = Automaton(
            alphabet=Alphabet(range(size)),
            states=range(size),
            start=a.start,
            start_head=local_start,
            start_label=local_start.copy(),
            indptr=pointers(tail, size),
            head=head[order],
            label=head[order],
            final=np.concatenate(([True], a.final[states])),
        )
        rows = np.searchsorted(states, self.whole.rows) + 1
        self.weights = _LocalWeights(
            automaton, rows, self.whole.exponent, times[order], start_times
        )
        self.nearest = self._nearest(automaton, run)

    def _nearest(self, automaton: Automaton, run: IntArray) -> WordItself:
        """The local word with its leaving edges."""
        keys = automaton.tail * automaton.n_states + automaton.head
        steps = self.word[:-1] * automaton.n_states + self.word[1:]
        first = np.searchsorted(automaton.start_head, self.word[:1])
        local_run = np.concatenate((first, np.searchsorted(keys, steps)))
        (nearest,) = words_themselves(self.weights, self.word[np.newaxis], local_run[np.newaxis])
        return nearest

    def exit(self, local_tail: int, tape: Tape) -> int:
        """Draw which state outside an edge to state 0 leads to; its global number.

        The edge's tail is -1 for the start.
        """
        a = self.whole.automaton
        if local_tail < 0:
            number = tape.below(self._n_outside)
            # Start edges that lead inside are skipped: so many of them come before it.
            before = self._start_inside - np.arange(len(self._start_inside))
            return int(a.start_head[number + np.searchsorted(before, number, side="right")])
        heads, _ = a.moves(int(self.states[local_tail - 1]))
        outside = heads[_local(self.states, heads) == 0]
        return int(outside[tape.below(len(outside))])

    def decode(self, local: IntArray) -> IntArray:
        """Return local symbols as global ones."""
        found: IntArray = self.symbols[self.states[local - 1]]
        return found

    @property
    def symbols(self) -> IntArray:
        """The symbol that leads to each global state."""
        labels = self.whole.automaton.state_label
        if labels is None:
            raise ValueError("a corridor needs a chain")
        return labels

    def beyond(self, i: int, head: int) -> tuple[Weights, IntArray]:
        """What the global state `head`, at layer i, can reach: its weights, and the word's rest."""
        a = self.whole.automaton
        heads, labels = a.moves(head)
        from_head = dataclasses.replace(a, start_head=heads, start_label=labels)
        rest = self.whole_word[i:]
        order, level = from_head.forward_levels(len(rest))
        rows = np.searchsorted(level[order], np.arange(len(rest) + 1), side="right")
        return Weights(from_head.restricted(order), rows, self.whole.exponent, None), rest


def _near(a: Automaton, targets: IntArray, steps: int) -> IntArray:
    """States from which one of `targets` is reached within `steps` steps, ascending."""
    inside = np.zeros(a.n_states, dtype=bool)
    inside[targets] = True
    frontier = targets
    for _ in range(steps):
        tails = a.tail[a.in_edges(frontier)]
        frontier = np.unique(tails[~inside[tails]])
        if not frontier.size:
            break
        inside[frontier] = True
    return np.flatnonzero(inside)


def _local(states: IntArray, heads: IntArray) -> IntArray:
    """Local numbers of global states, 0 for those outside."""
    place = np.minimum(np.searchsorted(states, heads), len(states) - 1)
    return np.where(states[place] == heads, place + 1, 0)


class CorridorPass(FloatPass):
    """A float pass over a corridor, which finds the bound Ū_i of each layer as it goes.

    Raises
    ------
    OverflowError
        If a bound is beyond the floats; then a full pass must serve.
    """

    def __init__(self, corridor: Corridor) -> None:
        self.corridor = corridor
        length = len(corridor.word)
        # A layer's bound comes from the one `radius` layers later, which must be there.
        self.longest = corridor.radius
        # Makes up for the roundings of `reach`, of the product with it and of the entries (E6).
        self._slack = 1 + 2**-30 + length * corridor.weights.roundings * 2**-52
        self._reach = [h * self._slack for h in corridor.whole.reach]
        #: Ū_i = value * 2**power, exactly, as (value, power).
        self.ceilings = [(1.0, 0)] * (length + 1)
        #: Bounds on the largest entry of each layer, inside and outside, likewise.
        self._most = [(1.0, 0)] * (length + 1)
        super().__init__(corridor.weights, corridor.word[np.newaxis], [corridor.nearest])

    def _before(self, low: int, high: int, part: FloatArray) -> None:
        power, radius, last = self._power(low), self.corridor.radius, self.length
        bounds = []
        for i in range(low, high + 1):
            steps = min(radius, last - i)
            most, unit = self._most[i + steps]
            # Raised where it might underflow; any bound will do.
            bounds.append(max(FLOOR, scaled(most, unit - power) * self._reach[steps]))
        if max(bounds) > 2.0 ** (TOP + 100):
            raise OverflowError("a corridor's bound is beyond the floats")
        part[:, 0] = bounds
        self.ceilings[low : high + 1] = [(bound, power) for bound in bounds]

    def _after(self, low: int, high: int, part: FloatArray) -> None:
        power, slack = self._power(low), self._slack
        loss = self._losses[-(-(low + 1) // self._spacing), 0].item() * self._growth
        rows = self.weights.rows.item(high)
        tops = np.maximum.reduce(part[:, :rows], axis=1).tolist()
        self._most[low : high + 1] = [(top * slack + loss, power) for top in tops]

    def _power(self, low: int) -> int:
        """Of the units of a stretch that ends at layer `low`, before it is rescaled."""
        return int(self._scales[-(-(low + 1) // self._spacing), 0])


class _CorridorDraws(Layers):
    """Draws over a corridor, in either arithmetic."""

    corridor: Corridor
    ceilings: list[tuple[float, int]]
    stop = 0

    def ceiling(self, i: int) -> arb:
        """Ū_i, exactly."""
        from flint import arb

        value, power = self.ceilings[i]
        return arb(value) * arb((1, power))

    def weight(self, word: IntArray) -> arb:
        """Return the weight of a global word."""
        return self.weights.ball(int(np.count_nonzero(word != self.corridor.whole_word)))

    def draw_nearest(self, tape: Tape) -> IntArray:
        """Return the word."""
        return self.corridor.whole_word

    def draw_outside(self, tape: Tape) -> IntArray | None:
        """Return a global word, or None if a proposal that left the corridor is not kept."""
        corridor, n = self.corridor, len(self.word)
        local = np.zeros(n, dtype=np.int64)
        i, state = self.leave(local, tape)
        i = self.walk(i, state, local, tape)
        if local[i - 1] != self.stop:
            return corridor.decode(local)
        head = corridor.exit(int(local[i - 2]) if i > 1 else -1, tape)
        written = np.empty(n, dtype=np.int64)
        written[: i - 1] = corridor.decode(local[: i - 1])
        written[i - 1] = corridor.symbols[head]
        return self._complete_outside(i, head, written, tape)

    def _complete_outside(
        self, i: int, head: int, written: IntArray, tape: Tape
    ) -> IntArray | None:
        """Keep the proposal with probability V_i(head) / Ū_i, and complete it by the true V."""
        from flint import arb

        ceiling = uniform_ball(tape) * self.ceiling(i)
        if i == len(written):
            value, rest = arb(int(self.corridor.whole.automaton.final[head])), None
        else:
            rest = self._beyond(i, head)
            value = rest.outside
        if ceiling > value:
            return None
        if not ceiling < value:
            raise Undecided
        completion = None if rest is None else rest.draw_outside(tape)
        if completion is not None:
            written[i:] = completion
        return written

    @abstractmethod
    def _beyond(self, i: int, head: int) -> Layers:
        """Layers of the rest of the word over what `head`, at layer i, can reach."""


class _Everything:
    """Stands for "no nearest word": all words from a start are outside, by their first edge."""

    count, distance = 0, 0
    states: list[int] | None = None

    def __init__(self) -> None:
        start = np.array([-1])
        self.leaving = Leaving(np.array([0]), start, start, start, np.array([0]), None)

    def word(self, tape: Tape) -> IntArray:
        """There is none."""
        raise ValueError("no word is nearest")

    def prefix(self, k: int, tape: Tape) -> IntArray:
        """Nothing comes before the first edge."""
        return np.empty(0, dtype=np.int64)


class CorridorFloats(_CorridorDraws, FloatLayers):
    """Float draws over a corridor.

    Parameters
    ----------
    corridor : Corridor
    """

    def __init__(self, corridor: Corridor) -> None:
        block = CorridorPass(corridor)
        super().__init__(block)
        self.corridor, self.ceilings = corridor, block.ceilings

    def _beyond(self, i: int, head: int) -> Layers:
        weights, rest = self.corridor.beyond(i, head)
        return FloatLayers(FloatPass(weights, rest[np.newaxis], [_Everything()]))


class CorridorBalls(_CorridorDraws, BallLayers):
    """Draws over a corridor in interval arithmetic.

    Parameters
    ----------
    corridor : Corridor
    """

    def __init__(self, corridor: Corridor) -> None:
        # The bounds of the float pass are exact numbers: every arithmetic must use the same ones.
        block = CorridorPass(corridor)
        self.corridor, self.ceilings = corridor, block.ceilings
        block.close()
        super().__init__(corridor.weights, corridor.word, corridor.nearest)

    def _bound(self, i: int, layer: list[Any]) -> None:
        layer[0] = self.ceiling(i)

    def _beyond(self, i: int, head: int) -> Layers:
        weights, rest = self.corridor.beyond(i, head)
        return BallLayers(weights, rest, _Everything())
