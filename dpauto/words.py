"""Words over an alphabet, the Hamming distance and symbol costs.

A word is a tuple of hashable symbols. Inside dpauto a word is an array of symbol numbers, positions
in an `Alphabet`; symbols themselves are touched only where words come in and go out.
"""

from __future__ import annotations

import hashlib
import math
from array import array
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from numbers import Rational
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpauto.arguments import shown
from dpauto.errors import InvalidArgument, InvalidModel, InvalidWord, UnknownSymbol

__all__ = ["Alphabet", "Costs", "Symbol", "Word", "as_word", "canonical_order", "hamming_distance"]

Symbol: TypeAlias = Hashable
Word: TypeAlias = tuple[Symbol, ...]
IntArray: TypeAlias = NDArray[np.int64]

#: Largest alphabet of a cost table, which is kept for all pairs.
MOST_SYMBOLS = 4096


def as_word(symbols: Iterable[Symbol], *, name: str = "w") -> Word:
    """Return `symbols` as a tuple; a string is read as its characters.

    Raises
    ------
    InvalidWord
        If `symbols` cannot be iterated.
    """
    try:
        return tuple(symbols)
    except TypeError:
        raise InvalidWord(f"{name} must be a sequence of symbols") from None


def hamming_distance(w: Iterable[Symbol], v: Iterable[Symbol]) -> int:
    """Return the number of positions at which two words of equal length differ.

    Parameters
    ----------
    w, v : iterable of hashable
        Words of the same length.

    Returns
    -------
    int
        Between 0 and the words' length.

    Raises
    ------
    InvalidWord
        If the lengths differ.

    Examples
    --------
    >>> hamming_distance("abca", "abba")
    1
    >>> hamming_distance([1, "b", (2, 3)], [1, "c", (2, 4)])
    2
    """
    left, right = as_word(w), as_word(v, name="v")
    if len(left) != len(right):
        raise InvalidWord(f"v must have the length of w: lengths are {len(left)} and {len(right)}")
    return sum(a != b for a, b in zip(left, right, strict=True))


def canonical_order(symbols: Iterable[Symbol]) -> list[Symbol]:
    """Return `symbols` as a list whose order does not depend on hashing.

    A sequence or mapping keeps its order. A set has none, so its members are sorted by type and
    text: two processes that read the same model must number it alike, or a keyed release asked
    twice would differ.
    """
    if isinstance(symbols, set | frozenset):
        return sorted(symbols, key=_sort_key)
    return list(symbols)


def _sort_key(symbol: Symbol) -> tuple[str, int, str]:
    text = _text(symbol)
    return type(symbol).__name__, len(text), text


def _text(symbol: Symbol) -> str:
    # The repr of a frozenset depends on hashing, also inside a tuple.
    if isinstance(symbol, frozenset):
        return "{" + ", ".join(sorted(map(_text, symbol))) + "}"
    if type(symbol) is tuple:
        return "(" + ", ".join(map(_text, symbol)) + ")"
    return repr(symbol)


