"""Maximum-likelihood estimates of a Markov chain's transition probabilities."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import pairwise

import numpy as np

from dpauto.arguments import each
from dpauto.errors import InvalidArgument, InvalidWord, StateLimitExceeded, UnknownSymbol
from dpauto.models._parse import parse_names
from dpauto.models._rows import FloatArray
from dpauto.words import Alphabet, IntArray, Symbol, as_word

__all__ = ["transition_estimates"]

# Smoothing makes every step possible: states squared many.
_DENSE_STATES = 5_000


def transition_estimates(
    words: Iterable[Iterable[Symbol]],
    states: Iterable[Symbol] | None,
    initial: Symbol | None,
    smoothing: float,
) -> tuple[Alphabet, tuple[IntArray, IntArray, FloatArray]]:
    """Return the states and (tail, head, probability) of the estimate; see `MarkovChain.fit`.

    Messages name places in the words, never their symbols.

    Raises
    ------
    InvalidArgument
        If `words` is no collection, is a string or holds no symbol, or `initial` is not one of
        `states`.
    InvalidModel
        If `initial` is not hashable, or `states` repeats one.
    InvalidWord
        If a symbol is None or not hashable.
    UnknownSymbol
        If a symbol is not one of `states`.
    StateLimitExceeded
        If smoothing would make more steps possible than there is room for.
    """
    if isinstance(words, str):
        raise InvalidArgument("words must be a list of words, not one string: write [word]")
    counts: Counter[tuple[Symbol, Symbol]] = Counter()
    seen: dict[Symbol, None] = {}
    if initial is not None:
        seen[parse_names([initial], argument="initial", noun="state")[0]] = None
    known = None if states is None else parse_names(states, argument="states", noun="state")
    any_symbol = False
    for number, symbols in enumerate(each(words, name="words", of="words"), 1):
        # An array is read as the plain values it holds.
        tolist = getattr(symbols, "tolist", None)
        word = as_word(tolist() if callable(tolist) else symbols, name=f"words: word {number}")
        _check(word, number, known)
        any_symbol = any_symbol or bool(word)
        seen.update(dict.fromkeys(word))
        counts.update(pairwise(word))
        if word and initial is not None:
            counts[initial, word[0]] += 1
    if not any_symbol:
        raise InvalidArgument("words must hold at least one word with at least one symbol")
    names = parse_names(set(seen), argument="words", noun="symbol") if known is None else known
    if initial is not None and initial not in names:
        raise InvalidArgument("initial must be one of states")
    return names, _estimates(counts, names, smoothing)


def _check(word: tuple[Symbol, ...], number: int, states: Alphabet | None) -> None:
    for position, symbol in enumerate(word, 1):
        place = f"words: the symbol at position {position} of word {number}"
        try:
            hash(symbol)
        except TypeError:
            raise InvalidWord(f"{place} is not hashable") from None
        if symbol is None:
            raise InvalidWord(f"{place} is None, which cannot be a state")
        if states is not None and symbol not in states:
            raise UnknownSymbol(f"{place} is not one of states")


def _estimates(
    counts: Counter[tuple[Symbol, Symbol]], names: Alphabet, smoothing: float
) -> tuple[IntArray, IntArray, FloatArray]:
    size = len(names)
    tail = np.array([names.index(a) for a, _ in counts], dtype=np.int64)
    head = np.array([names.index(b) for _, b in counts], dtype=np.int64)
    count = np.array(list(counts.values()), dtype=np.float64)
    if smoothing:
        if size > _DENSE_STATES:
            raise StateLimitExceeded(
                f"smoothing makes every step possible, which is too many for {size} states: leave"
                f" it out, or name at most {_DENSE_STATES} states"
            )
        dense = np.full((size, size), float(smoothing))
        np.add.at(dense, (tail, head), count)
        tail, head = np.divmod(np.arange(size * size), size)
        count = dense.ravel()
    total = np.bincount(tail, weights=count, minlength=size)
    return tail, head, count / total[tail]
