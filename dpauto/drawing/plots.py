"""Plots of results: error laws, error against epsilon, a trip before and after its release.

They need matplotlib (``pip install dpauto[plots]``). Each draws into `ax`, or into a new figure,
and returns the axes; `save_plot` writes a file. A mechanism has the same colour in every plot.
"""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpauto.errors import InvalidArgument, InvalidWord, MissingDependency, UnknownSymbol
from dpauto.names import CALIBRATED, EXPONENTIAL, ONLINE, PERMUTE_AND_FLIP
from dpauto.words import Symbol, Word, as_word

if TYPE_CHECKING:
    import networkx as nx
    from matplotlib.axes import Axes

    from dpauto.accuracy import Bounds, Comparison
    from dpauto.laws import ErrorLaw

__all__ = ["plot_bounds", "plot_errors", "plot_law", "plot_trip", "save_plot"]

Positions: TypeAlias = Mapping[Hashable, tuple[float, float]]

#: Colour and marker of each mechanism, distinct in grey and for colour-blind readers.
_STYLES: Final[Mapping[str, tuple[str, str]]] = {
    PERMUTE_AND_FLIP: ("#1d5fa6", "o"),
    EXPONENTIAL: ("#c4602b", "s"),
    ONLINE: ("#3d8361", "^"),
    CALIBRATED: ("#7b4a9e", "D"),
}
_OTHERS: Final = (("#8c6d1f", "v"), ("#a83258", "P"), ("#4a5568", "X"))
_INK: Final = "#1f2933"
_FAINT: Final = "#9aa5b1"
_BEFORE: Final = _STYLES[PERMUTE_AND_FLIP][0]
_AFTER: Final = _STYLES[EXPONENTIAL][0]
#: Share of the probability that a plot of a law may leave out on the right.
_TAIL: Final = 1e-6

_BOUNDS: Final = ("lower", "exact", "upper")
#: Most nodes of a road graph that are drawn and named one by one.
_NAMED: Final = 40
#: Most steps of a trip that get an arrow each.
_ARROWS: Final = 60