class Alphabet(Sequence[Symbol]):
    """A finite alphabet: distinct hashable symbols, numbered from 0 in a fixed order.

    Parameters
    ----------
    symbols : iterable of hashable
        The symbols in order; a `range` is kept as it is, so a million integer states cost nothing.
    argument, noun : str, optional
        What messages call `symbols` and one of them.

    Raises
    ------
    InvalidModel
        If there is no symbol, one occurs twice or one is not hashable.

    Examples
    --------
    >>> sigma = Alphabet("abc")
    >>> sigma.index("c"), sigma[0], len(sigma), "z" in sigma
    (2, 'a', 3, False)
    >>> sigma.encode("cab").tolist()
    [2, 0, 1]
    """

    def __init__(
        self, symbols: Iterable[Symbol], *, argument: str = "alphabet", noun: str = "symbol"
    ) -> None:
        self._symbols: tuple[Symbol, ...] | range
        #: None where a symbol is its own number.
        self._numbers: dict[Symbol, int] | None
        if isinstance(symbols, Alphabet):
            self._symbols, self._numbers = symbols._symbols, symbols._numbers
            return
        try:
            listed = symbols if isinstance(symbols, range) else tuple(canonical_order(symbols))
        except TypeError:
            raise InvalidModel(f"{argument} must be a collection of {noun}s") from None
        if not listed:
            raise InvalidModel(f"{argument} must hold at least one {noun}")
        if _is_plain_range(listed):
            self._symbols, self._numbers = range(len(listed)), None
        else:
            self._symbols, self._numbers = tuple(listed), _numbered(listed, argument, noun)

    @cached_property
    def digest(self) -> bytes:
        """A SHA-256 of the symbols in their order, types included."""
        if self._numbers is None:
            return hashlib.sha256(f"range {len(self)}".encode()).digest()
        whole = hashlib.sha256()
        for symbol in self._symbols:
            content = (
                f"{type(symbol).__module__}.{type(symbol).__qualname__}:{_text(symbol)}".encode()
            )
            whole.update(len(content).to_bytes(8, "big") + content)
        return whole.digest()

    @property
    def symbols(self) -> tuple[Symbol, ...] | range:
        """The symbols in order: a tuple, or a range where they are 0, 1, …, m-1."""
        return self._symbols

    def __len__(self) -> int:
        return len(self._symbols)

    def __getitem__(self, number: Any) -> Any:
        return self._symbols[number]

    def __iter__(self) -> Iterator[Symbol]:
        return iter(self._symbols)

    def __contains__(self, symbol: object) -> bool:
        return self.number(symbol) is not None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Alphabet):
            return NotImplemented
        return tuple(self._symbols) == tuple(other._symbols)

    def __hash__(self) -> int:
        return hash(tuple(self._symbols))

    def __repr__(self) -> str:
        shown = ", ".join(repr(s) for s in self._symbols[:6])
        return f"Alphabet([{shown}{', …' if len(self) > 6 else ''}], size={len(self)})"

    def number(self, symbol: object) -> int | None:
        """Return the number of `symbol`, or None when it is not in the alphabet."""
        if self._numbers is None:
            whole = isinstance(symbol, int | np.integer) and not isinstance(symbol, bool)
            return int(symbol) if whole and 0 <= symbol < len(self) else None  # type: ignore[call-overload,operator]
        try:
            return self._numbers.get(symbol)
        except TypeError:
            return None

    def index(self, symbol: Any, start: int = 0, stop: int | None = None) -> int:
        """Return the number of `symbol`.

        Raises
        ------
        UnknownSymbol
            If it is not in the alphabet; the message does not repeat it.
        """
        number = self.number(symbol)
        if number is None or number < start or (stop is not None and number >= stop):
            raise UnknownSymbol("symbol is not in the alphabet")
        return number

    def encode(self, word: Iterable[Symbol], *, name: str = "w") -> IntArray:
        """Return the word as symbol numbers, shape (length,).

        Raises
        ------
        UnknownSymbol
            If a symbol is not in the alphabet: the position is named, never the symbol.
        """
        symbols = as_word(word, name=name)
        whole = _integers(symbols) if self._numbers is None else None
        if whole is not None:
            # Read as unsigned, negative numbers are too large as well.
            unsigned = whole.view(np.uint64)
            if unsigned.max(initial=0) >= len(self):
                raise self._unknown(name, int(np.argmax(unsigned >= len(self))))
            return whole
        numbers = np.empty(len(symbols), dtype=np.int64)
        for position, symbol in enumerate(symbols):
            number = self.number(symbol)
            if number is None:
                raise self._unknown(name, position)
            numbers[position] = number
        return numbers

    def _unknown(self, name: str, position: int) -> UnknownSymbol:
        return UnknownSymbol(
            f"{name}: the symbol at position {position + 1} is not in the alphabet of"
            f" {len(self)} symbols"
        )

    def decode(self, numbers: Iterable[int]) -> Word:
        """Return symbol numbers as the word they stand for."""
        if isinstance(numbers, np.ndarray):
            # To take objects is faster than to make integers, once there is a table of them.
            if len(numbers) > len(self):
                return tuple(self._table[numbers].tolist())
            numbers = numbers.tolist()
        if self._numbers is None:
            return tuple(numbers)
        return tuple(map(self._symbols.__getitem__, numbers))

    @cached_property
    def _table(self) -> NDArray[np.object_]:
        table = np.empty(len(self), dtype=object)
        for number, symbol in enumerate(self._symbols):
            table[number] = symbol
        return table


def _integers(symbols: tuple[Any, ...]) -> IntArray | None:
    """Return a word of integers as an array, at once; None if it is no such word.

    A word over the states of a sparse matrix may have a million symbols.
    """
    try:
        found: IntArray = np.frombuffer(array("q", symbols), dtype=np.int64)
    except (TypeError, OverflowError):
        return None
    # False and True would pass for 0 and 1.
    suspects = np.flatnonzero(found.view(np.uint64) <= 1).tolist()
    return None if bool in {type(symbols[k]) for k in suspects} else found


def _is_plain_range(symbols: Sequence[Symbol]) -> bool:
    """Return whether symbols are 0, 1, …, m-1: then none needs to be looked up."""
    if isinstance(symbols, range):
        return symbols == range(len(symbols))
    return all(type(s) is int and s == k for k, s in enumerate(symbols))


