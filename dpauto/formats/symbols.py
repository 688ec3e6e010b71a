"""Symbols as text: files hold text, models hold symbols, and one map leads between them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from dpauto.errors import InvalidModel, UnknownSymbol
from dpauto.words import Symbol

__all__ = ["SymbolTexts", "find_symbol", "text_of"]


def text_of(symbol: Symbol) -> str:
    """Return the text that stands for a symbol in files.

    A string stands for itself, a tuple is its members joined by ``/``, anything else is its `str`.

    Examples
    --------
    >>> text_of("north"), text_of(7), text_of(("go", 3))
    ('north', '7', 'go/3')
    """
    if isinstance(symbol, str):
        return symbol
    if isinstance(symbol, tuple):
        return "/".join(map(text_of, symbol))
    return str(symbol)


class SymbolTexts:
    """The symbols of a model by their text.

    Parameters
    ----------
    symbols : iterable of hashable
        Distinct symbols.
    name : str, optional
        What they belong to, for errors.

    Raises
    ------
    InvalidModel
        If two symbols have the same text, such as 1 and "1".

    Examples
    --------
    >>> texts = SymbolTexts([10, "b"])
    >>> texts.parse(["b", "10"]), texts.format(["b", 10])
    (('b', 10), ['b', '10'])
    """

    __slots__ = ("_all_text", "_symbols", "name")

    def __init__(self, symbols: Iterable[Symbol], *, name: str = "model") -> None:
        self.name = name
        self._symbols: dict[str, Symbol] = {}
        for symbol in symbols:
            text = text_of(symbol)
            if text in self._symbols:
                raise InvalidModel(
                    f"{name}: the symbols {self._symbols[text]!r} and {symbol!r} have the same"
                    " text, so a file cannot tell them apart"
                )
            self._symbols[text] = symbol
        self._all_text = all(text is symbol for text, symbol in self._symbols.items())

    def __len__(self) -> int:
        return len(self._symbols)

    def __contains__(self, text: str) -> bool:
        return text in self._symbols

    def __iter__(self) -> Iterator[str]:
        return iter(self._symbols)

    def symbol(self, text: str) -> Symbol:
        """Return the symbol of a text.

        Raises
        ------
        KeyError
            If there is none.
        """
        return self._symbols[text]

    def parse(self, texts: Sequence[str]) -> tuple[Symbol, ...]:
        """Return the word that a sequence of texts stands for.

        Raises
        ------
        UnknownSymbol
            If a text is no symbol of the model: its position is named, not the text.
        """
        try:
            return tuple([self._symbols[text] for text in texts])
        except KeyError:
            position = next(i for i, text in enumerate(texts, 1) if text not in self._symbols)
            raise UnknownSymbol(
                f"the symbol at position {position} is not in the alphabet of the model"
                f" ({len(self)} symbols)"
            ) from None

    def format(self, word: Iterable[Symbol]) -> list[str]:
        """Return the texts of a word's symbols."""
        return list(word) if self._all_text else [text_of(symbol) for symbol in word]  # type: ignore[arg-type]


def find_symbol(symbols: Iterable[Symbol], text: str, *, name: str, kind: str = "state") -> Symbol:
    """Return the one symbol that has a text.

    Raises
    ------
    InvalidModel
        If no symbol, or more than one, has it.
    """
    found = [symbol for symbol in symbols if text_of(symbol) == text]
    if len(found) != 1:
        few = "is no" if not found else "is the text of more than one"
        raise InvalidModel(f"{name}: {text!r} {few} {kind} of the model")
    return found[0]
