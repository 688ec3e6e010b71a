"""The MNFA: the product of a Hamming automaton with a language, and the policy that samples it."""

from __future__ import annotations

import operator
from collections.abc import Hashable, Iterable, Iterator
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from dpauto.arrays import reduce_rows
from dpauto.counting import Counts
from dpauto.display import Drawable
from dpauto.errors import EmptyLanguage, InvalidArgument, StateLimitExceeded
from dpauto.hamming.automaton import parse_errors
from dpauto.language import Language, require_language
from dpauto.randomness import Random, Tape, as_source, encode
from dpauto.words import Symbol, Word

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["MNFA", "Node", "mnfa"]

#: (symbols written, symbols wrong, state of the language's automaton).
Node: TypeAlias = tuple[int, int, Hashable]

#: Largest number of nodes that `MNFA.graph` builds; counting and sampling have no such limit.
GRAPH_NODES = 500_000


def mnfa(w: Iterable[Symbol], errors: int, language: Language) -> MNFA:
    """Return the words of a language at distance exactly `errors` from `w`, with their policy.

    Parameters
    ----------
    w : sequence of hashable
        A word of the language's length over its alphabet; it need not be in the language.
    errors : int
        l, from 0 to n.
    language : Language

    Returns
    -------
    MNFA

    Raises
    ------
    InvalidWord, UnknownSymbol
        If `w` is not a word of the language's length over its alphabet.
    InvalidArgument
        If `errors` is not a whole number from 0 to n, or `language` is not a `Language`.
    EmptyLanguage
        If no word of the language is that far from `w`.

    Examples
    --------
    >>> near = mnfa("abba", 2, Language.all_words("abc", 4))
    >>> near.count()
    24
    >>> near.policy((0, 0, "any"))["a", (1, 0, "any")]
    Fraction(1, 2)
    """
    return MNFA(w, errors, language)


