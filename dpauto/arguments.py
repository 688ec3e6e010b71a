"""Checks of arguments that many rooms take."""

from __future__ import annotations

import operator
from typing import Any

from dpauto.errors import InvalidArgument

__all__ = ["whole_number"]


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
    if isinstance(value, bool) or number < least:
        raise InvalidArgument(wanted)
    return number
