"""Privacy parameters as exact numbers: epsilon, adjacency and the exponent they make."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from numbers import Rational, Real
from typing import Any, TypeAlias

from dpauto.arguments import fraction_of, whole_number
from dpauto.errors import InvalidArgument

__all__ = ["Epsilon", "Privacy", "parse_adjacency", "parse_epsilon"]

Epsilon: TypeAlias = int | float | str | Fraction | Decimal


def parse_epsilon(value: Epsilon, *, name: str = "epsilon") -> Fraction:
    """Return epsilon as the exact rational that was written.

    Parameters
    ----------
    value : int, float, str, Fraction or Decimal
        A float is read as written, so 0.1 is 1/10, whatever its precision: numpy's float32(0.1) is
        1/10 too. A string may be "0.1", "1e-2" or "1/3".
    name : str, optional
        The argument's name in the error.

    Returns
    -------
    Fraction
        Positive.

    Raises
    ------
    InvalidArgument
        If `value` is not a number, not finite or not positive.

    Examples
    --------
    >>> parse_epsilon(0.1), parse_epsilon("1/3"), parse_epsilon(2)
    (Fraction(1, 10), Fraction(1, 3), Fraction(2, 1))
    """
    wanted = f"{name} must be a positive number such as 1, 0.5 or '1/3'"
    if isinstance(value, bool) or not isinstance(value, Real | Decimal | str):
        raise InvalidArgument(wanted)
    try:
        if isinstance(value, Rational):
            # int(): a numpy integer would stay one inside the fraction, and overflow.
            exact = Fraction(int(value.numerator), int(value.denominator))
        elif isinstance(value, Decimal):
            exact = fraction_of(value)
        elif isinstance(value, str) and "/" in value:
            exact = fraction_of(value.replace(" ", ""))
        else:
            exact = fraction_of(value.strip() if isinstance(value, str) else _written(value))
    except (TypeError, ValueError, InvalidOperation, OverflowError, ZeroDivisionError):
        raise InvalidArgument(wanted) from None
    if exact <= 0:
        raise InvalidArgument(f"{wanted}; it is not positive")
    return exact


def _written(number: Any) -> str:
    """Return the shortest decimal that reads back as a number of its precision."""
    if isinstance(number, float) or not hasattr(number, "dtype"):
        return repr(float(number))
    import numpy as np

    # Made a float first, a float32 would show digits that nobody wrote.
    return np.format_float_scientific(number)


def parse_adjacency(value: int, *, name: str = "adjacency") -> int:
    """Return the adjacency b, the number of substitutions that the guarantee hides.

    Raises
    ------
    InvalidArgument
        If `value` is not a whole number of at least 1.
    """
    return whole_number(value, name=name)


@dataclass(frozen=True)
class Privacy:
    """What is promised: words within `adjacency` substitutions are `epsilon`-indistinguishable.

    Examples
    --------
    >>> Privacy.of(epsilon=3, adjacency=2).exponent
    Fraction(3, 4)
    """

    epsilon: Fraction
    adjacency: int

    @classmethod
    def of(cls, *, epsilon: Epsilon, adjacency: int) -> Privacy:
        """Return the parsed parameters; raises InvalidArgument as the parsers do."""
        return cls(parse_epsilon(epsilon), parse_adjacency(adjacency))

    @property
    def exponent(self) -> Fraction:
        """a = epsilon / (2 b): one error costs a factor exp(-a)."""
        return self.epsilon / (2 * self.adjacency)