_UNDATED: Final[Mapping[str, Mapping[str, str | None]]] = {
    ".svg": {"Date": None, "Creator": None},
    ".png": {"Software": None},
    ".pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}

_RC: Final[Any] = {
    "axes.edgecolor": "#7b8794",
    "axes.labelcolor": _INK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "font.size": 10.0,
    "legend.frameon": False,
    "svg.fonttype": "path",
    "svg.hashsalt": "dpauto",
    "text.color": _INK,
    "xtick.color": _INK,
    "ytick.color": _INK,
}


def _axes(ax: Axes | None, size: tuple[float, float]) -> Axes:
    """Return `ax`, or axes in a new figure of pyplot, so that notebooks and `show` find it."""
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot as plt
        from matplotlib import rc_context
    except ImportError:
        raise MissingDependency("plots need matplotlib: pip install dpauto[plots]") from None
    with rc_context(_RC):
        return plt.subplots(figsize=size, layout="constrained")[1]


def _labelled(ax: Axes, x: str, y: str) -> Axes:
    """Name both axes and what is drawn between them."""
    ax.set_xlabel(x)
    ax.set_ylabel(y)
    ax.legend(frameon=False)
    return ax


def _with_error_axis(ax: Axes, x: str) -> Axes:
    """Finish curves of the expected error over `x`, which begin at 0 so that heights compare."""
    ax.set_ylim(bottom=0)
    ax.grid(axis="y", color="#e4e7eb", linewidth=0.8)
    return _labelled(ax, x, "expected wrong symbols")


def _styles(names: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Return each name's colour and marker; unknown names share the rest in order."""
    unknown = [name for name in dict.fromkeys(names) if name not in _STYLES]
    rest = {name: _OTHERS[k % len(_OTHERS)] for k, name in enumerate(unknown)}
    return {**_STYLES, **rest}


def plot_law(laws: ErrorLaw | Mapping[str, ErrorLaw], *, ax: Axes | None = None) -> Axes:
    """Plot the probability of every number of errors.

    Parameters
    ----------
    laws : ErrorLaw or mapping {name: ErrorLaw}
        One law, or several side by side under the names of their mechanisms. The law of a sensitive
        word is as sensitive as the word.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    InvalidArgument
        If there is no law.
    MissingDependency
        If matplotlib is not installed.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from dpauto.laws.offline import exponential_law, permute_and_flip_law
    >>> counts, a = [1, 9, 27, 27], Fraction(1)
    >>> axes = plot_law({
    ...     "permute-and-flip": permute_and_flip_law(counts, a),
    ...     "exponential": exponential_law(counts, a),
    ... })
    >>> axes.get_xlabel()
    'wrong symbols'
    """
    named = dict(laws) if isinstance(laws, Mapping) else {"": laws}
    if not named:
        raise InvalidArgument("laws must hold at least one error law")
    ax = _axes(ax, (6.0, 3.6))
    styles = _styles(named)
    stop = max(_last_shown(law) for law in named.values()) + 1
    width = 0.8 / len(named)
    for k, (name, law) in enumerate(named.items()):
        pmf = np.zeros(stop)
        pmf[: len(law.pmf)] = law.pmf[:stop]
        colour = styles[name][0] if name else _BEFORE
        offset = (k - (len(named) - 1) / 2) * width
        label = f"{name}, mean {law.mean:.3g}" if name else f"mean {law.mean:.3g}"
        ax.bar(np.arange(stop) + offset, pmf, width * 0.92, color=colour, label=label)
    ax.locator_params(axis="x", integer=True)
    return _labelled(ax, "wrong symbols", "probability")


def _last_shown(law: ErrorLaw) -> int:
    return int(np.searchsorted(np.cumsum(law.pmf), 1 - _TAIL).clip(1, len(law.pmf) - 1))


def plot_errors(
    rows: Iterable[Comparison],
    *,
    sampled: Mapping[str, Sequence[tuple[float, float, float]]] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Plot the expected error of every mechanism against epsilon.

    Parameters
    ----------
    rows : iterable of Comparison
        What `dpauto.compare` returns.
    sampled : mapping {mechanism: [(epsilon, mean, half width), …]}, optional
        Means of actual releases with half the width of their confidence intervals, to be shown as
        points with bars beside the exact curves.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    InvalidArgument
        If there is no row.
    MissingDependency
        If matplotlib is not installed.
    """
    curves: dict[str, list[tuple[float, float]]] = {}
    for row in rows:
        curves.setdefault(row.mechanism, []).append((float(row.epsilon), float(row.mean)))
    if not curves:
        raise InvalidArgument("rows must hold at least one row of compare()")
    ax = _axes(ax, (6.0, 3.8))
    styles = _styles([*curves, *(sampled or {})])
    for name, points in curves.items():
        colour, marker = styles[name]
        x, y = zip(*sorted(points), strict=True)
        ax.plot(
            x, y, color=colour, marker="" if sampled else marker, markersize=5, label=name, zorder=3
        )
    for name, measured in (sampled or {}).items():
        colour, marker = styles[name]
        x, y, bar = zip(*sorted(measured), strict=True)
        ax.errorbar(
            x,
            y,
            bar,
            color=colour,
            marker=marker,
            markersize=4,
            linestyle="none",
            capsize=2.5,
            label=f"{name}, sampled",
            zorder=3,
        )
    return _with_error_axis(ax, "ε")


def plot_bounds(
    x: Iterable[float], bounds: Iterable[Bounds], *, xlabel: str = "ε", ax: Axes | None = None
) -> Axes:
    """Plot Theorem 2: the expected error of permute-and-flip between its bounds.

    Parameters
    ----------
    x : iterable of float
        What varies: epsilons, lengths or alphabet sizes.
    bounds : iterable of Bounds
        What `dpauto.bounds` returns at each of them.
    xlabel : str, optional
        What `x` is.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    InvalidArgument
        If there is no value, or not as many bounds as values.
    MissingDependency
        If matplotlib is not installed.

    References
    ----------
    Benvenuti, Rao, Hale, arXiv:2603.28903, Theorem 2 and Figure 2.
    """
    points, rows = [float(value) for value in x], list(bounds)
    if not points or len(points) != len(rows):
        raise InvalidArgument("x and bounds must have the same number of values, at least one")
    ax = _axes(ax, (6.0, 3.8))
    lower, exact, upper = ([getattr(row, name) for row in rows] for name in _BOUNDS)
    colour = _STYLES[PERMUTE_AND_FLIP][0]
    ax.fill_between(points, lower, upper, color=colour, alpha=0.14, linewidth=0)
    ax.plot(points, upper, color=_STYLES[EXPONENTIAL][0], linestyle="--", label="upper bound")
    ax.plot(points, exact, color=colour, linewidth=1.8, label="exact")
    ax.plot(points, lower, color=_STYLES[ONLINE][0], linestyle=":", label="lower bound")
    return _with_error_axis(ax, xlabel)


def plot_trip(
    graph: nx.Graph[Any],
    before: Iterable[Symbol],
    after: Iterable[Symbol],
    *,
    positions: Positions | None = None,
    initial: Symbol | None = None,
    labels: bool | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Plot a trip on its road graph, before and after its release.

    Parameters
    ----------
    graph : networkx graph
        Its nodes are the symbols of the words.
    before, after : sequence of nodes
        The sensitive word, which the plot shows, and its release.
    positions : mapping {node: (x, y)}, optional
        By default node attributes "pos" or "position", or "x" and "y" (as osmnx writes them).
    initial : node, optional
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
        If a node of the graph has no position, or a trip has no symbol.
    InvalidWord
        If the trips differ in length.
    UnknownSymbol
        If a trip leaves the graph; the position is named, not the symbol.
    MissingDependency
        If matplotlib is not installed.
    """
    start = () if initial is None else _on_graph(graph, [initial], "initial")
    true = (*start, *_on_graph(graph, before, "before"))
    written = (*start, *_on_graph(graph, after, "after"))
    if len(true) != len(written):
        raise InvalidWord(
            f"after must have the length of before: lengths are {len(true)} and {len(written)}"
        )
    place = _positions(graph, positions)
    ax = _axes(ax, (6.4, 6.4))
    _draw_roads(ax, graph, place)
    path, copy = (np.array([place[node] for node in word], dtype=float) for word in (true, written))
    _draw_paths(ax, path, copy)
    wrong = [k for k, (x, y) in enumerate(zip(true, written, strict=True)) if x != y]
    if wrong:
        _draw_marks(ax, copy[wrong], "o", _AFTER, "wrong symbol")
    if start:
        _draw_marks(ax, path[:1], "s", _INK, "public start")
    if len(place) <= _NAMED if labels is None else labels:
        for node, (x, y) in place.items():
            ax.annotate(str(node), (x, y), ha="center", va="center", fontsize=7.5, zorder=7)
    ax.set_aspect("equal")
    ax.margins(0.06)
    if len(place) > _NAMED:
        _zoom(ax, np.concatenate((path, copy)))
    ax.set_axis_off()
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=4, frameon=False)
    return ax


def _on_graph(graph: nx.Graph[Any], word: Iterable[Symbol], name: str) -> Word:
    """Return a trip as a word; raises where it is empty or leaves the graph."""
    trip = as_word(word, name=name)
    if not trip:
        raise InvalidArgument(f"{name} must hold at least one node")
    for position, node in enumerate(trip, 1):
        if node not in graph:
            raise UnknownSymbol(f"{name}: position {position} is not a node of the graph")
    return trip


def _positions(graph: nx.Graph[Any], positions: Positions | None) -> dict[Hashable, Any]:
    """Return where every node is, from the argument or from the nodes' attributes."""
    place: dict[Hashable, Any] = {}
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
        ax.scatter(x, y, s=150, color="#f5f7fa", edgecolor=_FAINT, zorder=5)
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


def save_plot(axes: Axes, path: str | os.PathLike[str]) -> Path:
    """Write the figure of `axes` to a file; the same plot gives the same bytes.

    Parameters
    ----------
    axes : matplotlib Axes
        As returned by the plots.
    path : str or path
        The suffix says what is written: .svg, .png or .pdf. Nothing is left half-written.

    Returns
    -------
    Path
        `path`.

    Raises
    ------
    InvalidArgument
        If the suffix is another.
    OSError
        If the file cannot be written.
    """
    from matplotlib import rc_context

    from dpauto.formats.files import writing

    place = Path(path)
    suffix = place.suffix.lower()
    if suffix not in _UNDATED:
        raise InvalidArgument("path must end in .svg, .png or .pdf")
    # Time stamps and versions in the file would make every run's bytes differ.
    figure: Any = axes.figure
    with rc_context(_RC), writing(os.fspath(place)) as out:
        figure.savefig(out, format=suffix[1:], dpi=150, metadata=_UNDATED[suffix])
    return place
