"""Plots show the numbers they are given, the same way every time."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import matplotlib as mpl
import networkx as nx
import numpy as np
import pytest

from dpauto import (
    DpautoError,
    InvalidArgument,
    InvalidWord,
    MarkovChain,
    MissingDependency,
    UnknownSymbol,
    bounds,
    compare,
)
from dpauto.drawing import plot_bounds, plot_errors, plot_law, plot_trip, save_plot
from dpauto.examples import sioux_falls
from dpauto.laws import ErrorLaw

LAW = ErrorLaw.of(np.array([0.5, 0.25, 0.25, 0.0, 0.0]))
BEFORE, AFTER = [3, 4, 5, 9, 10], [3, 4, 5, 6, 8]


@pytest.fixture(autouse=True)
def no_window() -> Iterator[None]:
    from matplotlib import pyplot as plt

    before = mpl.get_backend()
    plt.switch_backend("Agg")
    yield
    plt.close("all")
    plt.switch_backend(before)


def heights(bars: Any) -> list[float]:
    return [bar.get_height() for bar in bars]


def curve(axes: Any, label: str) -> tuple[list[float], list[float]]:
    (line,) = (line for line in axes.lines if line.get_label() == label)
    return list(map(float, line.get_xdata())), list(map(float, line.get_ydata()))


def legend(axes: Any) -> list[str]:
    return [text.get_text() for text in axes.get_legend().get_texts()]


def test_law_shows_every_probability_up_to_the_last() -> None:
    axes = plot_law(LAW)
    (bars,) = axes.containers
    assert heights(bars) == [0.5, 0.25, 0.25]
    assert legend(axes) == ["mean 0.75"]


def test_laws_stand_side_by_side() -> None:
    other = ErrorLaw.of(np.array([0.25, 0.75]))
    axes = plot_law({"permute-and-flip": LAW, "mine": other})
    first, second = axes.containers
    assert heights(first) == [0.5, 0.25, 0.25]
    assert heights(second) == [0.25, 0.75, 0.0]
    assert legend(axes) == ["permute-and-flip, mean 0.75", "mine, mean 0.75"]
    assert first[0].get_x() + first[0].get_width() <= second[0].get_x()


def test_errors_are_one_curve_for_each_mechanism() -> None:
    language = MarkovChain.from_networkx(sioux_falls(), initial=1).language(6)
    rows = compare(language, [[2, 6, 8, 9, 10, 11]], epsilons=[3, 1, "1/2"], adjacency=1)
    axes = plot_errors(rows)
    assert legend(axes) == ["permute-and-flip", "exponential", "online"]
    for name in legend(axes):
        expected = sorted((float(r.epsilon), r.mean) for r in rows if r.mechanism == name)
        assert list(zip(*curve(axes, name), strict=True)) == expected


def test_errors_with_samples_have_bars() -> None:
    language = MarkovChain.from_networkx(sioux_falls(), initial=1).language(3)
    rows = compare(language, [[2, 6, 8]], epsilons=[1, 2], adjacency=1)
    axes = plot_errors(rows, sampled={"exponential": [(1, 1.5, 0.1), (2, 1.0, 0.2)]})
    (bars,) = (c for c in axes.containers if c.get_label() == "exponential, sampled")
    segments = bars.lines[2][0].get_segments()
    assert np.array(segments)[:, :, 1] == pytest.approx(np.array([[1.4, 1.6], [0.8, 1.2]]))


def test_bounds_enclose_the_exact_error() -> None:
    epsilons = [1, 4, 8]
    rows = [bounds(20, 4, epsilon, 1) for epsilon in epsilons]
    axes = plot_bounds(epsilons, rows)
    for name, label in [("lower", "lower bound"), ("exact", "exact"), ("upper", "upper bound")]:
        assert curve(axes, label) == ([1, 4, 8], [getattr(row, name) for row in rows])


def test_trip_goes_through_its_nodes_and_rings_the_wrong_ones() -> None:
    roads = sioux_falls()
    place = nx.get_node_attributes(roads, "position")
    axes = plot_trip(roads, BEFORE, AFTER, initial=1)

    def through(nodes: list[int]) -> tuple[list[float], list[float]]:
        return [place[k][0] for k in nodes], [place[k][1] for k in nodes]

    assert curve(axes, "before") == through([1, *BEFORE])
    assert curve(axes, "after") == through([1, *AFTER])
    assert curve(axes, "wrong symbol") == through([6, 8])
    assert curve(axes, "public start") == through([1])
    assert {text.get_text() for text in axes.texts if text.get_text()} == set(map(str, roads))


def test_trip_takes_positions_from_argument_and_attributes() -> None:
    path = nx.path_graph(3)
    given = plot_trip(path, [0, 1], [0, 1], positions={k: (k, -k) for k in path})
    assert curve(given, "before") == ([0, 1], [0, -1])
    nx.set_node_attributes(path, {k: {"x": 10.0 * k, "y": 1.0} for k in path})
    assert curve(plot_trip(path, [1, 2], [1, 0]), "after") == ([10, 0], [1, 1])


def test_trip_of_links_goes_from_end_to_end() -> None:
    roads = nx.MultiDiGraph()
    for node, point in enumerate([(0, 0), (2, 0), (4, 0), (2, 2)]):
        roads.add_node(node, pos=point)
    for number, (u, v) in enumerate([(0, 1), (1, 2), (1, 3), (1, 2)]):
        roads.add_edge(u, v, link=f"road {number}")
    axes = plot_trip(roads, ["road 0", "road 1"], ["road 0", "road 2"], link="link")
    assert curve(axes, "before") == ([0, 2, 2, 4], [0, 0, 0, 0])
    assert curve(axes, "after") == ([0, 2, 2, 2], [0, 0, 0, 2])
    assert curve(axes, "wrong symbol") == ([2], [1])
    with pytest.raises(UnknownSymbol, match="after: position 2 is not a link of the graph"):
        plot_trip(roads, ["road 0", "road 1"], ["road 0", "secret"], link="link")
    with pytest.raises(InvalidArgument, match="the edge from 0 to 1 has no attribute 'id'"):
        plot_trip(roads, ["road 0"], ["road 0"], link="id")


def test_degrees_have_the_same_length_both_ways() -> None:
    path = nx.path_graph(2)
    north = {0: (10.0, 60.0), 1: (11.0, 60.0)}
    assert plot_trip(path, [0, 1], [0, 1], positions=north, degrees=True).get_aspect() == (
        pytest.approx(2)
    )
    assert plot_trip(path, [0, 1], [0, 1], positions=north).get_aspect() == 1


def test_trip_zooms_into_large_networks() -> None:
    grid = nx.grid_2d_graph(30, 30)
    word = [(10, 10), (10, 11), (11, 11)]
    axes = plot_trip(grid, word, word, positions={node: node for node in grid})
    left, right = axes.get_xlim()
    assert 9 < left < 10 < 11 < right < 12
    assert "wrong symbol" not in legend(axes)


def test_trip_refuses_what_does_not_fit_without_showing_it() -> None:
    roads = sioux_falls()
    with pytest.raises(UnknownSymbol, match="before: position 2") as caught:
        plot_trip(roads, [1, "secret"], [1, 2])
    assert "secret" not in str(caught.value)
    with pytest.raises(InvalidWord, match="lengths are 2 and 3"):
        plot_trip(roads, [1, 2], [1, 2, 6])
    with pytest.raises(InvalidArgument, match="after must hold at least one node"):
        plot_trip(roads, [1], [])
    with pytest.raises(InvalidArgument, match="positions: node 2 has none"):
        plot_trip(nx.path_graph(3), [0], [1], positions={0: (0, 0), 1: (1, 1)})


@pytest.mark.parametrize(
    "plot", [lambda: plot_law({}), lambda: plot_errors([]), lambda: plot_bounds([], [])]
)
def test_nothing_to_plot_is_refused(plot: Any) -> None:
    with pytest.raises(InvalidArgument, match="at least one"):
        plot()


def test_draws_into_given_axes() -> None:
    from matplotlib.figure import Figure

    axes = Figure().subplots()
    assert plot_law(LAW, ax=axes) is axes


@pytest.mark.parametrize("suffix", [".svg", ".png", ".pdf"])
def test_saved_plots_are_the_same_bytes_again(tmp_path: Path, suffix: str) -> None:
    saved = []
    for name in ("a", "b"):
        path = save_plot(plot_law(LAW), tmp_path / f"{name}{suffix}")
        saved.append(path.read_bytes())
    assert saved[0] == saved[1]
    assert len(saved[0]) > 1000
    assert sorted(file.name for file in tmp_path.iterdir()) == [f"a{suffix}", f"b{suffix}"]


def test_save_refuses_other_suffixes(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match=r"path must end in \.svg, \.png or \.pdf"):
        save_plot(plot_law(LAW), tmp_path / "law.txt")
    assert not list(tmp_path.iterdir())


def test_without_matplotlib_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingDependency, match=r"pip install 'dpauto\[plots\]'"):
        plot_law(LAW)


def test_styles_of_the_user_are_left_alone() -> None:
    before = dict(mpl.rcParams)
    plot_errors([ROW])
    assert dict(mpl.rcParams) == before


ROW: Any = type("Row", (), {"epsilon": Fraction(1), "mechanism": "mine", "mean": 2.0})


@pytest.mark.parametrize("junk", [None, 3, "junk", [None], [[]], {"a": None}, object()])
@pytest.mark.parametrize(
    ("plot", "right", "argument"),
    [
        (plot_law, {}, "laws"),
        (plot_errors, {}, "rows"),
        (plot_bounds, {"bounds": [bounds(2, 2, 1, 1)]}, "x"),
        (plot_bounds, {"x": [1]}, "bounds"),
        (plot_trip, {"before": [1], "after": [2]}, "graph"),
        (plot_trip, {"graph": sioux_falls(), "after": [2]}, "before"),
        (plot_trip, {"graph": sioux_falls(), "before": [1]}, "after"),
    ],
    ids=["law", "errors", "x", "bounds", "graph", "before", "after"],
)
def test_junk_is_refused_by_name(
    plot: Any, right: dict[str, Any], argument: str, junk: Any
) -> None:
    with pytest.raises(DpautoError, match=f"^{argument}( |:)"):
        plot(**right, **{argument: junk})
