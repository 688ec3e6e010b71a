"""Checks of arguments that many rooms take, and where warnings about them point."""

from __future__ import annotations

import math
import operator
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from numbers import Real
from typing import Any, TypeVar

from dpauto.errors import InvalidArgument

__all__ = [
    "each",
    "fraction_of",
    "one_of",
    "real_number",
    "require_graph",
    "shown",
    "warn",
    "whole_number",
]

Item = TypeVar("Item")

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


def whole_number(value: Any, *, name: str, least: int = 1, most: int | None = None) -> int:
    """Return a whole number, such as a length or a count, as an int.

    Parameters
    ----------
    value : int
        Or whatever Python takes as an index, such as a numpy integer; True and False are refused.
    name : str
        What the message calls the argument.
    least, most : int, optional
        The smallest and the largest number that is allowed; by default the latter is as many
        entries as an array can have.

    Raises
    ------
    InvalidArgument
        If `value` is not a whole number between them.

    Examples
    --------
    >>> whole_number(3, name="length")
    3
    """
    bounds = f"of at least {least}" if most is None else f"from {least} to {most}"
    wanted = f"{name} must be a whole number {bounds}"
    try:
        number = operator.index(value)
    except TypeError:
        raise InvalidArgument(wanted) from None
    if _is_truth_value(value) or number < least or (most is not None and number > most):
        raise InvalidArgument(wanted)
    if most is None and number > sys.maxsize:
        raise InvalidArgument(f"{name} must be a whole number of at most {sys.maxsize}")
    return number


def _is_truth_value(value: Any) -> bool:
    # Before numpy 2.3 its own True and False pass for indices.
    return isinstance(value, bool) or type(value).__name__ == "bool"


def real_number(
    value: Any, *, wanted: str, least: float = -math.inf, most: float = math.inf
) -> float:
    """Return a number as a float.

    Parameters
    ----------
    value : float
        Or an int, a Fraction, a numpy number; True, False and NaN are refused.
    wanted : str
        The message: the argument and what it must be.
    least, most : float, optional
        Bounds, which are allowed.

    Raises
    ------
    InvalidArgument
        If `value` is no number between the bounds, or too large for a float.

    Examples
    --------
    >>> real_number(1, wanted="q must be a number")
    1.0
    """
    if not isinstance(value, Real) or _is_truth_value(value):
        raise InvalidArgument(wanted)
    try:
        number = float(value)
    except OverflowError:
        raise InvalidArgument(wanted) from None
    if not least <= number <= most:
        raise InvalidArgument(wanted)
    return number


def one_of(value: Any, known: Sequence[str], *, name: str) -> str:
    """Return a word out of a few.

    Raises
    ------
    InvalidArgument
        If `value` is another; the message lists those that are known.

    Examples
    --------
    >>> one_of("dog", ["cat", "dog"], name="pet")
    'dog'
    """
    if not isinstance(value, str) or value not in known:
        listed = [repr(one) for one in known]
        raise InvalidArgument(f"{name} must be {', '.join(listed[:-1])} or {listed[-1]}")
    return value


def each(values: Iterable[Item], *, name: str, of: str) -> Iterator[Item]:
    """Return an iterator over a collection.

    Raises
    ------
    InvalidArgument
        If `values` cannot be iterated over; the message says what it should hold.

    Examples
    --------
    >>> list(each((1, 2), name="epsilons", of="numbers"))
    [1, 2]
    """
    try:
        return iter(values)
    except TypeError:
        raise InvalidArgument(f"{name} must be a collection of {of}") from None


def require_graph(graph: Any, *, wanted: str) -> Any:
    """Return a networkx graph as it is.

    Raises
    ------
    InvalidArgument
        If it is none; the message says what is `wanted`.
    """
    # Asking for the methods instead of the type spares the import of networkx.
    methods = ("is_directed", "is_multigraph", "adjacency")
    if isinstance(graph, type) or not all(hasattr(graph, method) for method in methods):
        raise InvalidArgument(f"graph must be a networkx graph, {wanted}")
    return graph


def shown(value: object) -> str:
    """Return a repr that fits into a message."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…"


def warn(message: str, category: type[Warning]) -> None:
    """Warn at the line outside dpauto that led here, however many calls lie between."""
    package = __name__.partition(".")[0]
    frame, level = sys._getframe(1), 2
    while frame.f_back and str(frame.f_globals.get("__name__")).partition(".")[0] == package:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
