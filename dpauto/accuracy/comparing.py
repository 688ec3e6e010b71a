"""What error an epsilon means, for every mechanism, and what epsilon an error allows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dpauto.errors import InvalidArgument
from dpauto.language import Language
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
from dpauto.names import CALIBRATED, ONLINE, PERMUTE_AND_FLIP, UNCERTIFIED, parse_mechanism
from dpauto.privacy import Epsilon, Privacy, parse_adjacency, parse_epsilon
from dpauto.words import Costs, IntArray, Symbol

if TYPE_CHECKING:
    from dpauto.calibration import Certificate

__all__ = ["Comparison", "choose_epsilon", "compare"]

#: Counts per distance are made in floats while the language has no more bits of words than this.
COUNT_BITS = 1000
#: An epsilon of 2**20 per step of the search reaches whatever can be reached.
LARGEST_EPSILON = 2**20


class Comparison(NamedTuple):
    """One mechanism at one epsilon: the error of a word drawn uniformly from the given ones.

    Attributes
    ----------
    epsilon : Fraction
    mechanism : str
        "permute-and-flip", "exponential", "online" or "calibrated".
    mean, deviation : float
        Expected number of wrong symbols (under costs: expected cost), and standard deviation.
    unchanged : float
        Probability that a word is released as it is.
    """

    epsilon: Fraction
    mechanism: str
    mean: float
    deviation: float
    unchanged: float


def compare(
    language: Language,
    words: Iterable[Iterable[Symbol]],
    *,
    epsilons: Iterable[Epsilon],
    adjacency: int,
    mechanisms: Iterable[str] = UNCERTIFIED,
    certificates: Mapping[Any, Certificate] | None = None,
    costs: Any = None,
) -> list[Comparison]:
    """Return the exact error of every mechanism at every epsilon.

    Parameters
    ----------
    language : Language
    words : iterable of words
        Public words, such as samples from the model. What is returned depends on them: a table made
        from sensitive words is as sensitive as they are.
    epsilons : iterable of int, float, Fraction or str
    adjacency : int
        b, at least 1.
    mechanisms : iterable of str, optional
        Names, in the order of the rows.
    certificates : mapping {epsilon: Certificate}, optional
        With them, each listed epsilon gets a row "calibrated".
    costs : Costs, mapping, callable or integer matrix, optional
        Errors are then costs, and the online mechanism, which has no costs, is left out.

    Returns
    -------
    list of Comparison
        Grouped by epsilon.

    Raises
    ------
    InvalidArgument
        If a parameter is out of range or a mechanism is unknown.
    InvalidWord, UnknownSymbol
        If a word does not fit the language.

    Examples
    --------
    >>> language = Language.all_words("abcd", 8)
    >>> for row in compare(language, ["abcdabcd"], epsilons=[4], adjacency=1):
    ...     print(f"{row.mechanism:16} {row.mean:.3f}")
    permute-and-flip 2.296
    exponential      2.310
    online           0.417
    """
    names = list(mechanisms)
    for name in names:
        _check_name(name)
    errors = _Errors(language, words, costs)
    if errors.costs is not None:
        names = [name for name in names if name != ONLINE]
    certified = {parse_epsilon(e): c for e, c in (certificates or {}).items()}
    rows = []
    for value in epsilons:
        privacy = Privacy.of(epsilon=value, adjacency=adjacency)
        rows += [_row(privacy, name, errors.at(name, privacy)) for name in names]
        certificate = certified.get(privacy.epsilon)
        if certificate is not None:
            certificate.verify_for(language, privacy, certificate.mechanism)
            found = errors.offline(certificate.mechanism, certificate.exponent)
            rows.append(_row(privacy, CALIBRATED, found))
    return rows


def choose_epsilon(
    language: Language,
    words: Iterable[Iterable[Symbol]],
    *,
    adjacency: int,
    target: float,
    mechanism: str = PERMUTE_AND_FLIP,
    quantile: float | None = None,
    precision: Epsilon = "0.001",
    costs: Any = None,
) -> Fraction:
    """Return the smallest epsilon at which the error is as small as wanted.

    Parameters
    ----------
    language : Language
    words : iterable of words
        Public words that stand for those to come. Never the sensitive words themselves: epsilon
        would tell something about them.
    adjacency : int
        b, at least 1.
    target : float
        Largest acceptable error, in wrong symbols (under costs: in cost).
    mechanism : str, optional
        "permute-and-flip", "exponential" or "online".
    quantile : float, optional
        With q between 0 and 1, at most `target` wrong symbols in a fraction q of releases. By
        default the expected error is meant.
    precision : int, float, Fraction or str, optional
        Epsilon is a multiple of it.
    costs : Costs, mapping, callable or integer matrix, optional

    Returns
    -------
    Fraction
        The error was computed at it and is within `target`; at one multiple of `precision` less it
        was computed too and is not. The error is that of a word drawn uniformly from `words`.

    Raises
    ------
    InvalidArgument
        If a parameter is out of range or no epsilon reaches the target, as when the words are
        further than it from every feasible word.

    Notes
    -----
    For permute-and-flip and the exponential mechanism the error falls as epsilon grows, in
    expectation and in every quantile, so bisection finds the smallest multiple: both are
    report-noisy-max with independent equal noise, and raising the weight of the distances moves
    probability from farther to nearer words. On a restricted language the online mechanism's error
    need not fall everywhere; what is returned then meets the target, but a smaller epsilon might.

    Examples
    --------
    >>> language = Language.all_words("abcd", 8)
    >>> epsilon = choose_epsilon(language, ["abcdabcd"], adjacency=1, target=1)
    >>> float(epsilon)
    5.797
    """
    _check_name(mechanism)
    step, b = parse_epsilon(precision, name="precision"), parse_adjacency(adjacency)
    if isinstance(target, bool) or not 0 <= target < np.inf:
        raise InvalidArgument("target must be a finite number of at least 0")
    if target == 0 and quantile is None:
        raise InvalidArgument("target must be positive: no epsilon makes the expected error 0")
    if quantile is not None and not 0 <= quantile <= 1:
        raise InvalidArgument("quantile must be a number between 0 and 1")
    errors = _Errors(language, words, costs)
    if mechanism == ONLINE and errors.costs is not None:
        raise InvalidArgument("costs: the online mechanism has none")

    def good(multiple: int) -> bool:
        privacy = Privacy(multiple * step, b)
        if quantile is None:
            return errors.at(mechanism, privacy).mean <= target
        return errors.law(mechanism, privacy).quantile(quantile) <= target

    low, high = 0, max(1, round(1 / step))
    while not good(high):
        if high * step > LARGEST_EPSILON * b:
            raise InvalidArgument(
                "target cannot be reached at any epsilon: it is below the error of the nearest"
                " feasible words"
            )
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if good(middle) else (middle, high)
    return high * step


class _Errors:
    """Errors averaged over words; counts per distance are made once and serve every epsilon."""

    def __init__(self, language: Language, words: Iterable[Iterable[Symbol]], costs: Any) -> None:
        if not isinstance(language, Language):
            raise InvalidArgument("language must be a Language, for example model.language(length)")
        self.language = language
        if costs is None or isinstance(costs, Costs):
            self.costs = costs
        else:
            self.costs = Costs(costs, language.alphabet)
        self.words: list[IntArray] = [
            language.encode(w, name=f"words: word {row}") for row, w in enumerate(words, 1)
        ]
        if not self.words:
            raise InvalidArgument("words must hold at least one word")
        if language.is_all_words and self.costs is None:
            # The law is the same for all.
            del self.words[1:]

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
            laws = [online_law(self.language, word, rate) for word in self.words]
        else:
            laws = self._laws(mechanism, self._exponent(privacy))
        return ErrorLaw.of(np.mean([law.pmf for law in laws], axis=0))

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


def _row(privacy: Privacy, name: str, found: Moments) -> Comparison:
    deviation = float(np.sqrt(found.variance))
    return Comparison(privacy.epsilon, name, found.mean, deviation, found.unchanged)


def _check_name(name: str) -> None:
    if name == CALIBRATED:
        raise InvalidArgument(
            f"mechanism {CALIBRATED!r} needs a certificate for each epsilon: give compare certificates"
        )
    parse_mechanism(name, UNCERTIFIED)
