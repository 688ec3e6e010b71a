"""Exact error laws of permute-and-flip and of the exponential mechanism."""

from __future__ import annotations

from fractions import Fraction

from dpauto.laws.cells import Cells, Levels
from dpauto.laws.errorlaw import ErrorLaw
from dpauto.laws.race import gains
from dpauto.names import EXPONENTIAL, PERMUTE_AND_FLIP

__all__ = ["exponential_law", "law_of_cells", "permute_and_flip_law"]


def permute_and_flip_law(
    levels: Levels, exponent: Fraction, *, denominator: int = 1, length: int | None = None
) -> ErrorLaw:
    """Return the exact error law of permute-and-flip.

    Parameters
    ----------
    levels : sequence of int, or mapping {(distance, cost): int}
        N_0 … N_n, exact, of any size; or with symbol costs the number of words at each distance and
        cost, in units of 1 / `denominator`.
    exponent : Fraction
        a = epsilon / (2 b), the price of one error (with costs: of cost 1).
    denominator : int, optional
    length : int, optional
        n, where a mapping does not reach it.

    Returns
    -------
    ErrorLaw
        Accurate to 1e-13.

    Raises
    ------
    EmptyLanguage
        If `levels` counts no word.

    Notes
    -----
    With d* the least distance and p_l = exp(-a (l - d*)),

        P(l) = N_l p_l * integral_0^1 (1 - p_l t)^(N_l - 1) prod_{k != l} (1 - p_k t)^(N_k) dt

    (Benvenuti, Rao and Hale, arXiv 2603.28903, Mechanism 1, in integral form). The factor exp(a d*)
    makes it a law for words outside the language too (McKenna and Sheldon, arXiv 2010.12603).

    Examples
    --------
    >>> law = permute_and_flip_law([1, 1], Fraction(1, 2))
    >>> round(law.mean, 12)
    0.303265329856
    """
    cells = Cells.of(levels, exponent, denominator=denominator)
    return law_of_cells(cells, PERMUTE_AND_FLIP, length=length)


def exponential_law(
    levels: Levels, exponent: Fraction, *, denominator: int = 1, length: int | None = None
) -> ErrorLaw:
    """Return the exact error law of the exponential mechanism, P(l) = N_l exp(-a l) / Z.

    Parameters and errors are those of `permute_and_flip_law`.

    Examples
    --------
    >>> round(exponential_law([1, 1], Fraction(1, 2)).mean, 12)
    0.377540668798
    """
    cells = Cells.of(levels, exponent, denominator=denominator)
    return law_of_cells(cells, EXPONENTIAL, length=length)


def law_of_cells(cells: Cells, mechanism: str, *, length: int | None = None) -> ErrorLaw:
    """Return the error law of an offline mechanism on weighed cells."""
    probability = cells.share
    if mechanism == PERMUTE_AND_FLIP:
        gain = gains(cells)
        probability = probability * (1 + (gain - float(probability @ gain)))
    return ErrorLaw.of(
        probability,
        distance=cells.distance,
        cost=cells.cost,
        length=cells.length if length is None else length,
    )
