"""GraphML, as osmnx, networkx, Gephi and yEd write it.

The reader streams over the XML and keeps only what a model needs; building a networkx graph first
takes several times as long on a city. Reference: the GraphML specification,
http://graphml.graphdrawing.org/specification.html
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Mapping
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from dpauto.errors import InvalidFile, InvalidModel
from dpauto.formats.files import open_bytes
from dpauto.formats.graphs import LabelledGraph
from dpauto.formats.options import Model, ModelOptions
from dpauto.formats.steps import Steps, join_links

if TYPE_CHECKING:
    from dpauto.models import MDP, NFA, MarkovChain

__all__ = ["read_graphml", "write_graphml"]

#: Data that mean something to us; all else (geometry, street names) is passed over.
_MEANING = frozenset(
    [
        "probability",
        "weight",
        "symbol",
        "action",
        "link",
        "id",
        "initial",
        "final",
        "kind",
        "alphabet",
    ]
)


def read_graphml(name: str, options: ModelOptions) -> Model:
    """Read a model.

    Edges with the data ``symbol`` make an NFA, with ``action`` an MDP, all others a Markov chain:
    by ``probability``, else by ``weight``, else uniform over successors. An undirected edge goes
    both ways; parallel edges are one step. With ``options.links`` the edges are the states of a
    uniform chain, named by the data ``link`` or ``id`` where these tell all edges apart, else by
    their number in the file from 0.

    Raises
    ------
    InvalidFile
        If the file is no GraphML, or an edge lacks data that the others have.
    """
    with open_bytes(name) as raw:
        graph = _Parser(name).parse(raw)
    if not graph.nodes:
        raise InvalidFile(f"{name}: the graph has no node")
    return _links(graph, options) if options.links else graph.model(options)


def _links(graph: LabelledGraph, options: ModelOptions) -> Model:
    if not graph.edges:
        raise InvalidFile(f"{graph.name}: the graph has no edge, so there is no link")
    states = [str(k) for k in range(len(graph.edges))]
    for label in ("link", "id"):
        names = {data.get(label) for _, _, data in graph.edges}
        if None not in names and len(names) == len(states):
            states = [data[label] for _, _, data in graph.edges]
            break
    number = {node: k for k, node in enumerate(graph.nodes)}
    tail = np.array([number[u] for u, _, _ in graph.edges], dtype=np.int64)
    head = np.array([number[v] for _, v, _ in graph.edges], dtype=np.int64)
    return Steps(states, *join_links(tail, head), file=graph.name).chain(options.initial)


class _Parser:
    """Gathers a graph while its XML streams by."""

    def __init__(self, name: str) -> None:
        self.graph = LabelledGraph(name)
        self._directed = True
        self._keys: dict[str, str] = {}
        # The data of the elements that are open; the last one's are being read.
        self._data: list[dict[str, str]] = [{}]

    def parse(self, raw: BinaryIO) -> LabelledGraph:
        """Return the graph.

        Raises
        ------
        InvalidFile
            If the file is no GraphML, or an edge names a node that is not there.
        """
        name, graph = self.graph.name, self.graph
        try:
            for event, element in ET.iterparse(raw, events=("start", "end")):  # noqa: S314
                tag = element.tag.rpartition("}")[2]
                if event == "start":
                    self._open(tag, element.attrib)
                else:
                    self._close(tag, element)
        except ET.ParseError as error:
            if error.position[0] == 1 and not self._keys and raw.tell() == 0:
                raise InvalidFile(f"{name}: the file is empty") from None
            raise InvalidFile(f"{name}, row {error.position[0]}: not GraphML; {error}") from None
        for u, v, _ in graph.edges:
            for node in (u, v):
                if node not in graph.nodes:
                    raise InvalidFile(
                        f"{name}: an edge names the node {node!r}, which is not there"
                    )
        return graph

    def _open(self, tag: str, attributes: Mapping[str, str]) -> None:
        if tag == "graph":
            self._directed = attributes.get("edgedefault", "directed") != "undirected"
            self._data.append(self.graph.data)
        elif tag in ("node", "edge"):
            self._data.append({})

    def _close(self, tag: str, element: ET.Element) -> None:
        if tag == "key":
            self._keys[element.get("id", "")] = element.get("attr.name", "")
        elif tag == "data":
            key = self._keys.get(element.get("key", ""), "")
            if key in _MEANING:
                self._data[-1][key] = element.text or ""
        elif tag == "node":
            self.graph.nodes[self._attribute(element, "id")] = self._data.pop()
            element.clear()
        elif tag == "edge":
            self._edge(element, self._data.pop())
            element.clear()
        elif tag == "graph":
            self._data.pop()

    def _edge(self, element: ET.Element, data: dict[str, str]) -> None:
        u, v = self._attribute(element, "source"), self._attribute(element, "target")
        if "id" not in data and "id" in element.attrib:
            data["id"] = element.attrib["id"]
        self.graph.edges.append((u, v, data))
        own = element.get("directed")
        if u != v and (own == "false" if own is not None else not self._directed):
            self.graph.edges.append(
                (v, u, {k: t for k, t in data.items() if k not in ("id", "link")})
            )

    def _attribute(self, element: ET.Element, key: str) -> str:
        value = element.get(key)
        if value is None:
            tag = element.tag.rpartition("}")[2]
            raise InvalidFile(f"{self.graph.name}: a {tag} of the graph has no {key}")
        return value


def write_graphml(model: MarkovChain | NFA | MDP, name: str) -> bytes:
    """Return a model as GraphML; names of states and symbols become text.

    Raises
    ------
    InvalidModel
        If two names have the same text, or one holds a character that XML cannot.
    """
    import io

    import networkx as nx

    labelled = LabelledGraph.of(model)
    graph = nx.MultiDiGraph(**labelled.data)
    graph.add_nodes_from(labelled.nodes.items())
    for u, v, data in labelled.edges:
        graph.add_edge(u, v, **data)
    out = io.BytesIO()
    nx.write_graphml(graph, out)
    content = out.getvalue()
    try:
        ET.fromstring(content)  # noqa: S314 - our own text
    except ET.ParseError:
        raise InvalidModel(
            f"{name}: a name of the model has a character that XML cannot hold"
        ) from None
    return content
