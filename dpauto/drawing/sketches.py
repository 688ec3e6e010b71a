"""What each model looks like: from a model to a `Sketch`.

Everything is put in order by the numbers of states and symbols, never by hashes, so that equal
models give equal drawings.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from dpauto.arrays import Automaton
from dpauto.drawing.dot import Edge, Node, Sketch
from dpauto.drawing.labels import Labeller, Probability, join_symbols, probability_text
from dpauto.errors import InvalidArgument
from dpauto.hamming import MNFA
from dpauto.language import Language
from dpauto.models import MDP, NFA, MarkovChain

__all__ = ["node_count", "sketch"]

#: (tail, head, symbol's text, probability or None, style), in the order in which to show them.
Arrow: TypeAlias = tuple[int, int, str, Probability | None, str]

_HAMMING_CAPTION = (
    "column: symbols written,  row: symbols wrong,  bold: the true symbol,  thin: a wrong one"
)


def sketch(model: Any) -> Sketch:
    """Return what the drawing of a model shows; `node_count` says what can be drawn."""
    if isinstance(model, MNFA):
        return _sketch_mnfa(model)
    if isinstance(model, NFA):
        return _sketch_nfa(model)
    if isinstance(model, MarkovChain):
        return _sketch_chain(model)
    if isinstance(model, MDP):
        return _sketch_mdp(model)
    return _sketch_automaton(model.automaton)


def node_count(model: object) -> int:
    """Return how many nodes a drawing of the model would have at least, without making it.

    Raises
    ------
    InvalidArgument
        If the model is nothing that can be drawn.
    """
    if isinstance(model, MNFA):
        return model.number_of_nodes
    if isinstance(model, Language):
        return model.automaton.n_states
    if isinstance(model, NFA | MarkovChain | MDP):
        return len(model.states)
    raise InvalidArgument(
        f"only an NFA, MarkovChain, MDP, Language or MNFA can be drawn, not {type(model).__name__}"
    )


# -- arrows -----------------------------------------------------------------------------------


def _merged(arrows: Iterable[Arrow]) -> tuple[Edge, ...]:
    """Draw parallel arrows as one: a line for each probability that occurs, with its symbols."""
    lines: dict[tuple[int, int, str], dict[Probability | None, list[str]]] = {}
    for tail, head, text, probability, style in arrows:
        by_probability = lines.setdefault((tail, head, style), {})
        by_probability.setdefault(probability, []).append(text)
    edges = []
    for (tail, head, style), by_probability in sorted(lines.items(), key=lambda item: item[0]):
        shown = (_line(probability, texts) for probability, texts in by_probability.items())
        edges.append(Edge(tail, head, tuple(filter(None, shown)), style))
    return tuple(edges)


def _line(probability: Probability | None, texts: list[str]) -> str:
    symbols = join_symbols(texts)
    if probability is None:
        return symbols
    each = " each" if len(texts) > 1 else ""
    text = probability_text(probability)
    return f"{symbols}: {text}{each}" if symbols else text


def _with_entry(nodes: list[Node], initial: int | None) -> tuple[list[Node], list[Edge]]:
    """Add the arrow from nowhere that marks an initial state."""
    if initial is None:
        return nodes, []
    place = nodes[initial]
    hidden = Node("", "hidden", None if place.rank is None else -1, place.row)
    return [*nodes, hidden], [Edge(len(nodes), initial)]


# -- models -----------------------------------------------------------------------------------


def _sketch_nfa(nfa: NFA) -> Sketch:
    states: list[Any] = list(nfa.states)
    final = nfa.final
    number = {state: k for k, state in enumerate(states)}
    symbols = list(nfa.alphabet)
    place_of = {symbol: k for k, symbol in enumerate(symbols)}
    text = Labeller(symbols).text
    steps = sorted(
        (number[tail], number[head], place_of[symbol])
        for tail, head, symbol in nfa.graph.edges(data="symbol")
    )
    hamming = _is_hamming(states, steps)
    ranks: Sequence[int | None] = (
        [state[0] for state in states]
        if hamming
        else _depths(len(states), [number[nfa.initial]], [(t, h) for t, h, _ in steps])
    )
    named = Labeller(states).text
    nodes = [
        Node(
            named(state),
            "final" if state in final else "state",
            ranks[k],
            state[1] if hamming else None,
        )
        for k, state in enumerate(states)
    ]
    arrows: list[Arrow] = [
        (t, h, text(symbols[s]), None, _hamming_style(states[t], states[h]) if hamming else "plain")
        for t, h, s in steps
    ]
    nodes, entry = _with_entry(nodes, number[nfa.initial])
    return Sketch(tuple(nodes), (*entry, *_merged(arrows)), _HAMMING_CAPTION if hamming else "")


def _is_hamming(states: Sequence[Any], steps: Sequence[tuple[int, int, int]]) -> bool:
    """Tell whether states are (symbols written, symbols wrong) and every step writes one symbol."""
    if not steps or not all(
        isinstance(s, tuple) and len(s) == 2 and all(type(x) is int for x in s) for s in states
    ):
        return False
    return all(
        states[h][0] == states[t][0] + 1 and states[h][1] - states[t][1] in (0, 1)
        for t, h, _ in steps
    )


def _hamming_style(tail: Sequence[Any], head: Sequence[Any]) -> str:
    return "true" if head[1] == tail[1] else "wrong"


def _depths(
    size: int, sources: Iterable[int], steps: Sequence[tuple[int, int]]
) -> list[int | None]:
    """Return each node's number of steps from the sources if it is the same on every path.

    Otherwise, or when a node is out of reach, the graph has no layers and all are None.
    """
    after: list[list[int]] = [[] for _ in range(size)]
    for tail, head in steps:
        after[tail].append(head)
    depth: list[int | None] = [None] * size
    frontier, level = sorted(set(sources)), 0
    for node in frontier:
        depth[node] = 0
    while frontier:
        level += 1
        ahead = sorted({head for node in frontier for head in after[node]})
        if any(depth[node] is not None for node in ahead):
            return [None] * size
        for node in ahead:
            depth[node] = level
        frontier = ahead
    return [None] * size if None in depth else depth


def _sketch_chain(chain: MarkovChain) -> Sketch:
    states = list(chain.states)
    number = {state: k for k, state in enumerate(states)}
    text = Labeller(states).text
    nodes = [Node(text(state)) for state in states]
    arrows: list[Arrow] = [
        (number[tail], number[head], "", probability, "plain")
        for tail, head, probability in chain.graph.edges(data="probability")
    ]
    initial = None if chain.initial is None else number[chain.initial]
    nodes, entry = _with_entry(nodes, initial)
    return Sketch(tuple(nodes), (*entry, *_merged(arrows)))


def _sketch_mdp(mdp: MDP) -> Sketch:
    states = list(mdp.states)
    number = {state: k for k, state in enumerate(states)}
    text = Labeller(states).text
    act = Labeller(mdp.actions).text
    transitions = mdp.transitions
    nodes = [Node(text(state)) for state in states]
    arrows: list[Arrow] = []
    for state in states:
        for action, row in transitions.get(state, {}).items():
            if len(row) == 1:
                (head,) = row
                arrows.append((number[state], number[head], act(action), None, "plain"))
                continue
            # Where chance decides, the action is a dot of its own between the states.
            choice = len(nodes)
            nodes.append(Node("", "origin"))
            arrows.append((number[state], choice, act(action), None, "plain"))
            arrows += [(choice, number[head], "", p, "plain") for head, p in row.items()]
    initial = None if mdp.initial is None else number[mdp.initial]
    nodes, entry = _with_entry(nodes, initial)
    return Sketch(tuple(nodes), (*entry, *_merged(arrows)))


def _sketch_automaton(automaton: Automaton) -> Sketch:
    """Draw a compiled automaton; its start is a dot, since it may be no state of the model."""
    a = automaton
    named = Labeller(a.states).text
    names = [named(state) for state in a.states]
    edges = list(zip(a.tail.tolist(), a.head.tolist(), a.label.tolist(), strict=True))
    starts = zip(a.start_head.tolist(), a.start_label.tolist(), strict=True)
    # A start that leads to every state is said in words: its arrows would bury the rest.
    anywhere = len(set(a.start_head.tolist())) == a.n_states > 1
    nodes = [
        Node(name, "final" if final else "state")
        for name, final in zip(names, a.final.tolist(), strict=True)
    ]
    if not anywhere:
        edges += [(len(nodes), head, label) for head, label in starts]
        nodes.append(Node("", "origin"))
        depths = _depths(len(nodes), [len(nodes) - 1], [(t, h) for t, h, _ in edges])
        nodes = [replace(node, rank=rank) for node, rank in zip(nodes, depths, strict=True)]
    used = sorted({s for _, _, s in edges})
    text = Labeller(a.alphabet[s] for s in used).text
    shown = [text(a.alphabet[s]) for _, _, s in edges]
    # On a chain the symbol is the state that is entered: saying it twice would only be noise.
    if all(names[h] == symbol for (_, h, _), symbol in zip(edges, shown, strict=True)):
        shown = [""] * len(edges)
    arrows: list[Arrow] = [
        (t, h, symbol, None, "plain") for (t, h, _), symbol in zip(edges, shown, strict=True)
    ]
    return Sketch(tuple(nodes), _merged(arrows), "any state may come first" if anywhere else "")


def _sketch_mnfa(product: MNFA) -> Sketch:
    graph = product.graph
    number = {node: k for k, node in enumerate(graph)}
    with_state = not product.language.is_all_words
    named = Labeller(state for i, _, state in graph if i > 0).text
    text = Labeller(product.language.alphabet).text
    place_of = {symbol: k for k, symbol in enumerate(product.language.alphabet)}
    nodes = [
        Node(
            named(state) if with_state and i else f"{i}, {j}",
            "final" if i == product.n else "state",
            i,
            j,
            f"{i}, {j}" if with_state and i else "",
        )
        for i, j, state in graph
    ]
    arrows = sorted(
        (number[tail], number[head], place_of[data["symbol"]], data["probability"])
        for tail, head, data in graph.edges(data=True)
    )
    places = list(graph)
    nodes, entry = _with_entry(nodes, 0)
    merged = _merged(
        (t, h, text(product.language.alphabet[s]), p, _hamming_style(places[t], places[h]))
        for t, h, s, p in arrows
    )
    return Sketch(tuple(nodes), (*entry, *merged), _HAMMING_CAPTION)
