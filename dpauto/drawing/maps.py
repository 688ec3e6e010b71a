"""A trip on its road graph, before and after its release."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpauto.arguments import require_graph
from dpauto.drawing.figures import FAINT, INK, STYLES, axes_or_new
from dpauto.errors import InvalidArgument, InvalidWord, UnknownSymbol
from dpauto.names import EXPONENTIAL, PERMUTE_AND_FLIP
from dpauto.words import Symbol, Word, as_word

if TYPE_CHECKING:
    import networkx as nx
    from matplotlib.axes import Axes

__all__ = ["plot_trip"]

Positions: TypeAlias = Mapping[Hashable, tuple[float, float]]

_BEFORE: Final = STYLES[PERMUTE_AND_FLIP][0]
_AFTER: Final = STYLES[EXPONENTIAL][0]
#: Most nodes of a road graph that are drawn and named one by one.
_NAMED: Final = 40
#: Most steps of a trip that get an arrow each.
_ARROWS: Final = 60


def plot_trip(
    graph: nx.Graph[Any],
    before: Iterable[Symbol],
    after: Iterable[Symbol],
    *,
    positions: Positions | None = None,
    degrees: bool = False,
    link: str | None = None,
    initial: Symbol | None = None,
    labels: bool | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Plot a trip on its road graph, before and after its release.

    Parameters
    ----------
    graph : networkx graph
        Its nodes are the symbols of the words, or with `link` its edges.
    before, after : sequence of nodes or links
        The sensitive word, which the plot shows, and its release.
    positions : mapping {node: (x, y)}, optional
        By default node attributes "pos" or "position", or "x" and "y" (as osmnx writes them).
    degrees : bool, optional
        Whether positions are degrees of longitude and latitude; the plot then gives both the same
        length on the ground.
    link : str, optional
        For words of links: the edge attribute that names a link.
    initial : node or link, optional
        The public start, from which both trips set out; it is not part of the words.
    labels : bool, optional
        Whether nodes are named; by default where the graph has at most 40.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    InvalidArgument
        If `graph` is no graph, a node of it has no position, an edge no name, or a trip no symbol;
        if `labels` or `ax` is not one of the above.
    InvalidWord
        If the trips differ in length.
    UnknownSymbol
        If a trip leaves the graph; the position is named, not the symbol.
    MissingDependency
        If matplotlib is not installed.
    """
    graph = require_graph(graph, wanted="such as sioux_falls()")
    if labels is not None and not isinstance(labels, bool):
        raise InvalidArgument("labels must be True, False or None")
    place = _positions(graph, positions)
    spots = _spots(graph, place, link)
    start = () if initial is None else _on_graph(spots, [initial], "initial", link)
    true = (*start, *_on_graph(spots, before, "before", link))
    written = (*start, *_on_graph(spots, after, "after", link))
    if len(true) != len(written):
        raise InvalidWord(
            f"after must have the length of before: lengths are {len(true)} and {len(written)}"
        )
    ax = axes_or_new(ax, (6.4, 6.4))
    _draw_roads(ax, graph, place)
    path, copy = (np.concatenate([spots[s] for s in word]) for word in (true, written))
    _draw_paths(ax, path, copy)
    wrong = [spots[y].mean(axis=0) for x, y in zip(true, written, strict=True) if x != y]
    if wrong:
        _draw_marks(ax, np.array(wrong), "o", _AFTER, "wrong symbol")
    if start:
        _draw_marks(ax, spots[start[0]].mean(axis=0, keepdims=True), "s", INK, "public start")
    if len(place) <= _NAMED if labels is None else labels:
        for node, (x, y) in place.items():
            ax.annotate(str(node), (x, y), ha="center", va="center", fontsize=7.5, zorder=7)
    # A degree of longitude shrinks towards the poles.
    ax.set_aspect(1 / math.cos(math.radians(path[:, 1].mean())) if degrees else "equal")
    ax.margins(0.06)
    if len(place) > _NAMED:
        _zoom(ax, np.concatenate((path, copy)))
    ax.set_axis_off()
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=4, frameon=False)
    return ax


def _spots(
    graph: nx.Graph[Any], place: Mapping[Hashable, Any], link: str | None
) -> dict[Hashable, NDArray[np.float64]]:
    """Return where each symbol is: the point of a node, or both ends of a link."""
    if link is None:
        return {node: np.array([point], dtype=float) for node, point in place.items()}
    spots = {}
    for u, v, data in graph.edges(data=True):
        if link not in data:
            raise InvalidArgument(f"link: the edge from {u!r} to {v!r} has no attribute {link!r}")
        spots[data[link]] = np.array([place[u], place[v]], dtype=float)
    return spots


