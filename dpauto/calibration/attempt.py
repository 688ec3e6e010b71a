"""One attempt to prove a loss: all bounds at one exponent, refined while that may help."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from dpauto.calibration.contexts import Refinement
from dpauto.calibration.extremes import extreme_weights
from dpauto.calibration.losses import flip_loss, log_ratios
from dpauto.calibration.rounding import Discount, TooLoose, log_up
from dpauto.errors import EmptyNeighbourhood
from dpauto.names import EXPONENTIAL

if TYPE_CHECKING:
    from dpauto.calibration.proof import Prover

__all__ = ["Attempt", "Method", "Proof"]

#: Share of the contexts that are tried with windows of one symbol, and the longest windows.
SHALLOW, DEEPEST_WINDOW = 4, 2
#: Bisections for the log ratio that permute-and-flip leaves room for.
ROOM_BITS = 12
#: Contexts before the outlook is first judged, and how much faster than last a bound may fall.
FIRST_LOOK, OPTIMISM = 128, 4


class Method:
    """Names of the bounds, as certificates state them."""

    NOMINAL = "sensitivity"
    CLOSED = "all words"
    EXTREMES = "extreme weights"
    BLOCKS = "blocks"
    CONTEXTS = "blocks with contexts"


class Proof(NamedTuple):
    """A proven bound on the loss.

    Attributes
    ----------
    loss : Fraction
    method : str
    final : bool
        Whether more contexts would not lower the bound.
    """

    loss: Fraction
    method: str
    final: bool


class Attempt:
    """All bounds at one exponent."""

    def __init__(self, prover: Prover, discount: Discount, target: Fraction) -> None:
        self.prover, self.discount, self.target = prover, discount, target
        self.exponent, self.b = discount.exponent, prover.b

    @cached_property
    def weights(self) -> tuple[float, float] | None:
        """The least and the largest weight of all words around a word, where that is known."""
        return extreme_weights(self.prover.language, self.discount)

    @cached_property
    def log_spread(self) -> Fraction | None:
        """A bound on log(Z_neighbour / Z_word) from the extreme weights."""
        if self.weights is None:
            return None
        lightest, heaviest = self.weights
        return log_up(Fraction(heaviest) / Fraction(lightest))

    def loss(self, totals: Sequence[Fraction | None]) -> Fraction | None:
        """The bound on the loss, from log ratios by distance; None if there is no pair."""
        worst: Fraction | None = None
        for d, total in enumerate(totals, 1):
            if total is None:
                continue
            if self.log_spread is not None:
                total = min(total, self.log_spread)
            bound = self.exponent * d
            if self.prover.mechanism == EXPONENTIAL:
                bound += total
            else:
                light, heavy = self.weights or (1.0, None)
                enough = self.target - bound
                bound += flip_loss(self.discount, total, light, heavy, enough)
            bound = min(bound, 2 * self.exponent * d)
            worst = bound if worst is None else max(worst, bound)
        return worst

    def by_extremes(self) -> Proof:
        """The bound for any automaton."""
        distances = self.prover.distances
        loss = self.loss(
            [self.exponent * d if d in distances else None for d in range(1, self.b + 1)]
        )
        return Proof(2 * self.exponent * self.b if loss is None else loss, Method.EXTREMES, False)

    def _totals(
        self, logs: Sequence[Fraction | None], *, trivial: bool = True
    ) -> list[Fraction | None]:
        """From bounds on blocks, bounds on log ratios by distance, the trivial one aside or not."""
        exponent = self.exponent if trivial else None
        return log_ratios(logs, exponent, self.prover.distances)

    def by_blocks(self, contexts: int, *, patient: bool) -> Proof:
        """The bound for chains."""
        if not self.prover.can_deepen:
            return self._unrefined()
        # Short windows are cheap and mostly enough; long ones are for the full budget.
        can_deepen = contexts >= self.prover.budget.contexts
        shallow = contexts // SHALLOW
        proof, is_hopeless = self._refined(shallow, depth=1, patient=patient)
        if proof.loss <= self.target or proof.final or is_hopeless or not can_deepen:
            return proof
        # Patient or not, the longer windows get the same share: what was proven once must be again.
        deeper, _ = self._refined(contexts - shallow, depth=DEEPEST_WINDOW, patient=patient)
        return min(proof, deeper)

    def _unrefined(self) -> Proof:
        """The first bounds of a large chain, which serve every mechanism."""
        logs = self.prover.first_logs.get(self.exponent)
        if logs is None:
            logs = _Blocks(self.prover, self.discount, 1).logs()
            self.prover.first_logs[self.exponent] = logs
        return Proof(self._loss_of_pairs(self._totals(logs)), Method.BLOCKS, True)

    def _refined(self, contexts: int, *, depth: int, patient: bool) -> tuple[Proof, bool]:
        """A bound by blocks, and whether it was given up."""
        search = _Blocks(self.prover, self.discount, depth)
        outlook = _Outlook(contexts)
        final = is_hopeless = False
        while True:
            logs = search.logs()
            totals = self._totals(logs)
            if search.evaluated >= contexts or self._is_enough(totals):
                break
            is_hopeless = not patient and outlook.is_hopeless(search.evaluated, self._excess(logs))
            if is_hopeless:
                break
            m = None if self._is_refuted(search) else self._critical(search, logs)
            final = m is None
            if m is None:
                break
            search.refine(m)
        loss = self._loss_of_pairs(totals)
        method = Method.CONTEXTS if search.evaluated else Method.BLOCKS
        return Proof(loss, method, final), is_hopeless

    def _loss_of_pairs(self, totals: Sequence[Fraction | None]) -> Fraction:
        loss = self.loss(totals)
        if loss is None:
            raise EmptyNeighbourhood(
                f"adjacency: no two words of the language lie within {self.b} substitutions"
            )
        return loss

    def _excess(self, logs: Sequence[Fraction | None]) -> float:
        """How far bounds on blocks are from what the target allows, the trivial bound aside."""
        return max(
            (
                math.inf if room is None else float(total - room)
                for total, room in zip(self._totals(logs, trivial=False), self.room, strict=True)
                if total is not None
            ),
            default=0.0,
        )

    def _is_enough(self, totals: Sequence[Fraction | None]) -> bool:
        """Whether bounds on log ratios by distance give a loss within the target."""
        return all(
            total is None or (room is not None and total <= room)
            for total, room in zip(totals, self.room, strict=True)
        )

    @cached_property
    def room(self) -> list[Fraction | None]:
        """By distance, the largest log ratio that the target allows; None if it allows none."""
        spare = [self.target - self.exponent * d for d in range(1, self.b + 1)]
        if self.prover.mechanism == EXPONENTIAL:
            return [more if more >= 0 else None for more in spare]
        light, heavy = self.weights or (1.0, None)
        rooms: list[Fraction | None] = []
        for d, more in enumerate(spare, 1):
            low, high = Fraction(0), self.exponent * d
            if more < 0 or flip_loss(self.discount, low, light, heavy, more) > more:
                rooms.append(None)
                continue
            for _ in range(ROOM_BITS):
                middle = (low + high) / 2
                if flip_loss(self.discount, middle, light, heavy, more) <= more:
                    low = middle
                else:
                    high = middle
            rooms.append(low)
        return rooms

    def _is_refuted(self, search: _Blocks) -> bool:
        """Whether a true loss that has been found exceeds the target already."""
        if self.prover.mechanism != EXPONENTIAL:
            return False
        found = ((m, search.true_ratio(m)) for m in range(1, self.b + 1))
        return any(
            ratio > 0 and self.exponent * m + log_up(ratio) > self.target for m, ratio in found
        )

    def _critical(self, search: _Blocks, logs: Sequence[Fraction | None]) -> int | None:
        """The block length to refine, or None where that cannot lower the bound.

        The trivial bound is left aside: it may hide that all lengths must come down.
        """

        def worst(bounds: Sequence[Fraction | None]) -> Fraction:
            totals = self._totals(bounds, trivial=False)
            return max(
                (self.exponent * d + t for d, t in enumerate(totals, 1) if t is not None),
                default=Fraction(0),
            )

        now = worst(logs)
        known = [None if search.can_refine(m) else log for m, log in enumerate(logs, 1)]
        if worst(known) >= now:
            return None
        best, chosen = (False, Fraction(-1)), None
        for m, log in enumerate(logs, 1):
            if log is not None and search.can_refine(m):
                without = worst([None if k == m else other for k, other in enumerate(logs, 1)])
                if (without < now, log / m) > best:
                    best, chosen = (without < now, log / m), m
        return chosen


class _Outlook:
    """Whether a bound falls fast enough to reach its target: a guess, which only saves time.

    Bounds fall by about as much each time that the number of contexts doubles, or by more.
    """

    def __init__(self, contexts: int) -> None:
        self.contexts, self.next_look, self.last = contexts, FIRST_LOOK, math.inf

    def is_hopeless(self, evaluated: int, excess: float) -> bool:
        """Judge by what the excess has been when half as many contexts were known."""
        if evaluated < self.next_look:
            return False
        fell, self.last, self.next_look = self.last - excess, excess, 2 * evaluated
        if math.isinf(fell):
            return False
        return excess > OPTIMISM * fell * math.log2(self.contexts / evaluated)


class _Blocks:
    """Bounds on all blocks at one exponent, refined where contexts are affordable."""

    def __init__(self, prover: Prover, discount: Discount, depth: int) -> None:
        self.prover, self.discount = prover, discount
        prefix, suffix = prover.boxes(discount, depth)
        self.refinement: Refinement | None = None
        chain = prover.chain
        if chain is not None and prover.can_deepen:
            self.refinement = Refinement(
                chain, discount, prefix, suffix, longest=prover.b, pooled=not prover.is_placed
            )
        self.tops = [0.0] * prover.b
        for first in prover.first_bounds:
            if 2 * first.blocks.m + 2 > discount.deepest():
                raise TooLoose
            for found in prover.candidates(first, prefix, suffix, discount):
                m = first.blocks.m
                self.tops[m - 1] = max(self.tops[m - 1], float(found.ratios.max(initial=0.0)))
                if self.refinement is not None:
                    self.refinement.add(found)

    @property
    def evaluated(self) -> int:
        """Contexts evaluated so far."""
        return 0 if self.refinement is None else self.refinement.evaluated

    def ratio(self, m: int) -> float:
        """Bound on Z_neighbour / Z_word over the blocks of m positions; 0 if there is none."""
        return self.tops[m - 1] if self.refinement is None else self.refinement.ratio(m)

    def true_ratio(self, m: int) -> float:
        """A ratio that two words do have; 0 if none has been found."""
        return 0.0 if self.refinement is None else self.refinement.finished[m - 1]

    def can_refine(self, m: int) -> bool:
        """Whether contexts can lower the bound for m positions."""
        listed = self.prover.blocks[m - 1] is not None
        return listed and self.refinement is not None and not self.refinement.is_final(m)

    def refine(self, m: int) -> None:
        """Split the worst contexts."""
        if self.refinement is not None:
            self.refinement.refine(m)

    def logs(self) -> list[Fraction | None]:
        """Logarithms of the bounds by block length; None where there is no block."""
        logs: list[Fraction | None] = []
        for m, kinds in enumerate(self.prover.blocks, 1):
            if kinds is None:
                logs.append(self.discount.exponent * m)
            else:
                ratio = self.ratio(m)
                logs.append(log_up(ratio) if ratio > 0 else None)
        return logs
