"""The error of a mechanism on several words: that of a word drawn uniformly from them."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from dpauto.errors import InvalidArgument, InvalidWord
from dpauto.language import Language, require_language
from dpauto.laws import (
    ErrorLaw,
    Levels,
    Moments,
    error_law,
    error_moments,
    law_of_levels,
    levels,
    online_law,
    online_moments,
)
from dpauto.laws.polynomials import fits, level_counts_in_floats
from dpauto.names import ONLINE
from dpauto.privacy import Privacy
from dpauto.words import Costs, IntArray, Symbol

__all__ = ["WordErrors"]

#: Counts per distance are made in floats while the language has no more bits of words than this.
COUNT_BITS = 1000


class WordErrors:
    """Errors averaged over words; counts per distance are made once and serve every epsilon.

    Parameters
    ----------
    language : Language
    words : iterable of words
    costs : Costs, mapping, callable or integer matrix, optional

    Raises
    ------
    InvalidArgument
        If `language` is none, or there is no word.
    InvalidWord, UnknownSymbol
        If a word does not fit the language.
    """

    def __init__(self, language: Language, words: Iterable[Iterable[Symbol]], costs: Any) -> None:
        self.language = require_language(language)
        if costs is None or isinstance(costs, Costs):
            self.costs = costs
        else:
            self.costs = Costs(costs, language.alphabet)
        self.words: list[IntArray] = language.encode_each(words)
        if not self.words:
            raise InvalidArgument("words must hold at least one word")
        if language.is_all_words and self.costs is None:
            # The law is the same for all.
            del self.words[1:]

    def require_feasible(self) -> None:
        """Refuse words that a certificate does not cover.

        Raises
        ------
        InvalidWord
            If a word is not feasible; its row is named.
        """
        if self.language.is_all_words:
            return
        for row, word in enumerate(self.words, 1):
            if self.language.run(word) is None:
                raise InvalidWord(
                    f"words: word {row} must be feasible when a certificate is used: its proof"
                    " covers no other words"
                )

    @cached_property
    def levels(self) -> list[Levels]:
        """Words per distance, as floats where they fit: thirteen digits, and much quicker."""
        if self.countable:
            return [level_counts_in_floats(self.language, word) for word in self.words]
        return [levels(self.language, word, self.costs) for word in self.words]

    @cached_property
    def countable(self) -> bool:
        """Whether counts per distance are cheap; if not, means are had without them."""
        return (
            not self.language.is_all_words
            and self.costs is None
            and fits(self.language)
            and self.language.count().bit_length() <= COUNT_BITS
        )

    def at(self, mechanism: str, privacy: Privacy) -> Moments:
        """Mean, variance and chance of no change."""
        if mechanism == ONLINE:
            rate = 2 * privacy.exponent
            return _mixed([online_moments(self.language, word, rate) for word in self.words])
        return self.offline(mechanism, self._exponent(privacy))

    def offline(self, mechanism: str, exponent: Fraction) -> Moments:
        """The same for an offline mechanism of any exponent, so for a certificate's too."""
        if self.countable:
            return _mixed([law.moments() for law in self._laws(mechanism, exponent)])
        return _mixed(
            [
                error_moments(self.language, word, exponent, mechanism, costs=self.costs)
                for word in self.words
            ]
        )

    def law(self, mechanism: str, privacy: Privacy) -> ErrorLaw:
        """Probabilities of the distances, averaged over the words."""
        if mechanism == ONLINE:
            rate = 2 * privacy.exponent
            return _average([online_law(self.language, word, rate) for word in self.words])
        return self.offline_law(mechanism, self._exponent(privacy))

    def offline_law(self, mechanism: str, exponent: Fraction) -> ErrorLaw:
        """The same for an offline mechanism of any exponent."""
        return _average(self._laws(mechanism, exponent))

    def _laws(self, mechanism: str, exponent: Fraction) -> list[ErrorLaw]:
        if self.language.is_all_words and self.costs is None:
            return [error_law(self.language, self.words[0], exponent, mechanism)]
        return [
            law_of_levels(counts, exponent, mechanism, self.language.length, self.costs)
            for counts in self.levels
        ]

    def _exponent(self, privacy: Privacy) -> Fraction:
        return privacy.exponent if self.costs is None else privacy.exponent / self.costs.spread


def _mixed(parts: list[Moments]) -> Moments:
    """Moments for a word drawn uniformly."""
    mean = float(np.mean([part.mean for part in parts]))
    variance = float(np.mean([part.variance + (part.mean - mean) ** 2 for part in parts]))
    return Moments(mean, variance, float(np.mean([part.unchanged for part in parts])))


def _average(laws: list[ErrorLaw]) -> ErrorLaw:
    """The law for a word drawn uniformly."""
    return ErrorLaw.of(np.mean([law.pmf for law in laws], axis=0))
