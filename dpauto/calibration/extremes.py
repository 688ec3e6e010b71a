"""The least and the largest total weight of any word of a language: a bound for every automaton.

A pass over pairs (state q of any word, state a of the sensitive word) bounds what the rest of the
words from q weighs, whatever the sensitive word does after a (Lemma 9). For automata with too many
pairs a pass over states lets the sensitive word write any symbol at any time.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from dpauto.arrays import BoolArray
from dpauto.calibration.rounding import Discount, FloatArray, TooLoose, down, up
from dpauto.language import Language
from dpauto.words import IntArray

__all__ = ["extreme_weights"]

#: Most cells of one layer, and of all layers together.
LAYER_CELLS = 20_000_000
ALL_CELLS = 2_000_000_000
#: Most bits by which weights may grow over a word.
LARGEST_GROWTH = 900


def extreme_weights(language: Language, discount: Discount) -> tuple[float, float] | None:
    """Return (lower, upper) bounds on the weight of all words around any feasible word.

    Parameters
    ----------
    language : Language
    discount : Discount

    Returns
    -------
    (float, float) or None
        Bounds on the least and the largest sum over v in L of exp(-exponent d(w, v)), w in L; None
        when the weights are too large for floats.
    """
    a, n = language.automaton, language.length
    # What underflows is multiplied by this at most until the end: it must stay below a rounding.
    degree = int(np.diff(a.indptr).max(initial=1))
    alike = 1 if a.is_deterministic else degree
    if n * math.log2(alike + discount.z * degree) > LARGEST_GROWTH:
        return None
    cells = a.n_states * (a.n_edges + len(a.start_head))
    try:
        if cells > LAYER_CELLS or cells * n > ALL_CELLS:
            return 1.0, _heaviest_of_any_symbols(language, discount)
        pass_ = _PairPass(language, discount)
        return max(1.0, pass_.extreme(largest=False)), pass_.extreme(largest=True)
    except TooLoose:
        return None


def _heaviest_of_any_symbols(language: Language, discount: Discount) -> float:
    """A bound on the largest weight around any word over the alphabet, feasible or not."""
    a, n = language.automaton, language.length

    def layer(tails: IntArray, labels: IntArray, states: int) -> Callable[[FloatArray], FloatArray]:
        """From what edges lead to, what leaves each state, with the symbol that is best for it."""
        keys, of_edge = np.unique(tails * len(a.alphabet) + labels, return_inverse=True)
        first = keys // len(a.alphabet)

        def back(after: FloatArray) -> FloatArray:
            best = np.zeros(states)
            sums = np.bincount(of_edge, after, len(keys))
            np.maximum.at(best, first, discount.rest * sums)
            return best + discount.z * np.bincount(tails, after, states)

        return back

    weight = a.final.astype(float)
    start = np.zeros(len(a.start_head), dtype=np.int64)
    inner, outer = layer(a.tail, a.label, a.n_states), layer(start, a.start_label, 1)
    with np.errstate(over="ignore", invalid="ignore"):
        for _ in range(n - 1):
            weight = inner(weight[a.head])
        total = outer(weight[a.start_head])
    if not np.isfinite(total).all():
        raise TooLoose
    degree = int(np.diff(a.indptr).max(initial=1))
    return float(up(total, n * (2 * degree + 8) + 2 * len(start) + 8)[0])


class _PairPass:
    def __init__(self, language: Language, discount: Discount) -> None:
        from scipy import sparse

        self.language, self.discount = language, discount
        a = self.automaton = language.automaton
        N = a.n_states
        #: Sums over the edges that leave a state, and over all edges of one label.
        self.steps = sparse.csr_matrix((np.ones(a.n_edges), (a.tail, a.head)), (N, N))
        pairs = np.stack((a.head, a.label), axis=1)
        #: What the word can do next: distinct pairs of a state it goes to and the symbol it writes.
        moves, self.move_of_edge = np.unique(pairs, axis=0, return_inverse=True)
        self.move_of_edge = self.move_of_edge.ravel()
        self.move_head, self.move_label = moves[:, 0], moves[:, 1]
        pointer, edges = a.by_label
        sizes = np.diff(pointer)[self.move_label]
        self.match_move = np.repeat(np.arange(len(moves)), sizes)
        offsets = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        self.match_edge = edges[np.repeat(pointer[self.move_label], sizes) + offsets]
        degree = int(np.diff(a.indptr).max(initial=1))
        self.roundings = language.length * (2 * degree + 8) + 2 * len(a.start_head) + 8

    def extreme(self, *, largest: bool) -> float:
        """Return a bound on the largest (least) weight.

        Raises
        ------
        TooLoose
            If it leaves the range of floats.
        """
        a, n = self.automaton, self.language.length
        weight = np.repeat(a.final.astype(float)[:, None], a.n_states, axis=1)
        with np.errstate(over="ignore", invalid="ignore"):
            for i in range(n - 1, 0, -1):
                weight = self._back(weight, self.language.finishing(n - i - 1), largest=largest)
            totals = self._start(weight)
        total = float(totals.max() if largest else totals.min())
        if not np.isfinite(total):
            raise TooLoose
        bound = up if largest else down
        return float(bound(np.array([total]), self.roundings)[0])

    def _back(self, weight: FloatArray, alive: BoolArray, *, largest: bool) -> FloatArray:
        """One layer back: [q, a] from [q', a'], the word taking its worst step."""
        a = self.automaton
        after = self.discount.z * (self.steps @ weight)[:, self.move_head]
        gain = self.discount.rest * weight[a.head[self.match_edge], self.move_head[self.match_move]]
        np.add.at(after, (a.tail[self.match_edge], self.match_move), gain)
        worst = np.full((a.n_states, a.n_states), 0.0 if largest else np.inf)
        usable = np.flatnonzero(alive[a.head])
        if len(usable):
            tails, starts = np.unique(a.tail[usable], return_index=True)
            chosen = after[:, self.move_of_edge[usable]]
            pick = np.maximum if largest else np.minimum
            worst[:, tails] = pick.reduceat(chosen, starts, axis=1)
        # Where the word has no step the pair never occurs; keep numbers finite.
        return np.where(np.isfinite(worst), worst, 0.0)

    def _start(self, weight: FloatArray) -> FloatArray:
        """Total weights of all words, for every first step of the sensitive word."""
        a, n = self.automaton, self.language.length
        alive = self.language.finishing(n - 1)[a.start_head]
        heads, labels = a.start_head[alive], a.start_label[alive]
        right = a.start_label[:, None] == labels[None, :]
        factor = np.where(right, 1.0, self.discount.z)
        total: FloatArray = (factor * weight[np.ix_(a.start_head, heads)]).sum(axis=0)
        return total