def _numbered(symbols: Iterable[Symbol], argument: str, noun: str) -> dict[Symbol, int]:
    """Return the number of every symbol; raises InvalidModel where one has none of its own."""
    numbers: dict[Symbol, int] = {}
    for number, symbol in enumerate(symbols):
        try:
            first = numbers.setdefault(symbol, number)
        except TypeError:
            raise InvalidModel(f"{argument}: {noun} number {number} is not hashable") from None
        if first != number:
            raise InvalidModel(f"{argument}: {noun} {shown(symbol)} occurs twice")
    return numbers


class Costs:
    """A public table of what it costs to write one symbol where another is true.

    Parameters
    ----------
    table : mapping, callable or integer matrix
        ``{(true, written): cost}`` (pairs left out cost 0 on the diagonal and are refused
        elsewhere), a callable of the two symbols, or a square integer matrix in alphabet order.
        Costs are int or Fraction, at least 0, and 0 for a symbol written as itself.
    alphabet : Alphabet or iterable of hashable

    Raises
    ------
    InvalidArgument
        If a cost is missing, negative, not rational or not 0 on the diagonal, or if no symbol pair
        distinguishes anything (the sensitivity would be 0).

    Notes
    -----
    Costs are kept as integers over one common denominator, so that sums and ties are exact.
    """

    __slots__ = ("alphabet", "denominator", "matrix", "spread")

    def __init__(
        self,
        table: Mapping[tuple[Symbol, Symbol], Rational] | Callable[[Any, Any], Rational] | Any,
        alphabet: Iterable[Symbol],
    ) -> None:
        alphabet = Alphabet(alphabet)
        if len(alphabet) > MOST_SYMBOLS:
            raise InvalidArgument(
                f"costs need an alphabet of at most {MOST_SYMBOLS} symbols, not {len(alphabet)}"
            )
        self.alphabet = alphabet
        #: int64 array, shape (symbols, symbols): numerators of the costs, [true, written].
        self.matrix, self.denominator = _numerators(table, alphabet)
        self.matrix.setflags(write=False)
        #: ``max |c(x, s) - c(y, s)|``: how far one substitution can move the cost (a Fraction).
        self.spread = Fraction(
            int((self.matrix.max(axis=0) - self.matrix.min(axis=0)).max()), self.denominator
        )
        if self.spread == 0:
            raise InvalidArgument("costs must tell at least two symbols apart; all are 0")

    def total(self, true: IntArray, written: IntArray) -> int:
        """Return the cost of `written` for `true`, in units of 1/denominator."""
        return sum(self.matrix[true, written].tolist())


def _numerators(table: Any, alphabet: Alphabet) -> tuple[IntArray, int]:
    """Return a cost table as integers over their common denominator, and that."""
    costs = _cost_matrix(table, alphabet)
    if costs.dtype == object:
        size = range(len(alphabet))
        exact = [[_exact(costs, alphabet, i, j) for j in size] for i in size]
        denominator = math.lcm(*{cost.denominator for row in exact for cost in row})
        costs = np.array([[int(c * denominator) for c in row] for row in exact], dtype=object)
    else:
        denominator = 1
        wrong = costs < 0
        np.fill_diagonal(wrong, costs.diagonal() != 0)
        for at in np.argwhere(wrong)[:1].tolist():
            _exact(costs, alphabet, *at)
    if costs.max() >= 2**62:
        raise InvalidArgument("costs are too large: numerators must stay below 2**62")
    return costs.astype(np.int64), denominator


def _cost_matrix(table: Any, alphabet: Alphabet) -> NDArray[Any]:
    """Return the costs as they were given, [true, written]: integers, or objects to be checked."""
    size = len(alphabet)
    if isinstance(table, Mapping) or callable(table):
        costs = np.empty((size, size), dtype=object)
        for i, j in np.ndindex(size, size):
            true, written = alphabet[i], alphabet[j]
            if callable(table):
                costs[i, j] = table(true, written)
            else:
                costs[i, j] = table.get((true, written), 0 if i == j else None)
        return costs
    try:
        given = np.asarray(table)
    except ValueError:
        given = np.empty(0)
    if given.shape != (size, size) or given.dtype.kind not in "iuO":
        raise InvalidArgument(f"costs: a matrix must hold integers and have shape ({size}, {size})")
    return given


def _exact(costs: NDArray[Any], alphabet: Alphabet, i: int, j: int) -> Fraction:
    """Return one cost; raises InvalidArgument, naming the symbols, if it cannot be one."""
    cost, true, written = costs[i, j], alphabet[i], alphabet[j]
    cost = cost.item() if isinstance(cost, np.generic) else cost
    if isinstance(cost, bool) or not isinstance(cost, Rational):
        raise InvalidArgument(
            f"costs: the cost of writing {written!r} for {true!r} must be an int or Fraction"
        )
    if cost < 0 or (i == j and cost != 0):
        raise InvalidArgument(
            f"costs: writing {written!r} for {true!r} must cost {'0' if i == j else 'at least 0'}"
        )
    return Fraction(cost)
