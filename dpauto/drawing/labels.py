"""Text for symbols, states and probabilities in a drawing, such that no two of them look alike.

A drawing must not show the states 1 and "1" alike, nor the symbol "a, b" like the two symbols "a"
and "b". Plain text stands bare where everything in the drawing is plain and of one type; otherwise
values are written as Python literals.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable
from fractions import Fraction
from typing import Final, TypeAlias

from dpauto.arrays import START

__all__ = ["Labeller", "Probability", "join_symbols", "probability_text"]

Probability: TypeAlias = Fraction | float

#: What would blur where a bare label begins or ends in a list such as "a, b: 1/6 each".
_CONFUSING: Final = re.compile(r",|: |…|^\s|\s$|\s\s")
#: A default repr shows an address, which changes from run to run.
_ADDRESS: Final = re.compile(r" at 0x[0-9A-Fa-f]+")

#: Fractions with a denominator below are shown exactly, and looked for behind floats.
_LONG: Final = 10_000
_SHORT: Final = 99
#: Most symbols that an edge lists before it counts them.
SYMBOLS_SHOWN: Final = 6


class Labeller:
    """Turns the symbols or states of one drawing into text, two values never into one text.

    Parameters
    ----------
    values : iterable of hashable
        Everything that the drawing will show in this role, in a fixed order.

    Examples
    --------
    >>> Labeller(["a", "b"]).text("a"), Labeller([1, "1"]).text("1"), Labeller([1, 2]).text(1)
    ('a', "'1'", '1')
    >>> Labeller(["a", "a, b"]).text("a")
    "'a'"
    """

    def __init__(self, values: Iterable[Hashable]) -> None:
        distinct = list(dict.fromkeys(values))
        kinds = {type(value) for value in distinct if value is not START}
        bare = kinds == {str} and all(_is_bare(v) for v in distinct if v is not START)
        self._texts: dict[Hashable, str] = {}
        taken: dict[str, int] = {}
        for value in distinct:
            text = str(value) if bare or value is START else visible(literal(value))
            # Two values of one text (objects whose repr says too little) are told apart by number.
            taken[text] = taken.get(text, 0) + 1
            self._texts[value] = text if taken[text] == 1 else f"{text} #{taken[text]}"

    def text(self, value: Hashable) -> str:
        """Return the text of one of the values."""
        return self._texts[value]


def _is_bare(value: Hashable) -> bool:
    return (
        isinstance(value, str)
        and value != ""
        and value.isprintable()
        and _CONFUSING.search(value) is None
    )


def visible(text: str) -> str:
    r"""Return a text with what cannot be seen, line breaks too, as Python escapes.

    Examples
    --------
    >>> print(visible("a\tb"))
    a\tb
    """
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def literal(value: object) -> str:
    """Return a value's repr, made independent of hash order and of addresses.

    Examples
    --------
    >>> literal((1, "b", frozenset({"y", "x"})))
    "(1, 'b', {'x', 'y'})"
    """
    if type(value) is tuple:
        inner = ", ".join(literal(v) for v in value)
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    if isinstance(value, frozenset):
        return "{" + ", ".join(sorted(literal(v) for v in value)) + "}"
    return _ADDRESS.sub("", repr(value))


def probability_text(probability: Probability) -> str:
    """Return a probability as people read it: a short decimal or fraction, else three digits.

    Examples
    --------
    >>> probability_text(Fraction(1, 3)), probability_text(0.25), probability_text(1 / 3)
    ('1/3', '0.25', '1/3')
    >>> probability_text(Fraction(10**30, 3 * 10**30 + 1)), probability_text(0.123456)
    ('≈ 0.333', '≈ 0.123')
    """
    if isinstance(probability, Fraction):
        if probability.denominator < _LONG:
            return str(probability)
        return f"≈ {float(probability):.3g}"
    text = f"{probability:.3g}"
    if float(text) == probability:
        return text
    # A chain of equal chances has floats that stand for 1/3 or 1/7.
    near = Fraction(probability).limit_denominator(_SHORT)
    return str(near) if float(near) == probability else f"≈ {text}"


def join_symbols(texts: list[str]) -> str:
    """Return the symbols of one edge as a list, the rest counted when there are many.

    Examples
    --------
    >>> join_symbols(["a", "b"])
    'a, b'
    >>> join_symbols([str(k) for k in range(20)])
    '0, 1, 2, 3, 4, … (20)'
    """
    if len(texts) <= SYMBOLS_SHOWN:
        return ", ".join(texts)
    return f"{', '.join(texts[: SYMBOLS_SHOWN - 1])}, … ({len(texts)})"
