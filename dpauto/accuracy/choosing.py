"""What epsilon an error allows."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpauto.accuracy.averages import WordErrors
from dpauto.arguments import real_number
from dpauto.errors import InvalidArgument
from dpauto.language import Language
from dpauto.names import (
    CALIBRATED,
    EVERY_NAME,
    OFFLINE,
    ONLINE,
    PERMUTE_AND_FLIP,
    parse_mechanism,
)
from dpauto.privacy import Epsilon, Privacy, parse_adjacency, parse_epsilon
from dpauto.words import Symbol

if TYPE_CHECKING:
    from dpauto.calibration import Certificate

__all__ = ["choose_epsilon"]

#: An epsilon of 2**20 per step of the search reaches whatever can be reached.
LARGEST_EPSILON = 2**20
#: Where a certificate falls just short of a target, epsilon grows by this share.
GROWTH = Fraction(1, 64)


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
        "permute-and-flip", "exponential", "online" or "calibrated".
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
        was computed too and is not. The error is that of a word drawn uniformly from `words`. For
        "calibrated": ``certify(language, epsilon=…, adjacency=…, mechanism="calibrated")`` was
        run, and with its certificate the error is within `target`.

    Raises
    ------
    InvalidArgument
        If a parameter is out of range or no epsilon reaches the target, as when the words are
        further than it from every feasible word.
    InvalidWord, UnknownSymbol
        If a word does not fit the language or, for "calibrated", is not feasible.
    EmptyNeighbourhood
        For "calibrated", if no two words of the language lie within b substitutions.

    Notes
    -----
    For permute-and-flip and the exponential mechanism the error falls as epsilon grows, in
    expectation and in every quantile, so bisection finds the smallest multiple: both are
    report-noisy-max with independent equal noise, and raising the weight of the distances moves
    probability from farther to nearer words. On a restricted language the online mechanism's error
    need not fall everywhere; what is returned then meets the target, but a smaller epsilon might.

    For "calibrated" the error tells the exponent that either certifiable mechanism needs, and the
    smallest epsilon is sought that can be proven at it: a few seconds, where a certificate for
    every epsilon of the search would take minutes. Then `certify` has to find as much; where it
    falls short, epsilon grows by 1/64. So this takes as long as a certificate or two, and a
    slightly smaller epsilon might do.

    Examples
    --------
    >>> language = Language.all_words("abcd", 8)
    >>> epsilon = choose_epsilon(language, ["abcdabcd"], adjacency=1, target=1)
    >>> float(epsilon)
    5.797
    """
    parse_mechanism(mechanism, EVERY_NAME)
    step, b = parse_epsilon(precision, name="precision"), parse_adjacency(adjacency)
    wanted = "target must be a finite number of at least 0"
    target = real_number(target, wanted=wanted, least=0, most=sys.float_info.max)
    if target == 0 and quantile is None:
        raise InvalidArgument("target must be positive: no epsilon makes the expected error 0")
    if quantile is not None:
        wanted = "quantile must be a number between 0 and 1"
        quantile = real_number(quantile, wanted=wanted, least=0, most=1)
    errors = WordErrors(language, words, costs)
    if mechanism in (ONLINE, CALIBRATED) and errors.costs is not None:
        raise InvalidArgument(f"costs: the {mechanism} mechanism has none")
    search = _Search(errors, b, target, quantile, step)
    return search.calibrated() if mechanism == CALIBRATED else search.plain(mechanism)


@dataclass(frozen=True)
class _Search:
    """Looking for the smallest multiple of `step` at which an error is within the target."""

    errors: WordErrors
    b: int
    target: float
    quantile: float | None
    step: Fraction

    def plain(self, mechanism: str) -> Fraction:
        """Return the epsilon of a mechanism without a certificate.

        Raises
        ------
        InvalidArgument
            If none reaches the target.
        """

        def good(multiple: int) -> bool:
            privacy = Privacy(multiple * self.step, self.b)
            if self.quantile is None:
                return self.errors.at(mechanism, privacy).mean <= self.target
            law = self.errors.law(mechanism, privacy)
            return law.quantile(self.quantile) <= self.target

        low, high = 0, max(1, round(1 / self.step))
        while not good(high):
            if high * self.step > LARGEST_EPSILON * self.b:
                raise InvalidArgument(
                    "target cannot be reached at any epsilon: it is below the error of the nearest"
                    " feasible words"
                )
            low, high = high, 2 * high
        return _smallest(good, low, high) * self.step

    def calibrated(self) -> Fraction:
        """Return an epsilon that `certify` was seen to serve."""
        from dpauto.calibration import certify

        self.errors.require_feasible()
        language = self.errors.language
        epsilon = min(self._provable(mechanism) for mechanism in OFFLINE)
        # It ends: where both mechanisms are good without a certificate, the chosen one is with it.
        while not self._is_met(
            certify(language, epsilon=epsilon, adjacency=self.b, mechanism=CALIBRATED)
        ):
            epsilon += max(1, epsilon * GROWTH // self.step) * self.step
        return epsilon

    def _provable(self, mechanism: str) -> Fraction:
        """Return the smallest epsilon that is proven at the exponent that the target needs."""
        from dpauto.calibration import Budget
        from dpauto.calibration.neighbours import require_neighbours
        from dpauto.calibration.proof import Prover

        require_neighbours(self.errors.language, self.b)
        nominal = self.plain(mechanism)
        privacy = Privacy(nominal, self.b)
        prover = Prover(self.errors.language, privacy, mechanism, Budget())

        def good(multiple: int) -> bool:
            epsilon = multiple * self.step
            found = prover.prove(
                privacy.exponent, epsilon, contexts=prover.budget.quick, patient=False
            )
            return found.loss <= epsilon

        # Half of it allows no more than exp(-exponent b) between words at distance b.
        high = int(nominal / self.step)
        return _smallest(good, (high - 1) // 2, high) * self.step

    def _is_met(self, certificate: Certificate) -> bool:
        """Whether a certified mechanism is within the target."""
        mechanism, exponent = certificate.mechanism, certificate.exponent
        if self.quantile is None:
            return self.errors.offline(mechanism, exponent).mean <= self.target
        law = self.errors.offline_law(mechanism, exponent)
        return law.quantile(self.quantile) <= self.target


def _smallest(good: Callable[[int], bool], low: int, high: int) -> int:
    """Bisect between a multiple that is too small and one that is good."""
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if good(middle) else (middle, high)
    return high
