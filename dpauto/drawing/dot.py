"""A drawing as plain data, and its text in the DOT language.

A `Sketch` says what is drawn; `to_dot` writes it. Nodes are known by their numbers only, so display
text never decides which node is which, and the same sketch gives the same bytes in every process.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import Final

__all__ = ["Edge", "Node", "Sketch", "quote", "to_dot"]

INK: Final = "#1f2933"
FAINT: Final = "#616e7c"
#: Edges that write the true symbol, and edges that write a wrong one; width tells them apart too.
TRUE: Final = "#1d5fa6"
WRONG: Final = "#b4532a"

#: Fills of the first and the last row, as red, green and blue.
_RIGHT: Final = (226, 238, 250)
_WRONG: Final = (251, 228, 214)

_FONT: Final = "Helvetica,Arial,sans-serif"
_GRAPH: Final = {
    "rankdir": "LR",
    "nodesep": "0.3",
    "ranksep": "0.6",
    "pad": "0.15",
    "fontname": _FONT,
}
_NODE: Final = {
    "fontname": _FONT,
    "fontsize": "12",
    "style": "filled",
    "fillcolor": "#f5f7fa",
    "color": "#52606d",
    "fontcolor": INK,
}
_CIRCLE: Final = {"shape": "circle", "width": "0.5", "margin": "0.02"}
_BOX: Final = {"shape": "box", "style": "filled,rounded", "height": "0.36", "margin": "0.11,0.05"}
_EDGE: Final = {
    "fontname": _FONT,
    "fontsize": "10",
    "color": "#7b8794",
    "fontcolor": INK,
    "arrowsize": "0.7",
}
_NODE_STYLES: Final[Mapping[str, Mapping[str, str]]] = {
    "state": {},
    "final": {"peripheries": "2"},
    # The start of "any state may start": a mark, for it is no state.
    "origin": {"shape": "point", "width": "0.12", "color": INK, "fillcolor": INK},
    # Where the arrow into an initial state comes from.
    "hidden": {"shape": "none", "style": "invis", "width": "0", "height": "0"},
}
_EDGE_STYLES: Final[Mapping[str, Mapping[str, str]]] = {
    "plain": {},
    "true": {"color": TRUE, "fontcolor": TRUE, "penwidth": "2.2", "weight": "8"},
    "wrong": {"color": WRONG, "fontcolor": WRONG},
}
#: A graph that goes both ways almost everywhere has no direction to be laid out along: Graphviz
#: places its nodes by their distances (`neato`), with labels where the arrows begin.
_NETWORK_GRAPH: Final = {
    "layout": "neato",
    "start": "7",
    "overlap": "scale",
    "outputorder": "edgesfirst",
    "pad": "0.15",
    "fontname": _FONT,
}
_NETWORK_EDGE: Final = {
    "len": "1.7",
    "labeldistance": "2.8",
    "labelangle": "22",
    "labelfontname": _FONT,
    "labelfontsize": "9",
    "labelfontcolor": INK,
}
_TWO_WAY: Final = 0.6
_NETWORK_NODES: Final = 6
#: So many arrows per node leave no direction either, and `dot` takes minutes for them.
_DENSE: Final = 2.5
_DENSE_NODES: Final = 12
#: And with so many, labels would cover one another.
_CROWDED: Final = 5
_CROWDED_EDGE: Final = {"color": "#9aa5b1", "penwidth": "0.6", "arrowsize": "0.5", "len": "2.4"}
#: Labels up to this long are drawn in circles, longer ones in boxes.
_CIRCLE_CHARACTERS: Final = 5


@dataclass(frozen=True)
class Node:
    """A node: its label, its style and, in a layered drawing, its place.

    Attributes
    ----------
    label : str
    note : str
        A second, smaller line.
    style : {"state", "final", "origin", "hidden"}
    rank : int or None
        Column of a layered drawing: how many symbols are written.
    row : int or None
        Row of a layered drawing: how many of them are wrong.
    """

    label: str
    style: str = "state"
    rank: int | None = None
    row: int | None = None
    note: str = ""


@dataclass(frozen=True)
class Edge:
    """An arrow between two nodes, by number: its label's lines and its style.

    Attributes
    ----------
    tail, head : int
        Positions in the sketch's nodes.
    lines : tuple of str
    style : {"plain", "true", "wrong"}
    """

    tail: int
    head: int
    lines: tuple[str, ...] = ()
    style: str = "plain"


@dataclass(frozen=True)
class Sketch:
    """What a drawing shows: nodes and edges in the order in which they are written."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    caption: str = ""

    @property
    def layered(self) -> bool:
        """Whether every node has its column, so that the drawing stays readable when large."""
        return all(node.rank is not None for node in self.nodes)

    @cached_property
    def _steps(self) -> set[tuple[int, int]]:
        return {(edge.tail, edge.head) for edge in self.edges if edge.tail != edge.head}

    @property
    def engine(self) -> str:
        """The layout that suits the graph: "dot" along its direction, "neato" where it has none."""
        steps = self._steps
        both = sum((head, tail) in steps for tail, head in steps)
        if self.layered or self.size < _NETWORK_NODES:
            return "dot"
        dense = self.size >= _DENSE_NODES and len(steps) > _DENSE * self.size
        return "neato" if dense or both >= _TWO_WAY * len(steps) else "dot"

    @property
    def crowded(self) -> bool:
        """Whether there are so many arrows that their labels would cover one another."""
        return self.engine == "neato" and len(self._steps) > _CROWDED * self.size

    @property
    def size(self) -> int:
        """Number of nodes that somebody has to read."""
        return sum(node.style != "hidden" for node in self.nodes)


