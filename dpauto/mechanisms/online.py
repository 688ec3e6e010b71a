"""The online mechanism: symbol by symbol, each from the previous output."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dpauto.language import Language
from dpauto.mechanisms.base import Mechanism
from dpauto.names import ONLINE
from dpauto.passes import Undecided
from dpauto.passes.weights import ball, floor_and_ceiling
from dpauto.privacy import Epsilon
from dpauto.randomness import WORD_BITS, Tape
from dpauto.words import IntArray, Symbol

if TYPE_CHECKING:
    from dpauto.laws import ErrorLaw

__all__ = ["Online"]


class Online(Mechanism):
    """Randomized response, symbol by symbol, among the symbols that can still be completed.

    From the previous *output*, let s symbols lead on to a word of the language in the steps that
    remain. The true symbol, if it is one of them, is kept with probability
    e^(epsilon/b) / (e^(epsilon/b) + s - 1), and each other one written with
    1 / (e^(epsilon/b) + s - 1); if it is not, one of the s is written uniformly.

    On all words this beats both offline mechanisms at every setting. On feasible languages a first
    error often leaves the true word for good.

    Parameters
    ----------
    language : Language
        The feasible words; public. Its automaton is determinised if need be.
    epsilon : int, float, Fraction or str
        Positive; a float is read as written.
    adjacency : int, optional
        b, at least 1.

    Raises
    ------
    InvalidArgument
        If a parameter is out of range.
    StateLimitExceeded
        If the language cannot be determinised within the limit.

    Examples
    --------
    >>> from dpauto import Language, Online
    >>> mechanism = Online(Language.of(["ab", "ba", "bb"]), epsilon=2)
    >>> mechanism.release("ab", rng=1) in mechanism.language
    True

    References
    ----------
    Chen, Leahy, Jones and Hale, arXiv 2202.03325 (the online mechanism).
    """

    name: ClassVar[str] = ONLINE

    def __init__(self, language: Language, *, epsilon: Epsilon, adjacency: int = 1) -> None:
        super().__init__(language, epsilon=epsilon, adjacency=adjacency)
        self._walked = language if language.is_all_words else language.deterministic()

    @property
    def exponent(self) -> Fraction:
        """epsilon / b: the log of how much likelier the true symbol is than another."""
        return self.privacy.epsilon / self.privacy.adjacency

    def privacy_loss(self, distance: int) -> Fraction:
        """Return epsilon * distance / b, the bound for words so many substitutions apart.

        Raises
        ------
        InvalidArgument
            If `distance` is negative or not whole.
        """
        return self.exponent * min(self._parse_distance(distance), self.language.length)

    def error_law(self, w: Iterable[Symbol]) -> ErrorLaw:
        """Return the exact law of the Hamming distance between `w` and its release.

        Raises
        ------
        InvalidWord, UnknownSymbol
            If `w` is not a word over the alphabet.
        """
        from dpauto.laws import online_law

        return online_law(self._walked, self.language.encode(w), self.exponent)

    @cached_property
    def _thresholds(self) -> dict[tuple[int, int], tuple[int, int]]:
        return {}

    def _keep_below(self, choices: int, bits: int) -> tuple[int, int]:
        """Integers around 2**bits e^x / (e^x + choices - 1), x = epsilon / b."""
        found = self._thresholds.get((choices, bits))
        if found is None:
            from flint import arb, ctx

            with ctx.workprec(bits + 32):
                keep = 1 / (1 + (choices - 1) * ball(-self.exponent).exp())
                found = floor_and_ceiling(keep * arb((1, bits)))
            self._thresholds[choices, bits] = found
        return found

    def _attempt(self, word: IntArray, tape: Tape, attempt: int) -> IntArray:
        if self.language.is_all_words:
            return self._everywhere(word, tape)
        language, n = self._walked, len(word)
        a = language.automaton
        written = np.empty(n, dtype=np.int64)
        heads, labels = a.moves(None)
        for i, true in enumerate(word.tolist()):
            possible = np.flatnonzero(language.finishing(n - i - 1)[heads])
            at = int(np.searchsorted(labels[possible], true))
            feasible = at < len(possible) and labels[possible[at]] == true
            keep = feasible and self._keeps(tape, len(possible))
            if not feasible:
                at = tape.below(len(possible))
            elif not keep:
                other = tape.below(len(possible) - 1)
                at = other + (other >= at)
            edge = int(possible[at])
            written[i] = labels[edge]
            heads, labels = a.moves(int(heads[edge]))
        return written

    def _keeps(self, tape: Tape, choices: int) -> bool:
        if choices == 1:
            return True
        u, bits = tape.uniform()
        low, high = self._keep_below(choices, bits)
        if u < low:
            return True
        if u >= high:
            return False
        raise Undecided

    def _everywhere(self, word: IntArray, tape: Tape) -> IntArray:
        """All symbols at once, when every word is feasible."""
        size = len(self.language.alphabet)
        if size == 1:
            return word
        low, high = self._keep_below(size, tape.bits)
        # As integers of any size when they are read to more than 64 bits; in the same order.
        u = (
            tape.uniforms(len(word))
            if tape.bits == WORD_BITS
            else np.array([tape.uniform()[0] for _ in word], dtype=object)
        )
        wrong = np.flatnonzero(u >= high)
        if np.count_nonzero(u >= low) != len(wrong):
            raise Undecided
        written = word.copy()
        other = tape.below_many(len(wrong), size - 1)
        written[wrong] = other + (other >= word[wrong])
        return written

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in self.__dict__.items() if k != "_thresholds"}
