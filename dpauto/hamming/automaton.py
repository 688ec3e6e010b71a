"""The Hamming automaton: all words at one distance from a word."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from dpauto.arguments import whole_number
from dpauto.errors import InvalidWord
from dpauto.words import Alphabet, Symbol, as_word

if TYPE_CHECKING:
    from dpauto.models import NFA

__all__ = ["hamming_automaton", "parse_errors"]


def parse_errors(errors: int, length: int) -> int:
    """Return a number of wrong symbols.

    Raises
    ------
    InvalidArgument
        If it is not a whole number from 0 to `length`.
    """
    return whole_number(errors, name="errors", least=0, most=length)


def hamming_automaton(w: Iterable[Symbol], alphabet: Iterable[Symbol], errors: int) -> NFA:
    """Return the automaton of all words at Hamming distance exactly `errors` from `w`.

    Parameters
    ----------
    w : sequence of hashable
        The word, of length n >= 1. The automaton contains it: it is as sensitive as the word.
    alphabet : iterable of hashable
        The m symbols.
    errors : int
        l, from 0 to n.

    Returns
    -------
    NFA
        Deterministic. States are pairs (i, j), "i symbols written, j of them wrong"; (0, 0) is
        initial and (n, l) final. From (i, j), the symbol w_{i+1} leads to (i + 1, j) and every
        other symbol to (i + 1, j + 1). Pairs from which (n, l) is out of reach are left out.

    Raises
    ------
    InvalidWord
        If `w` is empty.
    UnknownSymbol
        If a symbol of `w` is not in the alphabet.
    InvalidArgument
        If `errors` is not a whole number from 0 to n.

    Notes
    -----
    Definition 5 of the paper [1]_. Over m symbols it accepts C(n, l) (m - 1)^l words.

    References
    ----------
    .. [1] Benvenuti, Rao, Hale, arXiv:2603.28903, Definition 5.

    Examples
    --------
    >>> near = hamming_automaton("abba", "abc", errors=1)
    >>> near.accepts("abca"), near.accepts("abba"), near.accepts("bbca")
    (True, False, False)
    """
    from dpauto.models import NFA

    sigma = Alphabet(alphabet)
    word = as_word(w)
    if not word:
        raise InvalidWord("w must have at least one symbol")
    n = len(sigma.encode(word))
    wrong = parse_errors(errors, n)
    states = [
        (i, j) for i in range(n + 1) for j in range(max(0, wrong - (n - i)), min(i, wrong) + 1)
    ]
    known = set(states)
    transitions: dict[Symbol, Mapping[Symbol, set[Symbol]]] = {}
    for i, j in states[:-1]:
        steps = {s: (i + 1, j if s == word[i] else j + 1) for s in sigma}
        transitions[i, j] = {s: {head} for s, head in steps.items() if head in known}
    return NFA(
        states=states, alphabet=sigma, transitions=transitions, initial=(0, 0), final=[(n, wrong)]
    )
