"""Words over an alphabet, the Hamming distance and symbol costs.

A word is a tuple of hashable symbols. Inside dpauto a word is an array of symbol numbers, positions
in an `Alphabet`; symbols themselves are touched only where words come in and go out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from numbers import Rational
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpauto.errors import InvalidArgument, InvalidModel, InvalidWord, UnknownSymbol

__all__ = ["Alphabet", "Costs", "Symbol", "Word", "as_word", "canonical_order", "hamming_distance"]

Symbol: TypeAlias = Hashable
Word: TypeAlias = tuple[Symbol, ...]
IntArray: TypeAlias = NDArray[np.int64]


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

    __slots__ = ("_digest", "_numbers", "_symbols")

    def __init__(self, symbols: Iterable[Symbol]) -> None:
        if isinstance(symbols, Alphabet):
            self._symbols: tuple[Symbol, ...] | range = symbols._symbols
            self._numbers: dict[Symbol, int] | None = symbols._numbers
            return
        if isinstance(symbols, range) and symbols == range(len(symbols)):
            self._symbols, self._numbers = symbols, None
        else:
            try:
                self._symbols = tuple(canonical_order(symbols))
            except TypeError:
                raise InvalidModel("alphabet must be a collection of symbols") from None
            if all(type(s) is int and s == k for k, s in enumerate(self._symbols)):
                self._symbols, self._numbers = range(len(self._symbols)), None
                self._check_size()
                return
            self._numbers = {}
            for number, symbol in enumerate(self._symbols):
                try:
                    first = self._numbers.setdefault(symbol, number)
                except TypeError:
                    raise InvalidModel(
                        f"alphabet: symbol number {number} is not hashable"
                    ) from None
                if first != number:
                    raise InvalidModel(f"alphabet: symbol {symbol!r} occurs twice")
        self._check_size()

    def _check_size(self) -> None:
        if not self._symbols:
            raise InvalidModel("alphabet must have at least one symbol")

    def digest(self) -> bytes:
        """Return a SHA-256 of the symbols in their order, types included."""
        # Kept: the languages of all lengths of a model share its alphabet.
        if not hasattr(self, "_digest"):
            self._digest = self._computed_digest()
        return self._digest

    def _computed_digest(self) -> bytes:
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
        if self._numbers is None:
            # A million integers at once: the usual word over the states of a sparse matrix.
            try:
                numbers = np.array(symbols)
            except ValueError:
                numbers = np.empty(0, dtype=object)
            if numbers.dtype.kind in "iu" and numbers.shape == (len(symbols),):
                bad = np.flatnonzero((numbers < 0) | (numbers >= len(self)))
                if bad.size:
                    raise self._unknown(name, int(bad[0]))
                return numbers.astype(np.int64)
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
        plain = numbers.tolist() if isinstance(numbers, np.ndarray) else numbers
        if self._numbers is None:
            return tuple(plain)
        return tuple(map(self._symbols.__getitem__, plain))


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
        size = len(alphabet)
        if size > 4096:
            raise InvalidArgument(f"costs need an alphabet of at most 4096 symbols, not {size}")
        exact = [[self._entry(table, alphabet, i, j) for j in range(size)] for i in range(size)]
        self.alphabet = alphabet
        self.denominator = int(
            np.lcm.reduce([c.denominator for row in exact for c in row], dtype=object)
        )
        whole = [[int(c * self.denominator) for c in row] for row in exact]
        if max(max(row) for row in whole) >= 2**62:
            raise InvalidArgument("costs are too large: numerators must stay below 2**62")
        #: int64 array, shape (symbols, symbols): numerators of the costs, [true, written].
        self.matrix = np.array(whole, dtype=np.int64)
        self.matrix.setflags(write=False)
        #: ``max |c(x, s) - c(y, s)|``: how far one substitution can move the cost (a Fraction).
        self.spread = Fraction(
            int((self.matrix.max(axis=0) - self.matrix.min(axis=0)).max()), self.denominator
        )
        if self.spread == 0:
            raise InvalidArgument("costs must tell at least two symbols apart; all are 0")

    @staticmethod
    def _entry(table: Any, alphabet: Alphabet, i: int, j: int) -> Fraction:
        true, written = alphabet[i], alphabet[j]
        if callable(table):
            cost = table(true, written)
        elif isinstance(table, Mapping):
            cost = table.get((true, written), 0 if i == j else None)
        else:
            matrix = np.asarray(table)
            if matrix.shape != (len(alphabet),) * 2 or matrix.dtype.kind not in "iuO":
                raise InvalidArgument(
                    f"costs: a matrix must hold integers and have shape"
                    f" ({len(alphabet)}, {len(alphabet)})"
                )
            cost = matrix[i, j]
            cost = cost.item() if isinstance(cost, np.generic) else cost
        if isinstance(cost, bool) or not isinstance(cost, Rational):
            raise InvalidArgument(
                f"costs: the cost of writing {written!r} for {true!r} must be an int or Fraction"
            )
        if cost < 0 or (i == j and cost != 0):
            raise InvalidArgument(
                f"costs: writing {written!r} for {true!r} must cost"
                f" {'0' if i == j else 'at least 0'}"
            )
        return Fraction(cost)

    def total(self, true: IntArray, written: IntArray) -> int:
        """Return the cost of `written` for `true`, in units of 1/denominator."""
        return sum(self.matrix[true, written].tolist())
