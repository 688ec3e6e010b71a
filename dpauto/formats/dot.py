"""Graphviz DOT, plain and as AALpy writes automata, Mealy machines and MDPs.

Parsing is Graphviz's own, through pygraphviz (the extra ``draw``). Reference: AALpy's
``save_automaton_to_file``, https://des-lab.github.io/AALpy/
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any

from dpauto.errors import InvalidFile, InvalidModel, MissingDependency
from dpauto.formats.files import read_bytes
from dpauto.formats.graphs import LabelledGraph
from dpauto.formats.options import Model, ModelOptions

if TYPE_CHECKING:
    from dpauto.models import MDP, NFA, MarkovChain

__all__ = ["read_dot", "write_dot"]

_START = "__start0"
_ACTION = re.compile(r"(?P<action>.+):(?P<probability>[0-9.eE+-]+)", re.DOTALL)
_PROBABILITY = re.compile(r"\s*(0?\.\d+|1|1\.0*)([eE]-\d+)?\s*")


def read_dot(name: str, options: ModelOptions) -> Model:
    """Read a model; the states are the nodes' ids.

    Labels ``action:probability`` on all edges make an MDP. Edges without labels, or with labels
    that are positive probabilities and sum to 1 at every node, make a Markov chain. All else is an
    automaton whose symbols are the labels (a Mealy machine's are its ``input/output``); double
    circles accept, and every state does where there is none. An edge from a node ``__start0``
    marks the start. A file that `write_dot` made says its kind itself.

    Raises
    ------
    MissingDependency
        If pygraphviz is not installed.
    InvalidFile
        If the file is not DOT.
    """
    try:
        import pygraphviz
    except ImportError:
        raise MissingDependency(
            f"{name}: reading DOT needs pygraphviz: pip install 'dpauto[draw]'"
        ) from None
    try:
        text = read_bytes(name).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidFile(f"{name}: not UTF-8 text") from None
    with _overheard() as said:
        try:
            graph = _gather(name, pygraphviz.AGraph(string=text))
        except ValueError:
            said.seek(0)
            line = re.search(rb"line (\d+)", said.read())
            place = f", row {line[1].decode()}" if line else ""
            raise InvalidFile(f"{name}{place}: not DOT") from None
        except TypeError:
            # Graphviz takes ids that are empty or begin with % for nodes without a name.
            raise InvalidFile(f"{name}: an id of a node is empty or begins with %") from None
    if not graph.nodes:
        raise InvalidFile(f"{name}: the graph has no node")
    if "kind" not in graph.data:
        _interpret(graph)
    return graph.model(options)


@contextmanager
def _overheard() -> Iterator[IO[bytes]]:
    """Catch what Graphviz's parser, which is written in C, says on standard error."""
    with tempfile.TemporaryFile() as said:
        kept = os.dup(2)
        os.dup2(said.fileno(), 2)
        try:
            yield said
        finally:
            os.dup2(kept, 2)
            os.close(kept)


def _gather(name: str, source: Any) -> LabelledGraph:
    graph = LabelledGraph(name)
    for key in ("kind", "alphabet"):
        if source.graph_attr.get(key):
            graph.data[key] = source.graph_attr[key]
    names = {_START: _START}
    for node in source.nodes_iter():
        if str(node) != _START:
            # A file of ours names its states; elsewhere the id is the name.
            text = (node.attr.get("name") if "kind" in graph.data else None) or str(node)
            names[str(node)] = text
            accepts = node.attr.get("shape") == "doublecircle"
            graph.nodes[text] = {"final": "true"} if accepts else {}
    undirected = source.is_undirected()
    for edge in source.edges_iter():
        u, v = names[str(edge[0])], names[str(edge[1])]
        if str(edge[0]) == _START:
            graph.data.setdefault("initial", v)
            continue
        keys = ("label", "symbol", "action", "probability", "weight")
        data = {key: edge.attr[key] for key in keys if edge.attr.get(key)}
        graph.edges.append((u, v, data))
        if undirected and u != v:
            graph.edges.append((v, u, data))
    return graph


def _interpret(graph: LabelledGraph) -> None:
    """Give the labels of a foreign graph their meaning."""
    labels = [data.get("label", "") for _, _, data in graph.edges]
    if any(
        {"symbol", "action", "probability", "weight"} & data.keys() for _, _, data in graph.edges
    ):
        return
    if not any(labels):
        graph.data["kind"] = "markov-chain"
        return
    matches = [_ACTION.fullmatch(label) for label in labels]
    accepting = any("final" in data for data in graph.nodes.values())
    if all(matches) and not accepting:
        for (_, _, data), match in zip(graph.edges, matches, strict=True):
            data |= match.groupdict() if match else {}
    elif not accepting and _is_stochastic(graph, labels):
        for (_, _, data), label in zip(graph.edges, labels, strict=True):
            data["probability"] = label
    else:
        for (_, _, data), label in zip(graph.edges, labels, strict=True):
            data["symbol"] = label


def _is_stochastic(graph: LabelledGraph, labels: list[str]) -> bool:
    from dpauto.models import TOLERANCE

    sums: dict[str, float] = {}
    for (u, _, _), label in zip(graph.edges, labels, strict=True):
        if not _PROBABILITY.fullmatch(label):
            return False
        sums[u] = sums.get(u, 0.0) + float(label)
    return all(abs(total - 1) <= TOLERANCE for total in sums.values())


def write_dot(model: MarkovChain | NFA | MDP, name: str) -> bytes:
    """Return a model as DOT that `read_dot` reads back; names of states and symbols become text.

    Nodes are numbered and carry their state's text as ``name``: not every text can be an id.

    Raises
    ------
    InvalidModel
        If two names have the same text, or one is empty, holds a line break or has a backslash
        where DOT cannot hold one.
    """
    graph = LabelledGraph.of(model)
    ids = {node: f"n{k}" for k, node in enumerate(graph.nodes)}
    start = graph.data.pop("initial", None)
    lines = [f"  {key}={_quote(text, name)};" for key, text in sorted(graph.data.items())]
    lines.append("  node [shape=circle];")
    for node, data in graph.nodes.items():
        text = _quote(node, name)
        shape = ", shape=doublecircle" if "final" in data else ""
        lines.append(f"  {ids[node]} [name={text}, label={text}{shape}];")
    if start is not None:
        lines.append(f'  {_START} [shape=none, label=""];')
        lines.append(f"  {_START} -> {ids[start]};")
    for u, v, data in graph.edges:
        values = [f"{key}={_quote(text, name)}" for key, text in data.items()]
        label = _quote(":".join(data.values()), name)
        lines.append(f"  {ids[u]} -> {ids[v]} [{', '.join(values)}, label={label}];")
    return "\n".join(["digraph {", *lines, "}", ""]).encode()


def _quote(text: str, name: str) -> str:
    # In a DOT string a backslash only protects a quote, so one before a quote or at the end has no
    # spelling.
    if not text or re.search(r'\\("|$)|[\r\n\0]', text):
        raise InvalidModel(f"{name}: DOT cannot hold the name {text!r}")
    return '"' + text.replace('"', '\\"') + '"'
