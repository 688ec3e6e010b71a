"""Models as labelled graphs of text, which GraphML and DOT both are."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from dpauto.errors import InvalidFile, InvalidModel
from dpauto.formats.csvfile import number
from dpauto.formats.options import Model, ModelOptions
from dpauto.formats.rows import columns_of, kind_of, transition_rows
from dpauto.formats.steps import Steps
from dpauto.formats.symbols import SymbolTexts, find_symbol, text_of

if TYPE_CHECKING:
    from dpauto.models import MDP, NFA, MarkovChain

__all__ = ["LabelledGraph"]

_TRUE = frozenset(["true", "1", "yes"])


@dataclass
class LabelledGraph:
    """Nodes and edges with text data, in the order of the file.

    Attributes
    ----------
    name : str
        Where it comes from, for errors.
    nodes : dict
        Node to its data.
    edges : list of (tail, head, data)
        Data that mean something: probability, weight, symbol, action.
    data : dict
        Data of the graph: kind ("markov-chain", "nfa" or "mdp"), initial and alphabet.
    """

    name: str
    nodes: dict[str, dict[str, str]] = field(default_factory=dict)
    edges: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)
    data: dict[str, str] = field(default_factory=dict)

    # -- reading --------------------------------------------------------------------------------

    @property
    def kind(self) -> str:
        """The kind that the graph declares, or that the first edge's data tell.

        Raises
        ------
        InvalidFile
            If it declares another kind.
        """
        declared = self.data.get("kind")
        if declared is not None:
            if declared not in ("markov-chain", "nfa", "mdp"):
                raise InvalidFile(
                    f"{self.name}: kind {declared!r} is unknown; it is markov-chain, nfa or mdp"
                )
            return declared
        first = self.edges[0][2] if self.edges else {}
        return "nfa" if "symbol" in first else "mdp" if "action" in first else "markov-chain"

    def initial(self, options: ModelOptions) -> str | None:
        """Return the public start: what the user says, else the graph, else a marked node."""
        if options.initial is not None:
            return options.initial
        marked = [node for node, data in self.nodes.items() if _is_true(data.get("initial"))]
        return self.data.get("initial", marked[0] if marked else None)

    def model(self, options: ModelOptions) -> Model:
        """Return the model that the graph describes.

        Raises
        ------
        InvalidFile
            If an edge lacks data that the others have, or probabilities do not fit.
        InvalidModel
            If the initial state is missing or unknown.
        """
        if self.kind == "nfa":
            return self._nfa(options)
        return self._mdp(options) if self.kind == "mdp" else self._chain(options)

    def _chain(self, options: ModelOptions) -> MarkovChain:
        numbers = {node: k for k, node in enumerate(self.nodes)}
        steps = Steps(
            list(self.nodes),
            np.array([numbers[u] for u, _, _ in self.edges], dtype=np.int64),
            np.array([numbers[v] for _, v, _ in self.edges], dtype=np.int64),
            file=self.name,
        )
        for column in ("probability", "weight"):
            if any(column in data for _, _, data in self.edges):
                steps.column, steps.weights = column, column == "weight"
                steps.values = np.array([self._number(k, column) for k in range(len(self.edges))])
                break
        return steps.chain(self.initial(options))

    def _number(self, edge: int, column: str) -> float:
        return number(self._text(edge, column), file=self.name, row=edge + 1, column=column)

    def _text(self, edge: int, key: str) -> str:
        u, v, data = self.edges[edge]
        if key not in data:
            raise InvalidFile(
                f"{self.name}: the edge from {u!r} to {v!r} has no {key}, others have"
            )
        return data[key]

    def _nfa(self, options: ModelOptions) -> NFA:
        from dpauto.models import NFA

        transitions: dict[str, dict[str, set[str]]] = {node: {} for node in self.nodes}
        alphabet: dict[str, None] = dict.fromkeys([*self._listed(), *(options.alphabet or ())])
        for k, (u, v, _) in enumerate(self.edges):
            symbol = self._text(k, "symbol")
            alphabet[symbol] = None
            transitions[u].setdefault(symbol, set()).add(v)
        initial = self.initial(options)
        if initial is None:
            raise InvalidModel(f"{self.name}: an automaton needs a start; name it with --initial")
        final = [node for node, data in self.nodes.items() if _is_true(data.get("final"))]
        return NFA(
            states=list(self.nodes),
            alphabet=list(alphabet),
            transitions=transitions,
            initial=find_symbol(self.nodes, initial, name="initial"),
            # A graph that marks no node and does not say what it is: every run may end anywhere.
            final=final if final or "kind" in self.data else list(self.nodes),
        )

    def _listed(self) -> list[str]:
        """Return the alphabet that the graph lists: symbols that no edge reads are in it."""
        try:
            listed = json.loads(self.data.get("alphabet", "[]"))
        except json.JSONDecodeError:
            listed = None
        if not isinstance(listed, list) or not all(isinstance(symbol, str) for symbol in listed):
            raise InvalidFile(f"{self.name}: the data alphabet must be a JSON list of strings")
        return listed

    def _mdp(self, options: ModelOptions) -> MDP:
        from dpauto.models import MDP

        transitions: dict[str, dict[str, dict[str, float]]] = {node: {} for node in self.nodes}
        for k, (u, v, data) in enumerate(self.edges):
            action = transitions[u].setdefault(self._text(k, "action"), {})
            value = self._number(k, "probability") if "probability" in data else 1.0
            action[v] = action.get(v, 0.0) + value
        initial = self.initial(options)
        start = None if initial is None else find_symbol(self.nodes, initial, name="initial")
        return MDP(states=list(self.nodes), transitions=transitions, initial=start)

    # -- writing --------------------------------------------------------------------------------

    @classmethod
    def of(cls, model: MarkovChain | NFA | MDP) -> LabelledGraph:
        """Return the graph of a model, all names as text.

        Raises
        ------
        InvalidModel
            If two states, symbols or actions have the same text.
        """
        from dpauto.models import MDP, NFA

        kind = kind_of(model)
        graph = cls("model", {text: {} for text in SymbolTexts(model.states)})
        graph.data["kind"] = kind
        if model.initial is not None:
            graph.data["initial"] = text_of(model.initial)
        for row in transition_rows(model):
            data = dict(zip(columns_of(kind), map(text_of, row), strict=True))
            graph.edges.append((data.pop("tail"), data.pop("head"), data))
        if isinstance(model, NFA):
            symbols = SymbolTexts(model.alphabet)
            if len(symbols) > len({data["symbol"] for _, _, data in graph.edges}):
                graph.data["alphabet"] = json.dumps(list(symbols), ensure_ascii=False)
            for state in model.final:
                graph.nodes[text_of(state)]["final"] = "true"
        elif isinstance(model, MDP):
            SymbolTexts(model.actions)
        return graph


def _is_true(text: str | None) -> bool:
    return text is not None and text.lower() in _TRUE
