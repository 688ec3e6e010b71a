"""Languages that need no automaton file: every word, a list of words, a regular expression."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from dpauto.errors import EmptyLanguage, InvalidArgument, InvalidFile, InvalidModel
from dpauto.formats.files import open_text
from dpauto.formats.options import ModelOptions
from dpauto.formats.trips import Separator
from dpauto.language import Language, parse_length
from dpauto.words import Alphabet, Symbol

if TYPE_CHECKING:
    from dpauto.models import NFA

__all__ = ["EveryWord", "WordList", "parse_all", "parse_regex", "read_words"]


class EveryWord:
    """All words over an alphabet: everything is feasible.

    Parameters
    ----------
    alphabet : iterable of hashable

    Examples
    --------
    >>> EveryWord("abc").language(2).count()
    9
    """

    def __init__(self, alphabet: Iterable[Symbol]) -> None:
        self.alphabet = Alphabet(alphabet)

    def language(self, length: int) -> Language:
        """Return the language of all words of a length."""
        return Language.all_words(self.alphabet, length)


class WordList:
    """A public list of feasible words of any lengths.

    Parameters
    ----------
    words : iterable of words
        At least one.
    name : str, optional
        What to call the list in errors.

    Examples
    --------
    >>> WordList(["cat", "cow", "horse"]).language(3).count()
    2
    """

    def __init__(self, words: Iterable[Sequence[Symbol]], *, name: str = "words") -> None:
        self.name = name
        self.words_by_length: dict[int, list[tuple[Symbol, ...]]] = {}
        for word in words:
            self.words_by_length.setdefault(len(word), []).append(tuple(word))
        every = (word for group in self.words_by_length.values() for word in group)
        self.alphabet = Alphabet(dict.fromkeys(symbol for word in every for symbol in word))

    def language(self, length: int) -> Language:
        """Return the language of the listed words of a length.

        Raises
        ------
        InvalidArgument
            If `length` is not a whole number of at least 1.
        EmptyLanguage
            If no listed word has it.
        """
        words = self.words_by_length.get(parse_length(length))
        if not words:
            raise EmptyLanguage(f"length: {self.name} has no word of length {length}")
        return Language.of(words, alphabet=self.alphabet)


def parse_all(text: str) -> EveryWord:
    """Return the model ``all:`` of a list of symbols: ``abc``, or ``a,b,c`` with commas.

    Raises
    ------
    InvalidArgument
        If there is no symbol or one is empty.

    Examples
    --------
    >>> list(parse_all("abc").alphabet), list(parse_all("north,south").alphabet)
    (['a', 'b', 'c'], ['north', 'south'])
    """
    symbols = [part.strip() for part in text.split(",")] if "," in text else list(text)
    if not symbols or "" in symbols:
        raise InvalidArgument(
            "all: must be followed by symbols, such as all:abc or all:north,south"
        )
    return EveryWord(symbols)


def parse_regex(pattern: str, options: ModelOptions) -> NFA:
    """Return the automaton of ``regex:pattern``, in automata-lib's syntax.

    The alphabet is the pattern's letters and those that ``options.alphabet`` adds.

    Raises
    ------
    InvalidModel
        If the pattern is malformed.
    """
    from dpauto.models import NFA

    if not pattern:
        raise InvalidArgument("regex: must be followed by a pattern, such as regex:a(b|c)*")
    if not options.alphabet:
        return NFA.from_regex(pattern)
    try:
        letters = [str(letter) for letter in NFA.from_regex(pattern).alphabet]
    except InvalidModel:
        # A pattern such as .* names no letter of its own.
        letters = []
    return NFA.from_regex(pattern, alphabet=list(dict.fromkeys([*letters, *options.alphabet])))


def read_words(name: str, options: ModelOptions) -> WordList:
    """Read a list of words, one a line; lines that start with # or % are skipped.

    Raises
    ------
    InvalidFile
        If there is no word.
    """
    separator = Separator(options.separator)
    with open_text(name) as lines:
        rows = [separator.split(line) for line in lines if not line.startswith(("#", "%"))]
    words = [row for row in rows if row]
    if not words:
        raise InvalidFile(f"{name}: the file is empty" if not rows else f"{name}: there is no word")
    return WordList(words, name=name)
