"""Exact laws of the error of one word's release: functions of public data and the word.

`error_law` and `error_moments` are what mechanisms and reports call; the modules hold the parts:
cells of words weighed without overflow (`cells`), the race that permute-and-flip is (`race`), laws
from counts per distance (`offline`), moments without such counts (`moments`), and the online
mechanism (`online`).
"""

from __future__ import annotations

from fractions import Fraction

from dpauto.counting import joint_level_counts
from dpauto.language import Language
from dpauto.laws.cells import Cells, Levels
from dpauto.laws.errorlaw import ErrorLaw, Moments
from dpauto.laws.moments import offline_moments
from dpauto.laws.offline import exponential_law, law_of_cells, permute_and_flip_law
from dpauto.laws.online import online_law, online_moments
from dpauto.names import OFFLINE, PERMUTE_AND_FLIP, parse_mechanism
from dpauto.words import Costs, IntArray

__all__ = [
    "ErrorLaw",
    "Levels",
    "Moments",
    "error_law",
    "error_moments",
    "exponential_law",
    "law_on_all_words",
    "levels",
    "offline_moments",
    "online_law",
    "online_moments",
    "permute_and_flip_law",
]


def error_law(
    language: Language,
    word: IntArray,
    exponent: Fraction,
    mechanism: str = PERMUTE_AND_FLIP,
    *,
    costs: Costs | None = None,
) -> ErrorLaw:
    """Return the exact error law of permute-and-flip or the exponential mechanism.

    Parameters
    ----------
    language : Language
    word : int array, shape (n,)
        Symbol numbers; the word need not be feasible.
    exponent : Fraction
        a = epsilon / (2 b), per wrong symbol; under `costs`, epsilon / (2 Δ) per cost of 1.
    mechanism : {"permute-and-flip", "exponential"}, optional
    costs : Costs, optional

    Returns
    -------
    ErrorLaw
        Accurate to 1e-13. All words of 10**5 symbols take seconds; other languages take as long as
        counting their words per distance.

    Raises
    ------
    StateLimitExceeded
        If costs take too many different totals; `error_moments` does without counts.

    Examples
    --------
    >>> language = Language.all_words("ab", 1)
    >>> round(error_law(language, language.encode("a"), Fraction(1, 2)).mean, 6)
    0.303265
    """
    if language.is_all_words and costs is None:
        return law_on_all_words(language.length, len(language.alphabet), exponent, mechanism)
    return law_of_levels(levels(language, word, costs), exponent, mechanism, language.length, costs)


def levels(language: Language, word: IntArray, costs: Costs | None = None) -> Levels:
    """Return how many words there are at each distance, or at each (distance, cost)."""
    if costs is None:
        return language.level_counts(language.decode(word))
    return joint_level_counts(language.automaton, word, language.rows, costs.matrix)


def law_of_levels(
    levels: Levels, exponent: Fraction, mechanism: str, length: int, costs: Costs | None = None
) -> ErrorLaw:
    """Return the law of an offline mechanism, given `levels`."""
    denominator = 1 if costs is None else costs.denominator
    cells = Cells.of(levels, exponent, denominator=denominator)
    return law_of_cells(cells, parse_mechanism(mechanism, OFFLINE), length=length)


def law_on_all_words(
    length: int, alphabet_size: int, exponent: Fraction, mechanism: str = PERMUTE_AND_FLIP
) -> ErrorLaw:
    """Return the error law on all words: it is the same for every word.

    Parameters
    ----------
    length, alphabet_size : int
        n and m.
    exponent : Fraction
        a = epsilon / (2 b).
    mechanism : {"permute-and-flip", "exponential"}, optional

    Examples
    --------
    >>> law = law_on_all_words(10_000, 26, Fraction(5, 2))
    >>> round(law.mean, 9)
    6723.594180213
    """
    cells = Cells.all_words(length, alphabet_size, exponent)
    return law_of_cells(cells, parse_mechanism(mechanism, OFFLINE))


def error_moments(
    language: Language,
    word: IntArray,
    exponent: Fraction,
    mechanism: str = PERMUTE_AND_FLIP,
    *,
    costs: Costs | None = None,
) -> Moments:
    """Return mean, variance and the probability of no change, without counts where that is dear.

    Parameters are those of `error_law`.
    """
    if language.is_all_words and costs is None:
        return error_law(language, word, exponent, mechanism).moments()
    mechanism = parse_mechanism(mechanism, OFFLINE)
    return offline_moments(language, word, exponent, mechanism, costs=costs)
