"""Checks of arguments that many rooms take, and where warnings about them point."""

from __future__ import annotations

import operator
import sys
import warnings
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any

from dpauto.errors import InvalidArgument

__all__ = ["fraction_of", "warn", "whole_number"]

#: Largest power of ten, up or down, of a decimal that is turned into a fraction.
MOST_DIGITS = 10_000


def fraction_of(value: str | Decimal) -> Fraction:
    """Return the fraction that was written, unless writing it down would fill the memory.

    Parameters
    ----------
    value : str or Decimal
        Such as "0.1", "1e-2" or "1/3".

    Raises
    ------
    ValueError
        If `value` is not a finite number, or is a decimal such as 1e999999999.
    ZeroDivisionError
        If the denominator is 0.

    Examples
    --------
    >>> fraction_of("1e-2"), fraction_of("1/3")
    (Fraction(1, 100), Fraction(1, 3))
    """
    if isinstance(value, str) and "/" in value:
        return Fraction(value)
    try:
        number = Decimal(value)
    except InvalidOperation:
        raise ValueError("not a number") from None
    if not number.is_finite() or abs(number.adjusted()) > MOST_DIGITS:
        raise ValueError("not a number of reasonable size")
    return Fraction(number)


def whole_number(value: Any, *, name: str, least: int = 1) -> int:
    """Return a whole number, such as a length or a count, as an int.

    Parameters
    ----------
    value : int
        Or whatever Python takes as an index, such as a numpy integer; True and False are refused.
    name : str
        What the message calls the argument.
    least : int, optional
        The smallest number that is allowed.

    Raises
    ------
    InvalidArgument
        If `value` is not a whole number of at least `least`.

    Examples
    --------
    >>> whole_number(3, name="length")
    3
    """
    wanted = f"{name} must be a whole number of at least {least}"
    try:
        number = operator.index(value)
    except TypeError:
        raise InvalidArgument(wanted) from None
    # Before numpy 2.3 its own True and False pass for indices.
    is_truth_value = isinstance(value, bool) or type(value).__name__ == "bool"
    if is_truth_value or number < least:
        raise InvalidArgument(wanted)
    return number


def warn(message: str, category: type[Warning]) -> None:
    """Warn at the line outside dpauto that led here, however many calls lie between."""
    package = __name__.partition(".")[0]
    frame, level = sys._getframe(1), 2
    while frame.f_back and str(frame.f_globals.get("__name__")).partition(".")[0] == package:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
