"""Every input's law over every output of a small language, as enclosed logarithms."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Protocol, runtime_checkable

import numpy as np

from dpauto.auditing.balls import BITS, as_ball, log_enclosure, offline_balls
from dpauto.errors import InvalidArgument
from dpauto.language import Language
from dpauto.laws.errorlaw import FloatArray
from dpauto.names import OFFLINE, ONLINE
from dpauto.privacy import Privacy
from dpauto.words import Costs, IntArray, Word

__all__ = ["Auditable", "LogLaws", "log_laws"]


@runtime_checkable
class Auditable(Protocol):
    """What `audit` can examine beside dpauto's own mechanisms."""

    language: Language
    privacy: Privacy

    def probabilities(self, w: Word) -> Mapping[Hashable, Any]:
        """Return the probability of every output when `w` is the true word.

        Values are float, Fraction, int or python-flint balls (arb); floats are taken as exact. An
        output left out has probability 0. Outputs need not be words of the language.
        """


class LogLaws:
    """Enclosures of log P[M(w) = o]; row = input w, column = output o.

    Attributes
    ----------
    low, high : float arrays, shape (inputs, outputs)
    outputs : sequence
    """

    def __init__(self, low: FloatArray, high: FloatArray, outputs: Sequence[Any]) -> None:
        self.low, self.high, self.outputs = low, high, outputs


def log_laws(mechanism: Any, inputs: IntArray, feasible: IntArray) -> LogLaws:
    """Return all laws of a mechanism.

    Parameters
    ----------
    mechanism : mechanism of dpauto, or `Auditable`
    inputs : int array, shape (D, n)
        Words, as symbol numbers.
    feasible : int array, shape (K, n)
        The words of the language.

    Raises
    ------
    InvalidArgument
        If `mechanism` is neither, or its probabilities are not finite or negative.
    """
    from flint import ctx

    with ctx.workprec(BITS):
        if isinstance(mechanism, Auditable):
            return _given(mechanism, inputs)
        name = getattr(mechanism, "name", None)
        if name in OFFLINE:
            low, high = _offline(mechanism, inputs, feasible)
        elif name == ONLINE:
            low, high = _online(mechanism.exponent, inputs, feasible)
        else:
            raise InvalidArgument(
                "mechanism must be one of dpauto's, or have language, privacy and probabilities(w)"
            )
    decode = mechanism.language.decode
    return LogLaws(low, high, [decode(word) for word in feasible])


def _given(mechanism: Auditable, inputs: IntArray) -> LogLaws:
    """Laws from the `probabilities` hook."""
    columns: dict[Hashable, int] = {}
    laws = []
    for word in inputs:
        law = mechanism.probabilities(mechanism.language.decode(word))
        laws.append({columns.setdefault(o, len(columns)): p for o, p in law.items()})
    low = np.full((len(laws), len(columns)), -np.inf)
    high = low.copy()
    for row, by_column in enumerate(laws):
        for column, p in by_column.items():
            ball = as_ball(p)
            if not ball.is_finite() or ball.upper() < 0:
                raise InvalidArgument("probabilities(w) must be finite and not negative")
            low[row, column], high[row, column] = log_enclosure(ball)
    return LogLaws(low, high, list(columns))


def _offline(mechanism: Any, inputs: IntArray, feasible: IntArray) -> tuple[FloatArray, FloatArray]:
    """Laws that depend on the costs of all feasible words only; equal ones are computed once."""
    costs: Costs | None = mechanism.costs
    unit: Fraction = mechanism.exponent / (1 if costs is None else costs.denominator)
    shape = (len(inputs), len(feasible))
    low, high = np.empty(shape), np.empty(shape)
    known: dict[tuple[tuple[int, ...], ...], tuple[FloatArray, FloatArray]] = {}
    for row, word in enumerate(inputs):
        if costs is None:
            cost = (feasible != word).sum(axis=1)
        else:
            cost = costs.matrix[word, feasible].sum(axis=1)
        levels, cell, counts = np.unique(cost, return_inverse=True, return_counts=True)
        # Only differences of costs matter, so shifted inputs share a law.
        key = tuple((levels - levels[0]).tolist()), tuple(counts.tolist())
        if key not in known:
            balls = offline_balls(key[1], key[0], unit, mechanism.name)
            bounds = np.array([log_enclosure(ball) for ball in balls])
            known[key] = bounds[:, 0], bounds[:, 1]
        low[row], high[row] = known[key][0][cell], known[key][1][cell]
    return low, high


def _online(rate: Fraction, inputs: IntArray, feasible: IntArray) -> tuple[FloatArray, FloatArray]:
    """Products over the symbols: what may follow each prefix of each output, and what was true."""
    from flint import arb

    n = feasible.shape[1]
    size = int(max(feasible.max(), inputs.max())) + 1
    # Rows are sorted, so the words with a given prefix are neighbours.
    order = np.lexsort(feasible.T[::-1])
    words = feasible[order]
    keep = as_ball(rate).exp()
    most = size + 1
    factors = np.zeros((3, most, 2))
    for s in range(1, most):
        probabilities = (keep / (keep + s - 1), 1 / (keep + s - 1), arb(1) / s)
        factors[:, s] = [log_enclosure(p) for p in probabilities]
    low = np.zeros((len(inputs), len(words)))
    high = np.zeros_like(low)
    prefix = np.zeros(len(words), dtype=np.int64)
    for i in range(n):
        follows = np.zeros((int(prefix[-1]) + 1, size), dtype=bool)
        follows[prefix, words[:, i]] = True
        successors = follows.sum(axis=1)[prefix]
        true = inputs[:, i]
        possible = follows[prefix][:, true].T
        kind = np.where(possible, (words[:, i] != true[:, None]).astype(np.int64), 2)
        bounds = factors[kind, np.broadcast_to(successors, kind.shape)]
        # Sums of floats, each rounded outwards.
        low = np.nextafter(low + bounds[..., 0], -np.inf)
        high = np.nextafter(high + bounds[..., 1], np.inf)
        new = np.ones(len(words), dtype=bool)
        new[1:] = (np.diff(prefix) != 0) | (np.diff(words[:, i]) != 0)
        prefix = np.cumsum(new) - 1
    back = np.argsort(order)
    return low[:, back], high[:, back]
