"""The true epsilon of a mechanism on a small language, by looking at every pair and output."""

from __future__ import annotations

import math
from collections.abc import Hashable
from fractions import Fraction
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from dpauto.arguments import one_of
from dpauto.auditing.laws import LogLaws, log_laws
from dpauto.errors import EmptyNeighbourhood, StateLimitExceeded
from dpauto.language import Language, require_language
from dpauto.words import IntArray, Word

__all__ = ["TrueEpsilon", "Witness", "audit"]

#: Most feasible words: the law of permute-and-flip is a polynomial of this degree.
WORD_LIMIT = 4096
#: Most (input, output) cells, kept as two floats each.
CELL_LIMIT = 1 << 24
#: Entries of one block of differences.
BLOCK = 1 << 22


class Witness(NamedTuple):
    """Where the largest loss is: an output, and the adjacent words it tells apart best.

    Attributes
    ----------
    likelier, other : tuple
        P[M(likelier) = output] is exp(epsilon) times P[M(other) = output].
    output : hashable
    """

    likelier: Word
    other: Word
    output: Hashable


class TrueEpsilon(float):
    """The largest privacy loss over all adjacent words and all outputs: a float that knows more.

    Attributes
    ----------
    lower, upper : float
        The true value lies between them; they are about 1e-14 apart. Both are infinite if an output
        is possible for one word and impossible for a neighbour.
    nominal : Fraction
        The epsilon that was promised.
    witness : Witness
        Enumerated from the public language; no sensitive word is involved.
    """

    __slots__ = ("lower", "nominal", "upper", "witness")

    lower: float
    upper: float
    nominal: Fraction
    witness: Witness

    def __new__(
        cls, lower: float, upper: float, nominal: Fraction, witness: Witness
    ) -> TrueEpsilon:
        """Make the float in the middle of the enclosure."""
        middle = lower if lower == upper else (lower + upper) / 2
        value = super().__new__(cls, middle)
        value.lower, value.upper = lower, upper
        value.nominal, value.witness = nominal, witness
        return value

    def __getnewargs__(self) -> tuple[Any, ...]:
        return self.lower, self.upper, self.nominal, self.witness

    @property
    def holds(self) -> bool:
        """Whether the promise stands: the true epsilon is not certainly above the nominal one.

        Where the two are equal, as for the online mechanism on all words, the enclosure holds both.
        """
        return self.lower <= self.nominal

    @property
    def proved(self) -> bool:
        """Whether the true epsilon is certainly at most the nominal one."""
        return self.upper <= self.nominal

    def __repr__(self) -> str:
        verdict = "holds" if self.holds else "is broken"
        return f"TrueEpsilon({float(self):.12g}; the nominal {float(self.nominal):.6g} {verdict})"


def audit(mechanism: Any, *, over: str = "language") -> TrueEpsilon:
    """Return the true epsilon of a mechanism on a small language.

    All words, all their neighbours within b substitutions and all outputs are enumerated, with
    probabilities as balls: the result is proved, not sampled.

    Parameters
    ----------
    mechanism : mechanism of dpauto, or object with `language`, `privacy` and `probabilities`
        For dpauto's mechanisms the law follows from name, exponent, costs and language. Any other
        object gives its own: ``probabilities(w)`` returns {output: probability} for a word w, with
        values float, Fraction or int; outputs left out have probability 0.
    over : {"language", "all words"}, optional
        Whether the true words are feasible ones or any words over the alphabet. The guarantee of
        permute-and-flip, the exponential and the online mechanism covers both; a certificate's
        covers feasible words.

    Returns
    -------
    TrueEpsilon
        A float with an enclosure and a witness. It is usually far below the nominal epsilon on a
        restricted language, and is the nominal one for randomized response.

    Raises
    ------
    InvalidArgument
        If `over` is neither, or the mechanism's law is not known.
    EmptyNeighbourhood
        If no two of the words are adjacent.
    StateLimitExceeded
        If the language has more than 4096 words or there are more than 2**24 pairs of a word and an
        output; `audit_releases` samples instead.

    Notes
    -----
    What is examined is the law that the mechanism states. That the code draws from this law is for
    `audit_releases` and the tests of the samplers to show.

    Examples
    --------
    >>> from dpauto import Language, Online, PermuteAndFlip
    >>> language = Language.all_words("ab", 3)
    >>> round(audit(PermuteAndFlip(language, epsilon=1)), 6)
    0.636549
    >>> audit(Online(language, epsilon=1)).holds
    True
    """
    over = one_of(over, ("language", "all words"), name="over")
    language = require_language(getattr(mechanism, "language", None), name="mechanism's language")
    feasible = _words_of(language)
    inputs = feasible
    if over == "all words" and not language.is_all_words:
        inputs = _all_words(language, len(feasible))
    if len(inputs) * len(feasible) > CELL_LIMIT:
        raise _too_large()
    laws = log_laws(mechanism, inputs, feasible)
    return _worst(laws, inputs, mechanism)


def _words_of(language: Language) -> IntArray:
    count = language.count()
    if count > WORD_LIMIT:
        raise _too_large()
    return np.stack([language.alphabet.encode(word) for word in language.words()])


def _all_words(language: Language, outputs: int) -> IntArray:
    m, n = len(language.alphabet), language.length
    if m**n * outputs > CELL_LIMIT:
        raise _too_large()
    return np.array(list(product(range(m), repeat=n)), dtype=np.int64)


def _too_large() -> StateLimitExceeded:
    return StateLimitExceeded(
        f"mechanism: auditing enumerates at most {WORD_LIMIT} feasible words and {CELL_LIMIT} pairs"
        " of a word and an output; audit_releases gives a lower bound by sampling"
    )


def _worst(laws: LogLaws, inputs: IntArray, mechanism: Any) -> TrueEpsilon:
    """The largest difference of log probabilities over adjacent rows."""
    adjacency = mechanism.privacy.adjacency
    rows = max(1, BLOCK // max(1, laws.low.shape[1]))
    lower, upper = -math.inf, -math.inf
    place: tuple[int, int, int] | None = None
    for i, word in enumerate(inputs):
        near = np.flatnonzero((inputs != word).sum(axis=1) <= adjacency)
        near = near[near != i]
        for start in range(0, len(near), rows):
            others = near[start : start + rows]
            certain = _difference(laws.low[i], laws.high[others])
            upper = max(upper, float(_difference(laws.high[i], laws.low[others]).max()))
            row, column = divmod(int(certain.argmax()), certain.shape[1])
            if place is None or certain[row, column] > lower:
                lower, place = float(certain[row, column]), (i, int(others[row]), column)
    if place is None:
        raise EmptyNeighbourhood("no two of the words are within the adjacency of each other")
    decode = mechanism.language.decode
    likelier, other, output = place
    witness = Witness(decode(inputs[likelier]), decode(inputs[other]), laws.outputs[output])
    return TrueEpsilon(max(0.0, lower), max(0.0, upper), mechanism.privacy.epsilon, witness)


def _difference(one: Any, others: Any) -> Any:
    """Difference of logs; an output impossible for both tells nothing."""
    with np.errstate(invalid="ignore"):
        difference = one - others
    return np.where(np.isnan(difference), -np.inf, difference)