def _on_graph(
    spots: Mapping[Hashable, Any], word: Iterable[Symbol], name: str, link: str | None
) -> Word:
    """Return a trip as a word; raises where it is empty or leaves the graph."""
    kind = "node" if link is None else "link"
    trip = as_word(word, name=name)
    if not trip:
        raise InvalidArgument(f"{name} must hold at least one {kind}")
    for position, symbol in enumerate(trip, 1):
        try:
            known = symbol in spots
        except TypeError:
            # Not hashable, as nodes are.
            known = False
        if not known:
            raise UnknownSymbol(f"{name}: position {position} is not a {kind} of the graph")
    return trip


def _positions(graph: nx.Graph[Any], positions: Positions | None) -> dict[Hashable, Any]:
    """Return where every node is, from the argument or from the nodes' attributes."""
    place: dict[Hashable, Any] = {}
    if positions is not None and not isinstance(positions, Mapping):
        raise InvalidArgument("positions must be a mapping {node: (x, y)}")
    for node, data in graph.nodes(data=True):
        if positions is not None:
            found = positions.get(node)
        else:
            found = data.get("pos", data.get("position", (data.get("x"), data.get("y"))))
        if found is None or None in tuple(found):
            raise InvalidArgument(
                f"positions: node {node!r} has none; pass positions={{node: (x, y)}} or set the"
                ' node attributes "x" and "y"'
            )
        place[node] = (float(found[0]), float(found[1]))
    return place


def _draw_roads(ax: Axes, graph: nx.Graph[Any], place: Mapping[Hashable, Any]) -> None:
    """Draw every road once, whatever its directions, and the nodes of a small graph."""
    from matplotlib.collections import LineCollection

    roads = dict.fromkeys(tuple(sorted((place[u], place[v]))) for u, v in graph.edges())
    small = len(place) <= _NAMED
    width = 2.4 if small else 0.7
    ax.add_collection(LineCollection(list(roads), colors="#d3d9df", linewidths=width, zorder=1))
    if small:
        x, y = np.array(list(place.values())).T
        ax.scatter(x, y, s=150, color="#f5f7fa", edgecolor=FAINT, zorder=5)
    ax.autoscale_view()


def _draw_paths(ax: Axes, path: NDArray[np.float64], copy: NDArray[np.float64]) -> None:
    """Draw a broad band below and a thin line above it: both stay visible on shared roads."""
    band: Any = {"solid_capstyle": "round", "solid_joinstyle": "round", "alpha": 0.35}
    ax.plot(*path.T, color=_BEFORE, linewidth=9, label="before", zorder=2, **band)
    ax.plot(*copy.T, color=_AFTER, linewidth=2.0, label="after", zorder=4)
    if len(copy) <= _ARROWS:
        _draw_arrows(ax, copy)


def _draw_marks(
    ax: Axes, points: NDArray[np.float64], marker: str, colour: str, label: str
) -> None:
    """Draw a ring or a frame around nodes."""
    frame: Any = {"markerfacecolor": "none", "markeredgecolor": colour, "markeredgewidth": 1.6}
    x, y = points.T
    ax.plot(x, y, linestyle="", marker=marker, markersize=13, label=label, zorder=6, **frame)


def _zoom(ax: Axes, points: NDArray[np.float64]) -> None:
    """Show the part of a large network that the trips pass through, with its surroundings."""
    low, high = points.min(axis=0), points.max(axis=0)
    around = 0.25 * max(*(high - low), 1e-9)
    ax.set_xlim(low[0] - around, high[0] + around)
    ax.set_ylim(low[1] - around, high[1] + around)


def _draw_arrows(ax: Axes, path: NDArray[np.float64]) -> None:
    """Draw the direction of each step in its middle."""
    for tail, head in pairwise(path):
        if (tail != head).any():
            middle = (tail + head) / 2
            ax.annotate(
                "",
                middle + (head - tail) * 0.04,
                middle - (head - tail) * 0.04,
                zorder=4,
                arrowprops={"arrowstyle": "-|>", "color": _AFTER, "shrinkA": 0, "shrinkB": 0},
            )
