"""Nondeterministic finite automata."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dpauto.determinization import STATE_LIMIT, disambiguated, is_unambiguous
from dpauto.errors import InvalidArgument
from dpauto.language import Language, parse_length
from dpauto.models import _operations
from dpauto.models._parse import (
    entries,
    parse_moves,
    parse_names,
    parse_target_set,
    state_number,
)
from dpauto.models._parts import AutomatonParts, fields_of
from dpauto.words import Symbol

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["NFA"]

#: {state: {symbol: {state, ...}}}
Transitions = Mapping[Any, Mapping[Any, Iterable[Any]]]


class NFA(AutomatonParts):
    """A nondeterministic finite automaton A = (Q, Σ, q0, δ, F); immutable.

    A word σ1…σn is accepted if some run q0 q1 … qn, with every q_i in δ(q_{i-1}, σ_i), ends in F. A
    word may have many runs; it still counts once in `language`.

    Parameters
    ----------
    states : iterable of hashable
        Q. The order of a sequence is kept; a set is sorted.
    alphabet : iterable of hashable
        Σ: strings, ints, tuples. A string is read as its characters.
    transitions : mapping
        δ as ``{state: {symbol: {state, …}}}``; what is left out leads nowhere.
    initial : hashable
        q0, one state.
    final : iterable of hashable
        F, the accepting states.

    Attributes
    ----------
    alphabet : Alphabet
        Σ, numbered in order.

    Raises
    ------
    InvalidModel
        If the parts do not fit together; the message names the state and the symbol.

    See Also
    --------
    NFA.from_regex, NFA.from_networkx, NFA.from_automata_lib

    Examples
    --------
    Words that contain "aba":

    >>> contains_aba = NFA(
    ...     states=[0, 1, 2, 3],
    ...     alphabet="ab",
    ...     transitions={
    ...         0: {"a": {0, 1}, "b": {0}},
    ...         1: {"b": {2}},
    ...         2: {"a": {3}},
    ...         3: {"a": {3}, "b": {3}},
    ...     },
    ...     initial=0,
    ...     final={3},
    ... )
    >>> contains_aba
    <NFA: 4 states, 2 symbols, 7 transitions, initial 0, 1 final>
    >>> contains_aba.accepts("babab"), contains_aba.accepts("abba")
    (True, False)

    The word "ababa" has two accepting runs, and is one word all the same:

    >>> contains_aba.is_unambiguous(), len(list(contains_aba.runs("ababa", accepting=True)))
    (False, 2)
    >>> sorted(map("".join, contains_aba.language(4).words()))
    ['aaba', 'abaa', 'abab', 'baba']
    """

    # -- construction ---------------------------------------------------------------------------

    def __init__(
        self,
        *,
        states: Iterable[Symbol],
        alphabet: Iterable[Symbol],
        transitions: Transitions,
        initial: Symbol,
        final: Iterable[Symbol],
    ) -> None:
        names = parse_names(states, argument="states", noun="state")
        sigma = parse_names(alphabet, argument="alphabet", noun="symbol")
        edges = list(parse_moves(transitions, names, sigma))
        accepting = np.zeros(len(names), dtype=bool)
        accepting[parse_target_set(final, names, place="final")] = True
        start = state_number(initial, names, place="initial")
        self.__setstate__(fields_of(names, sigma, edges, start, accepting))

    @classmethod
    def from_networkx(
        cls,
        graph: nx.DiGraph | nx.MultiDiGraph,
        *,
        initial: Symbol,
        final: Iterable[Symbol],
        symbol: str = "symbol",
        alphabet: Iterable[Symbol] | None = None,
    ) -> NFA:
        """Build from a directed graph whose edges carry symbols.

        Parameters
        ----------
        graph : networkx DiGraph or MultiDiGraph
            Nodes become states, in their order. Parallel edges of one symbol are one transition.
        initial : hashable
        final : iterable of hashable
        symbol : str, optional
            The edge attribute that holds the symbol.
        alphabet : iterable of hashable, optional
            By default the symbols on the edges, in the order in which the graph lists them.

        Raises
        ------
        InvalidArgument
            If `graph` is no networkx graph.
        InvalidModel
            If the graph is undirected or an edge has no symbol, or as the constructor does.

        Examples
        --------
        >>> import networkx as nx
        >>> graph = nx.MultiDiGraph()
        >>> graph.add_edge("home", "shop", symbol="bus")
        0
        >>> graph.add_edge("home", "shop", symbol="tram")
        1
        >>> graph.add_edge("shop", "home", symbol="bus")
        0
        >>> trips = NFA.from_networkx(graph, initial="home", final=["home"])
        >>> sorted(trips.language(2).words())
        [('bus', 'bus'), ('tram', 'bus')]
        """
        from dpauto.models._interop import read_networkx

        parts = read_networkx(graph, symbol)
        if alphabet is not None:
            parts["alphabet"] = alphabet
        return cls(**parts, initial=initial, final=final)

    @classmethod
    def from_automata_lib(cls, fa: Any) -> NFA:
        """Build from a DFA or NFA of automata-lib.

        Parameters
        ----------
        fa : automata.fa.dfa.DFA or automata.fa.nfa.NFA
            Moves on the empty string are removed; states that only they led to are dropped.

        Returns
        -------
        NFA
            Accepts the same words, over symbols in sorted order.

        Raises
        ------
        InvalidArgument
            If `fa` is something else.

        Examples
        --------
        >>> from automata.fa.dfa import DFA
        >>> ends_in_b = DFA.from_suffix(input_symbols={"a", "b"}, suffix="b")
        >>> NFA.from_automata_lib(ends_in_b).accepts("aab")
        True
        """
        from dpauto.models._interop import read_automata_lib

        return read_automata_lib(fa)

    @classmethod
    def from_regex(cls, pattern: str, *, alphabet: Iterable[str] | None = None) -> NFA:
        r"""Build from a regular expression in automata-lib's syntax.

        Parameters
        ----------
        pattern : str
            ``ab`` for a then b, ``|`` or, ``*`` ``+`` ``?`` ``{2,5}`` repeat, ``.`` any symbol,
            ``[a-z]`` and ``[^a-z]`` classes, ``&`` and, ``^`` shuffle, ``()`` the empty word,
            ``\`` before a character that stands for itself. The whole word has to match.
        alphabet : iterable of str, optional
            Single characters; by default those that the pattern names. Classes stand for
            those of their members that are in the alphabet.

        Returns
        -------
        NFA
            Without empty moves; states are numbered from 0, the initial one.

        Raises
        ------
        InvalidModel
            If the pattern is malformed or names a symbol outside the alphabet.

        Examples
        --------
        >>> NFA.from_regex("(a|b)*aba(a|b)*", alphabet="ab").language(4).count()
        4
        """
        from dpauto.models._interop import read_regex

        return read_regex(pattern, alphabet)

    def to_automata_lib(self) -> Any:
        """Return the same automaton as automata-lib's NFA.

        Returns
        -------
        automata.fa.nfa.NFA

        Raises
        ------
        InvalidModel
            If a symbol is not a single character: automata-lib reads a word character by character,
            so it could never read such a symbol back.
        """
        from dpauto.models._interop import write_automata_lib

        return write_automata_lib(self)

    # -- words ----------------------------------------------------------------------------------

    def accepts(self, w: Iterable[Symbol]) -> bool:
        """Return whether some run of `w` ends in a final state.

        Parameters
        ----------
        w : sequence of hashable
            A word with a symbol outside the alphabet is not accepted.
        """
        layers = _operations.layers(self, w)
        return bool(layers) and any(self._final[q] for q in layers[-1])

    def runs(self, w: Iterable[Symbol], *, accepting: bool = False) -> Iterator[tuple[Any, ...]]:
        """Yield the runs of `w`: tuples of states q0, q1, …, qn.

        Parameters
        ----------
        w : sequence of hashable
        accepting : bool, optional
            Yield only runs that end in a final state.

        Yields
        ------
        tuple of hashable
            In the order of the states' numbers. There may be exponentially many, but the next one
            is never more than n steps away.

        Examples
        --------
        >>> twice = NFA.from_regex("a|aa*", alphabet="a")
        >>> len(list(twice.runs("a", accepting=True)))
        2
        """
        yield from _operations.runs(self, w, accepting=accepting)

    def language(self, length: int, *, state_limit: int = STATE_LIMIT) -> Language:
        """Return the accepted words of one length, compiled for the mechanisms.

        An ambiguous automaton is determinised, as far as words of that length need it, so that
        paths are words.

        Parameters
        ----------
        length : int
            n, at least 1.
        state_limit : int, optional
            Most states that determinising may make.

        Returns
        -------
        Language

        Raises
        ------
        InvalidArgument
            If `length` is not a whole number of at least 1.
        EmptyLanguage
            If no word of that length is accepted.
        StateLimitExceeded
            If the automaton is ambiguous and determinising it exceeds the limit.

        Examples
        --------
        >>> NFA.from_regex("(ab|ba)*", alphabet="ab").language(6).count()
        8
        """
        n = parse_length(length)
        return Language.compile(disambiguated(self._arrays, steps=n, state_limit=state_limit), n)

    # -- other automata -------------------------------------------------------------------------

    def is_unambiguous(self) -> bool:
        """Return whether every word has at most one accepting run.

        Raises
        ------
        StateLimitExceeded
            If that would need more than five million pairs of states.

        Examples
        --------
        >>> NFA.from_regex("a*b", alphabet="ab").is_unambiguous()
        True
        >>> NFA.from_regex("a*a*", alphabet="a").is_unambiguous()
        False
        """
        return is_unambiguous(self._arrays)

    def determinize(self, length: int | None = None, *, state_limit: int = STATE_LIMIT) -> NFA:
        """Return a deterministic automaton of the same words, by the subset construction.

        Parameters
        ----------
        length : int, optional
            Keep only the promise about words of that length, which may need far fewer states.
        state_limit : int, optional
            Most states that the result may have, the initial one aside.

        Returns
        -------
        NFA
            Trimmed: each state is reachable and can still finish. States are tuples of this
            automaton's states; one that simulates another stands for both. An automaton that is
            deterministic already keeps its names.

        Raises
        ------
        StateLimitExceeded
            If the limit is exceeded: k states may need 2**k - 1 subsets.

        Examples
        --------
        >>> dfa = NFA.from_regex("(a|b)*aba(a|b)*", alphabet="ab").determinize()
        >>> dfa.is_unambiguous(), len(dfa.states)
        (True, 4)
        """
        steps = None if length is None else parse_length(length)
        return _operations.determinize(self, steps, state_limit)

    def trim(self) -> NFA:
        """Return the automaton without the states that no accepting run visits.

        The words and the order of states stay. The initial state stays even if nothing is accepted.
        """
        return _operations.trim(self)

    def intersection(self, other: NFA, *, state_limit: int = STATE_LIMIT) -> NFA:
        """Return the automaton of the words that both accept: their product.

        Parameters
        ----------
        other : NFA
            Over the same symbols, in any order.
        state_limit : int, optional
            Most pairs of states that the product may reach.

        Returns
        -------
        NFA
            States are pairs; only those that are reachable and can still finish. The alphabet is
            in the order of this automaton's.

        Raises
        ------
        InvalidArgument
            If `other` is not an NFA, or `state_limit` is not a whole number of at least 1.
        InvalidModel
            If the alphabets differ: give both automata the alphabet that is meant.
        StateLimitExceeded
            If the product exceeds the limit: k and l states may make k l pairs.

        Examples
        --------
        >>> even = NFA.from_regex("(..)*", alphabet="ab")
        >>> starts_with_a = NFA.from_regex("a.*", alphabet="ab")
        >>> both = even.intersection(starts_with_a)
        >>> both.accepts("ab"), both.accepts("aba"), both.accepts("ba")
        (True, False, False)
        """
        if not isinstance(other, NFA):
            raise InvalidArgument("other must be an NFA; NFA.from_automata_lib converts one")
        return _operations.product(self, other, state_limit)

    def relabel(self, symbols: Mapping[Any, Any]) -> NFA:
        """Return the same automaton with other symbols.

        Parameters
        ----------
        symbols : mapping
            ``{old: new}``; symbols left out stay. No two may become one.

        Raises
        ------
        InvalidModel
            If a key is not in the alphabet or two symbols become one.

        Examples
        --------
        >>> walk = NFA(
        ...     states=[0], alphabet=["left", "right"], initial=0, final=[0],
        ...     transitions={0: {"left": [0], "right": [0]}},
        ... )
        >>> walk.relabel({"left": "l", "right": "r"}).accepts("lrl")
        True
        """
        for old, _ in entries(symbols, place="symbols", shape="{old: new}"):
            state_number(old, self.alphabet, place="symbols", noun="symbol")
        fields = self.__getstate__()
        names = [symbols.get(s, s) for s in self.alphabet]
        fields["alphabet"] = parse_names(names, argument="symbols", noun="symbol")
        return NFA._new(**fields)