def quote(text: str) -> str:
    r"""Return `text` as a quoted DOT string that is shown exactly as it is.

    Graphviz reads backslash escapes and HTML entities inside labels, so both are disarmed.

    Examples
    --------
    >>> print(quote('say "a\\N" & <b>'))
    "say \"a\\N\" &amp; <b>"
    """
    shown = text.replace("&", "&amp;").replace("\\", "\\\\").replace('"', '\\"')
    return f'"{shown}"'


def to_dot(sketch: Sketch) -> str:
    r"""Return the sketch as DOT text.

    Parameters
    ----------
    sketch : Sketch

    Returns
    -------
    str
        A directed graph whose node ids are the nodes' numbers.

    Examples
    --------
    >>> print(to_dot(Sketch((Node("1"), Node("'1'")), (Edge(0, 1, ("a",)),))))  # doctest: +ELLIPSIS
    digraph {
    ...
      0 [label="1"];
      1 [label="'1'"];
      0 -> 1 [label=" a "];
    }
    <BLANKLINE>
    """
    longest = max((len(node.label) for node in sketch.nodes), default=0)
    shape = _CIRCLE if longest <= _CIRCLE_CHARACTERS else _BOX
    network, crowded = sketch.engine == "neato", sketch.crowded
    graph, extra = (_NETWORK_GRAPH, _NETWORK_EDGE) if network else (_GRAPH, {})
    if crowded:
        extra = {**extra, **_CROWDED_EDGE}
    left_out = [f"labels of {len(sketch.edges)} arrows are left out"] if crowded else []
    caption = ",  ".join([*([sketch.caption] if sketch.caption else []), *left_out])
    if caption:
        graph = {**graph, "label": quote(caption)[1:-1], "fontsize": "10", "fontcolor": FAINT}
    lines = [
        "digraph {",
        f"  graph{_attributes(graph)};",
        f"  node{_attributes({**_NODE, **shape})};",
        f"  edge{_attributes({**_EDGE, **extra})};",
    ]
    most = max((node.row or 0 for node in sketch.nodes), default=0)
    for number, node in enumerate(sketch.nodes):
        lines.append(f"  {number} [label={_node_label(node)}{_node_attributes(node, most)}];")
    for edge in sketch.edges:
        label = {} if crowded else _edge_label(edge, network)
        style = _attributes({**label, **_EDGE_STYLES[edge.style]})
        lines.append(f"  {edge.tail} -> {edge.head}{style};")
    if sketch.layered:
        lines += _columns(sketch)
    return "\n".join([*lines, "}", ""])


def _attributes(attributes: Mapping[str, str]) -> str:
    """Return an attribute list; the values are DOT already, without their quotes."""
    inner = ", ".join(f'{name}="{value}"' for name, value in attributes.items())
    return f" [{inner}]" if inner else ""


def _edge_label(edge: Edge, network: bool) -> dict[str, str]:
    if not edge.lines:
        return {}
    # A space on both sides keeps the text off the arrow.
    text = "\\n".join(quote(f" {line} ")[1:-1] for line in edge.lines)
    return {"taillabel" if network and edge.tail != edge.head else "label": text}


def _node_label(node: Node) -> str:
    if not node.note:
        return quote(node.label)
    # Only HTML-like labels have lines of two sizes; backslashes mean in them what they do in text.
    label, note = (escape(text).replace("\\", "\\\\") for text in (node.label, node.note))
    return f'<{label}<br/><font point-size="8.5" color="{FAINT}">{note}</font>>'


def _node_attributes(node: Node, most: int) -> str:
    attributes = dict(_NODE_STYLES[node.style])
    if node.row is not None and node.style in ("state", "final"):
        attributes |= {"fillcolor": _tint(node.row, most), "group": f"row{node.row}"}
    return "".join(f', {name}="{value}"' for name, value in attributes.items())


def _tint(row: int, most: int) -> str:
    """Return the fill of a row, from the colour of true symbols to that of wrong ones."""
    share = row / max(1, most)
    channels = [round(a + (b - a) * share) for a, b in zip(_RIGHT, _WRONG, strict=True)]
    return "#" + "".join(f"{channel:02x}" for channel in channels)


def _columns(sketch: Sketch) -> Iterator[str]:
    """Yield the lines that put each rank in one column, its rows from top to bottom."""
    columns: defaultdict[int, defaultdict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    for number, node in enumerate(sketch.nodes):
        columns[node.rank or 0][node.row or 0].append(number)
    for _, rows in sorted(columns.items()):
        # Invisible arrows down the column keep the rows in order, and leave the order inside a row
        # to Graphviz, which has crossings to avoid.
        chain = " -> ".join("{" + " ".join(map(str, row)) + "}" for _, row in sorted(rows.items()))
        yield f"  {{ rank=same; {chain}{' [style=invis]' if len(rows) > 1 else ''}; }}"
