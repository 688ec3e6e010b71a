"""Markov chains: words are the sequences of states that they visit."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dpauto.arguments import real_number, shown, warn
from dpauto.arrays import START, Automaton
from dpauto.errors import InvalidModel, PrivacyWarning
from dpauto.language import Language, parse_length
from dpauto.models._base import Model
from dpauto.models._fitting import transition_estimates
from dpauto.models._parse import entries, parse_names, state_number
from dpauto.models._rows import FloatArray, checked_rows, graph_entries, matrix_entries, parse_row
from dpauto.models._walks import draw_uniforms, sample_walk
from dpauto.randomness import Random
from dpauto.words import Alphabet, IntArray, Symbol, Word, as_word

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["MarkovChain"]


class MarkovChain(Model):
    """A Markov chain (Y, T, y0); immutable.

    T[y, y'] is the probability of y' given y. A word is the sequence of states visited: y1…yn is
    feasible if every step from y0 on has a positive probability. Mechanisms use only this support
    of T. States and probabilities are public.

    Parameters
    ----------
    states : iterable of hashable
        Y. The order of a sequence is kept; a set is sorted.
    transitions : mapping
        T as ``{state: {state: probability}}``. A probability of 0 is no transition. A state's
        probabilities sum to 1 within 1e-9, unless it has none: it is a dead end then.
    initial : hashable, optional
        y0, the public state before the first step; it is not part of the word. None: any state may
        start, each with the same probability, and is the word's first symbol.

    Attributes
    ----------
    alphabet : Alphabet
        Y, numbered in order: the symbols of words are states.

    Raises
    ------
    InvalidModel
        If a state is unknown, a probability is negative or not a finite number, or the
        probabilities from a state do not sum to 1; the message names the states.

    See Also
    --------
    MarkovChain.from_matrix, MarkovChain.from_networkx, MarkovChain.fit

    Examples
    --------
    >>> weather = MarkovChain(
    ...     states=["sun", "rain", "snow"],
    ...     transitions={
    ...         "sun": {"sun": 0.8, "rain": 0.2},
    ...         "rain": {"sun": 0.4, "rain": 0.4, "snow": 0.2},
    ...         "snow": {"rain": 1},
    ...     },
    ...     initial="sun",
    ... )
    >>> weather
    <MarkovChain: 3 states, 6 transitions, initial 'sun'>
    >>> weather.feasible(["rain", "snow"]), weather.feasible(["snow", "rain"])
    (True, False)
    >>> round(weather.probability(["rain", "snow"]), 12)
    0.04
    >>> weather.language(2).count()
    5
    """

    _FIELDS: ClassVar[tuple[str, ...]] = (
        "alphabet",
        "_indptr",
        "_head",
        "_probability",
        "_initial",
    )

    alphabet: Alphabet
    # Transitions with tail q are _indptr[q]:_indptr[q+1], sorted by head.
    _indptr: IntArray
    _head: IntArray
    _probability: FloatArray
    _initial: int | None

    # -- construction ---------------------------------------------------------------------------

    def __init__(
        self,
        *,
        states: Iterable[Symbol],
        transitions: Mapping[Any, Mapping[Any, float]],
        initial: Symbol | None = None,
    ) -> None:
        names = parse_names(states, argument="states", noun="state")
        tails, heads, probabilities = [], [], []
        shape = "{state: {state: probability}}"
        for state, row in entries(transitions, place="transitions", shape=shape):
            tail = state_number(state, names, place="transitions")
            place = f"transitions[{shown(state)}]"
            for head, probability in parse_row(row, names, place=place):
                tails.append(tail)
                heads.append(head)
                probabilities.append(probability)
        triples = (np.array(tails, int), np.array(heads, int), np.array(probabilities, float))
        self.__setstate__(_fields(names, triples, initial, argument="transitions"))

    @classmethod
    def from_matrix(
        cls,
        matrix: Any,
        *,
        states: Iterable[Symbol] | None = None,
        initial: Symbol | None = None,
    ) -> MarkovChain:
        """Build from a matrix of transition probabilities.

        Parameters
        ----------
        matrix : array_like or scipy.sparse matrix or array, shape (N, N)
            Entry (i, j) is the probability of state number j given state number i. A row of zeros
            is a dead end. A sparse matrix is never made dense.
        states : iterable of hashable, optional
            The N states in order; 0, …, N-1 by default.
        initial : hashable, optional
            See the class.

        Raises
        ------
        InvalidModel
            If the matrix is not square or not numeric, or a row is not a distribution.

        Examples
        --------
        >>> chain = MarkovChain.from_matrix([[0, 1], [0.5, 0.5]], states=["a", "b"])
        >>> sorted(map("".join, chain.language(3).words()))
        ['aba', 'abb', 'bab', 'bba', 'bbb']
        """
        size, triples = matrix_entries(matrix)
        names = (
            Alphabet(range(size))
            if states is None
            else parse_names(states, argument="states", noun="state")
        )
        if len(names) != size:
            raise InvalidModel(
                f"states must name the {size} rows of the matrix, but there are {len(names)}"
            )
        return cls._new(**_fields(names, triples, initial, argument="matrix"))

    @classmethod
    def from_networkx(
        cls,
        graph: nx.Graph,
        *,
        initial: Symbol | None = None,
        probability: str | None = None,
    ) -> MarkovChain:
        """Build from a graph whose nodes are the states.

        Parameters
        ----------
        graph : networkx graph
            Directed or not, with parallel edges or not. An undirected edge goes both ways; parallel
            edges are one step, whose probability is the sum of theirs.
        initial : hashable, optional
            See the class.
        probability : str, optional
            The edge attribute that holds the probability; None makes every successor of a node
            equally likely.

        Raises
        ------
        InvalidArgument
            If `graph` is no networkx graph.
        InvalidModel
            If an edge lacks the attribute, or as the constructor does.

        Examples
        --------
        >>> import networkx as nx
        >>> ring = MarkovChain.from_networkx(nx.cycle_graph(5), initial=0)
        >>> ring.language(2).count(), ring.probability([1, 0])
        (4, 0.25)
        """
        names, triples = graph_entries(graph, probability)
        return cls._new(**_fields(names, triples, initial, argument="graph"))

    @classmethod
    def fit(
        cls,
        words: Iterable[Iterable[Symbol]],
        *,
        initial: Symbol | None = None,
        smoothing: float = 0,
        states: Iterable[Symbol] | None = None,
    ) -> MarkovChain:
        """Estimate a chain from words by maximum likelihood.

        The chain is data: which steps it allows tells which steps occur in the words, so releasing
        those same words with it leaks. Fit on words that may be public, or make the support
        independent of the words by passing all public `states` together with `smoothing`.

        Parameters
        ----------
        words : iterable of words
        initial : hashable, optional
            The public state before every word's first symbol; that step is counted too.
        smoothing : float, optional
            Added to the count of every step from every state, at least 0. With 0 only steps that
            occur are possible.
        states : iterable of hashable, optional
            By default the symbols that occur (and `initial`), sorted.

        Warns
        -----
        PrivacyWarning
            That the support leaks, unless `states` and a positive `smoothing` are given.

        Raises
        ------
        InvalidArgument
            If there is no word, or `smoothing` is negative or not a number.
        UnknownSymbol
            If a word has a symbol that is not in `states`; the place is named, not the symbol.

        Notes
        -----
        T[y, y'] = (c(y, y') + s) / (Σ_z c(y, z) + s N) for the counts c, smoothing s and N states.

        Examples
        --------
        >>> chain = MarkovChain.fit(["aab", "abb"], states="ab", smoothing=1)
        >>> chain.transitions
        {'a': {'a': 0.4, 'b': 0.6}, 'b': {'a': 0.3333333333333333, 'b': 0.6666666666666666}}
        """
        wanted = "smoothing must be a number of at least 0, and of reasonable size"
        smoothing = real_number(smoothing, wanted=wanted, least=0, most=1e300)
        if states is None or not smoothing:
            warn(
                "the fitted chain's support is taken from the words: releasing the same words with"
                " it leaks which steps occur; fit on public words, or pass public states and a"
                " positive smoothing",
                PrivacyWarning,
            )
        names, triples = transition_estimates(words, states, initial, smoothing)
        return cls._new(**_fields(names, triples, initial, argument="words"))

    # -- parts ----------------------------------------------------------------------------------

    @property
    def states(self) -> tuple[Symbol, ...] | range:
        """Y, in order; a range if the states are 0, 1, …, N-1."""
        return self.alphabet.symbols

    @property
    def initial(self) -> Symbol | None:
        """y0, or None if any state may start."""
        state: Symbol | None = None if self._initial is None else self.alphabet[self._initial]
        return state

    @property
    def transitions(self) -> dict[Symbol, dict[Symbol, float]]:
        """A copy of T as ``{state: {state: probability}}``, as the constructor takes it."""
        rows: dict[Symbol, dict[Symbol, float]] = {}
        names = self.alphabet
        for tail, head, probability in self._triples():
            rows.setdefault(names[tail], {})[names[head]] = probability
        return rows

    @cached_property
    def graph(self) -> nx.DiGraph:
        """The chain as a frozen networkx DiGraph, made when first asked for.

        Nodes are the states, with the attribute "initial": whether a word may begin there (None) or
        the state is y0. Edges have the attribute "probability".
        """
        import networkx as nx

        graph = nx.DiGraph()
        names = self.alphabet
        for number, state in enumerate(names):
            graph.add_node(state, initial=self._initial is None or number == self._initial)
        for tail, head, probability in self._triples():
            graph.add_edge(names[tail], names[head], probability=probability)
        return nx.freeze(graph)

    def to_matrix(self) -> Any:
        """Return T as a sparse matrix in the order of `states`.

        Returns
        -------
        scipy.sparse.csr_array, shape (N, N)
        """
        from scipy.sparse import csr_array

        size = len(self.alphabet)
        # Copies: SciPy may sort or compress its arrays in place.
        parts = (self._probability.copy(), self._head.copy(), self._indptr.copy())
        return csr_array(parts, shape=(size, size))

    def _triples(self) -> Iterable[tuple[int, int, float]]:
        return zip(
            self._arrays.tail.tolist(), self._head.tolist(), self._probability.tolist(), strict=True
        )

    def __repr__(self) -> str:
        start = "" if self._initial is None else f", initial {shown(self.initial)}"
        return f"<MarkovChain: {len(self.alphabet)} states, {len(self._head)} transitions{start}>"

    @cached_property
    def _arrays(self) -> Automaton:
        """The chain as an automaton: an edge reads the state that it enters."""
        if self._initial is None:
            first = np.arange(len(self.alphabet))
        else:
            first = self._head[self._indptr[self._initial] : self._indptr[self._initial + 1]]
        return Automaton(
            alphabet=self.alphabet,
            states=self.alphabet,
            start=START if self._initial is None else self.alphabet[self._initial],
            start_head=first,
            start_label=first,
            indptr=self._indptr,
            head=self._head,
            label=self._head,
            final=np.ones(len(self.alphabet), dtype=bool),
        )

    # -- words ----------------------------------------------------------------------------------

    def feasible(self, w: Iterable[Symbol]) -> bool:
        """Return whether every step of `w`, from `initial` on, has a positive probability.

        Parameters
        ----------
        w : sequence of hashable
            A word with a symbol that is no state is not feasible.
        """
        return self._step_probabilities(w) is not None

    def probability(self, w: Iterable[Symbol]) -> float:
        """Return the probability that the chain visits exactly `w` in its first n steps.

        Parameters
        ----------
        w : sequence of hashable

        Returns
        -------
        float
            0.0 if `w` is not feasible, and for feasible words below about 1e-308; see
            `log_probability`.
        """
        steps = self._step_probabilities(w)
        return 0.0 if steps is None else math.prod(steps)

    def log_probability(self, w: Iterable[Symbol]) -> float:
        """Return the natural logarithm of `probability`; -inf if `w` is not feasible.

        Examples
        --------
        >>> coin = MarkovChain.from_matrix([[0.5, 0.5], [0.5, 0.5]], initial=0)
        >>> coin.probability([0, 1] * 1000), round(coin.log_probability([0, 1] * 1000), 3)
        (0.0, -1386.294)
        """
        steps = self._step_probabilities(w)
        return -math.inf if steps is None else math.fsum(map(math.log, steps))

    def _step_probabilities(self, w: Iterable[Symbol]) -> list[float] | None:
        """Return the probability of every step, or None if one is impossible."""
        steps = []
        state = self._initial
        for symbol in as_word(w):
            head = self.alphabet.number(symbol)
            if head is None:
                return None
            if state is None:
                steps.append(1 / len(self.alphabet))
            else:
                low, high = self._indptr[state], self._indptr[state + 1]
                edge = low + int(np.searchsorted(self._head[low:high], head))
                if edge == high or self._head[edge] != head:
                    return None
                steps.append(float(self._probability[edge]))
            state = head
        return steps

    def sample(self, length: int, rng: Random = None) -> Word:
        """Draw a word as the chain walks; no private release, but a way to make test data.

        Parameters
        ----------
        length : int
            n, at least 1.
        rng : None, int, numpy Generator or bit source, optional
            None is the operating system's generator. A seed is at least 0.

        Returns
        -------
        tuple of hashable
            Drawn with its `probability`. Where dead ends can be met within n steps, the walk is
            conditioned on not meeting one before its last state.

        Raises
        ------
        InvalidArgument
            If `length` is not a whole number of at least 1, or `rng` is none of the above.
        EmptyLanguage
            If every walk of that length meets a dead end.
        StateLimitExceeded
            If avoiding dead ends would take too much memory.

        Examples
        --------
        >>> chain = MarkovChain.from_matrix([[0, 1], [0.5, 0.5]], states="ab", initial="b")
        >>> word = chain.sample(20, rng=1)
        >>> len(word), chain.feasible(word)
        (20, True)
        """
        walk = sample_walk(
            self._arrays,
            self._probability,
            self._survival,
            self._initial,
            draw_uniforms(rng, parse_length(length)),
        )
        return self.alphabet.decode(walk)

    @cached_property
    def _survival(self) -> list[FloatArray]:
        """What walks learn about dead ends, kept for the next walk."""
        return [np.zeros(len(self.alphabet))]

    def language(self, length: int) -> Language:
        """Return the feasible words of one length, compiled for the mechanisms.

        Parameters
        ----------
        length : int
            n, at least 1.

        Returns
        -------
        Language

        Raises
        ------
        InvalidArgument
            If `length` is not a whole number of at least 1.
        EmptyLanguage
            If every walk of that length meets a dead end.
        """
        return Language.compile(self._arrays, length)


def _fields(
    states: Alphabet,
    triples: tuple[IntArray, IntArray, FloatArray],
    initial: Symbol | None,
    *,
    argument: str,
) -> dict[str, Any]:
    """Return the fields of a chain from its unsorted transitions."""
    indptr, head, probability = checked_rows(states, *triples, argument=argument)
    return {
        "alphabet": states,
        "_indptr": indptr,
        "_head": head,
        "_probability": probability,
        "_initial": None if initial is None else state_number(initial, states, place="initial"),
    }