class MNFA(Drawable):
    """The product of a Hamming automaton with a language's automaton, and its uniform policy.

    Nodes are triples (i, j, state): i symbols written, j of them wrong, and the state in which the
    language's automaton then is. V(node) is the number of paths from the node to the end; the
    policy takes each edge with probability V(head) / V(tail). Since the language's automaton is
    unambiguous, paths are words, and following the policy writes a uniform word of the language
    among those at distance exactly `errors`.

    The object holds `w` and is as sensitive as `w` is; its repr does not show it, its graph and its
    drawing do. Built by `mnfa`.

    Attributes
    ----------
    errors : int
        l, the distance of every word from `w`.
    language : Language

    Notes
    -----
    Algorithm 1 of the paper [1]_. The values V(i, j, q) of one (i, q) and all j are kept as the
    digits of one integer to the base 2^B, with B bits enough for the number of words, so that the
    backward pass has no dimension for errors.

    References
    ----------
    .. [1] Benvenuti, Rao, Hale, arXiv:2603.28903, Definition 5 and Algorithm 1.

    Examples
    --------
    >>> near = mnfa("abba", 1, Language.of(["abba", "abca", "bbba", "cbca"]))
    >>> sorted("".join(word) for word in near.words())
    ['abca', 'bbba']
    >>> near
    <MNFA: words of length 4 with exactly 1 error>
    """

    errors: int
    language: Language

    def __init__(self, w: Iterable[Symbol], errors: int, language: Language) -> None:
        self.language = require_language(language)
        self._word = language.encode(w)
        self.errors = parse_errors(errors, language.length)
        self._width = max(1, language.count().bit_length())
        self._cells = self._backward()
        if self.count() == 0:
            raise EmptyLanguage(
                f"errors: no word of the language is at distance {self.errors} from w; its"
                " level_counts(w) tells which distances occur"
            )

    def _backward(self) -> list[Counts]:
        """Return V for every layer i and state q, digit k for k errors still to be made."""
        language, n = self.language, self.n
        kept = (1 << self._width * (self.errors + 1)) - 1
        final = language.automaton.final[: language.rows[n]]
        layers: list[Counts] = [final.astype(np.int64).astype(object)]
        for i in range(n - 1, -1, -1):
            after, edges = layers[-1], language.layer(i)
            values = ((after << self._width) & kept)[edges.head]
            right = np.flatnonzero(edges.label == self._word[i])
            values[right] = after[edges.head[right]]
            layers.append(reduce_rows(np.add, values, edges.indptr, 0))
        return layers[::-1]

    # -- what it is -----------------------------------------------------------------------------

    @property
    def n(self) -> int:
        """Length of the words."""
        return self.language.length

    @property
    def w(self) -> Word:
        """The sensitive word."""
        return self.language.decode(self._word)

    def __repr__(self) -> str:
        errors = "1 error" if self.errors == 1 else f"{self.errors} errors"
        return f"<MNFA: words of length {self.n} with exactly {errors}>"

    def count(self) -> int:
        """Return the number of words, exactly: the language's N_l for this word."""
        return self._paths(0, 0, 0)

    def __contains__(self, v: object) -> bool:
        if v not in self.language:
            return False
        word = self.language.encode(v)  # type: ignore[arg-type]
        return int((word != self._word).sum()) == self.errors

    def words(self) -> Iterator[Word]:
        """Iterate over the words, each once."""
        labels: list[int] = []
        # Depth first with an explicit stack: words may be longer than Python's recursion allows.
        stack = [self._moves(0, 0, 0)]
        while stack:
            move = next(stack[-1], None)
            if move is None:
                stack.pop()
                del labels[-1:]
                continue
            label, j, state, _ = move
            if len(stack) == self.n:
                yield self.language.decode([*labels, label])
            else:
                labels.append(label)
                stack.append(self._moves(len(stack), j, state))

    def sample(self, rng: Random = None) -> Word:
        """Return a random word, each of the `count` words with the same probability.

        Follows the policy from the first node to the last. It is not a private release: the
        distance from `w` is fixed.

        Parameters
        ----------
        rng : None, int, numpy Generator or bit source, optional
            None is the operating system's generator.

        Raises
        ------
        InvalidArgument
            If `rng` is none of the above, or a source of keyed bits, which would need an id.

        Notes
        -----
        `word` of one integer, drawn uniformly from 0 … V - 1, exactly.
        """
        tape = Tape(as_source(rng).seeds([self._context], None)[0])
        return self.word(tape.below(self.count()))

    def word(self, number: int) -> Word:
        """Return word number `number` in the order of `words`.

        Parameters
        ----------
        number : int
            From 0 to ``count() - 1``.

        Raises
        ------
        InvalidArgument
            If there is no such word.

        Notes
        -----
        The number's place among the edges of a node, laid side by side with widths V(head), picks
        an edge; what it exceeds the edge's beginning by is a number from 0 to V(head) - 1 and
        serves the next node. A uniform number thus takes each edge with probability
        V(head) / V(tail), which is the policy.
        """
        try:
            rest = operator.index(number)
        except TypeError:
            rest = -1
        if not 0 <= rest < self.count():
            raise InvalidArgument("number must be a whole number from 0 to count() - 1")
        labels, j, state = [], 0, 0
        for i in range(self.n):
            for move in self._moves(i, j, state):
                label, next_j, head, paths = move
                if rest < paths:
                    break
                rest -= paths
            labels.append(label)
            j, state = next_j, head
        return self.language.decode(labels)

    @cached_property
    def _context(self) -> bytes:
        """What a draw depends on, so that a seed serves two automata with different bits."""
        return encode("mnfa", self.language.fingerprint, self.errors, tuple(self._word.tolist()))

    # -- nodes and edges ------------------------------------------------------------------------

    def _paths(self, i: int, j: int, state: int) -> int:
        """Return V(i, j, state)."""
        return int(self._cells[i][state] >> self._width * (self.errors - j)) & (
            (1 << self._width) - 1
        )

    def _moves(self, i: int, j: int, state: int) -> Iterator[tuple[int, int, int, int]]:
        """Yield (label, next j, next state, V(next)) of the edges that can still finish."""
        if i == self.n:
            return
        right = int(self._word[i])
        heads, labels = self.language.automaton.moves(state if i else None)
        width, spare = self._width, self.errors - j
        digit = (1 << width) - 1
        cells = self._cells[i + 1][heads].tolist()
        for head, label, cell in zip(heads.tolist(), labels.tolist(), cells, strict=True):
            wrong = int(label != right)
            paths = cell >> width * (spare - wrong) & digit if wrong <= spare else 0
            if paths:
                yield label, j + wrong, head, paths

    @cached_property
    def _layers(self) -> list[dict[int, list[int]]]:
        """For every i, the states with the j of their nodes: reached, and able to finish."""
        layers: list[dict[int, list[int]]] = [{0: [0]}]
        for i in range(self.n):
            found: set[tuple[int, int]] = set()
            for state, wrong in layers[-1].items():
                for j in wrong:
                    found.update((head, k) for _, k, head, _ in self._moves(i, j, state))
            layer: dict[int, list[int]] = {}
            for head, k in sorted(found):
                layer.setdefault(head, []).append(k)
            layers.append(layer)
        return layers

    def _name(self, i: int, j: int, state: int) -> Node:
        a = self.language.automaton
        return i, j, (a.states[state] if i else a.start)

    @cached_property
    def _number_of_state(self) -> dict[Hashable, int]:
        return {name: number for number, name in enumerate(self.language.automaton.states)}

    @property
    def number_of_nodes(self) -> int:
        """Number of nodes of the graph; found without building it."""
        return sum(len(wrong) for layer in self._layers for wrong in layer.values())

    def policy(self, node: Node) -> dict[tuple[Symbol, Node], Fraction]:
        """Return the policy of Algorithm 1 at a node.

        Parameters
        ----------
        node : (int, int, state)
            A node of `graph`.

        Returns
        -------
        dict
            {(symbol, next node): probability}; the probabilities are exact and sum to 1. Empty at
            the last nodes, where the word is complete.

        Raises
        ------
        InvalidArgument
            If `node` is not a node of the graph.
        """
        i, j, state = self._parse_node(node)
        paths = self._paths(i, j, state)
        alphabet = self.language.alphabet
        return {
            (alphabet[label], self._name(i + 1, k, head)): Fraction(ahead, paths)
            for label, k, head, ahead in self._moves(i, j, state)
        }

    def _parse_node(self, node: Node) -> tuple[int, int, int]:
        try:
            i, j, name = node
            if i == 0:
                state = 0 if name == self.language.automaton.start else -1
            else:
                state = self._number_of_state.get(name, -1)
            known = j in self._layers[i].get(state, ()) if 0 <= i <= self.n else False
        except (TypeError, ValueError):
            known = False
        if not known:
            raise InvalidArgument(
                "node must be a node of the graph: (symbols written, symbols wrong, state)"
            )
        return i, j, state

    @cached_property
    def graph(self) -> nx.MultiDiGraph[Node]:
        """The product as a frozen networkx graph.

        Nodes are (i, j, state), with "paths" (V, an exact int), "initial" and "final"; edges have
        "symbol" and "probability" (the policy, a Fraction). Only nodes on a path from first to last
        are there.

        Raises
        ------
        StateLimitExceeded
            If there are too many nodes for a graph of Python objects; `count`, `sample`, `words`
            and `policy` have no such limit.
        """
        import networkx as nx

        if self.number_of_nodes > GRAPH_NODES:
            raise StateLimitExceeded(
                f"the product has {self.number_of_nodes} nodes and a graph of it may have"
                f" {GRAPH_NODES}; count(), sample(), words() and policy() need no graph"
            )
        graph: nx.MultiDiGraph[Node] = nx.MultiDiGraph()
        alphabet = self.language.alphabet
        places = [
            (i, j, state)
            for i, layer in enumerate(self._layers)
            for state, wrong in layer.items()
            for j in wrong
        ]
        for i, j, state in places:
            paths = self._paths(i, j, state)
            graph.add_node(self._name(i, j, state), paths=paths, initial=i == 0, final=i == self.n)
        for i, j, state in places:
            paths = self._paths(i, j, state)
            for label, k, head, ahead in self._moves(i, j, state):
                graph.add_edge(
                    self._name(i, j, state),
                    self._name(i + 1, k, head),
                    key=label,
                    symbol=alphabet[label],
                    probability=Fraction(ahead, paths),
                )
        return nx.freeze(graph)
