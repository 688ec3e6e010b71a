"""DOT text: valid, exactly escaped, laid out as meant."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpauto.drawing.dot import Edge, Node, Sketch, quote, to_dot
from dpauto.drawing.render import render_dot

SVG = "{http://www.w3.org/2000/svg}"
NASTY = [
    'say "hi"',
    "back\\slash",
    "ends in \\",
    "\\N \\G \\l",
    "&amp; &lt; &eacute;",
    "<b>bold</b>",
    "a -> b; }",
    "{x|y}",
    "//c /* d */ #",
    "naïve σ 漢",
    "'quoted'",
    "label=1",
]


def shown(sketch: Sketch) -> dict[str, list[str]]:
    """What Graphviz writes next to every node and edge: {title: texts}."""
    root = ET.fromstring(render_dot(to_dot(sketch), "svg", engine=sketch.engine))
    groups = [g for g in root.iter(f"{SVG}g") if g.get("class") in ("node", "edge")]
    return {
        g.findtext(f"{SVG}title", ""): ["".join(t.itertext()) for t in g.iter(f"{SVG}text")]
        for g in groups
    }


def test_graphviz_shows_labels_as_they_are_and_nodes_by_number() -> None:
    nodes = tuple(Node(text) for text in NASTY)
    edges = tuple(Edge(k, k + 1, (text,)) for k, text in enumerate(NASTY[:-1]))
    found = shown(Sketch(nodes, edges))
    for k, text in enumerate(NASTY):
        assert found[str(k)] == [text]
    for k, text in enumerate(NASTY[:-1]):
        assert [line.strip() for line in found[f"{k}->{k + 1}"]] == [text]


def test_graphviz_shows_labels_with_a_second_line_as_they_are() -> None:
    found = shown(Sketch(tuple(Node(text, note="1, 0") for text in NASTY), ()))
    for k, text in enumerate(NASTY):
        assert "".join(found[str(k)]) == f"{text}1, 0"


@given(st.text(st.characters(blacklist_categories=["C"]), max_size=20))
def test_quoting_leaves_no_quote_or_escape_open(text: str) -> None:
    inner = quote(text)[1:-1]
    assert re.fullmatch(r'(?:[^"\\]|\\["\\])*', inner)
    assert inner.replace('\\"', '"').replace("\\\\", "\\").replace("&amp;", "&") == text


def test_parallel_lines_stay_in_one_label() -> None:
    found = shown(Sketch((Node("a"), Node("b")), (Edge(0, 1, ("x: 1/3", "y, z: 1/6 each")),)))
    assert [line.strip() for line in found["0->1"]] == ["x: 1/3", "y, z: 1/6 each"]


def places(sketch: Sketch) -> list[tuple[float, float]]:
    """Where Graphviz puts every node."""
    root = ET.fromstring(render_dot(to_dot(sketch), "svg", engine=sketch.engine))
    found = {}
    for group in root.iter(f"{SVG}g"):
        if group.get("class") == "node":
            ellipse = group.find(f"{SVG}ellipse")
            assert ellipse is not None
            number = int(group.findtext(f"{SVG}title", ""))
            found[number] = (float(ellipse.get("cx", "")), float(ellipse.get("cy", "")))
    return [found[k] for k in sorted(found)]


def test_ranks_are_columns_and_rows_go_down() -> None:
    grid = [(0, 0), (1, 0), (1, 1), (2, 0), (2, 1), (2, 2), (3, 1), (3, 2), (4, 2)]
    number = {place: k for k, place in enumerate(grid)}
    edges = [
        Edge(number[i, j], number[i + 1, k], ("x",))
        for i, j in grid
        for k in (j, j + 1)
        if (i + 1, k) in number
    ]
    sketch = Sketch(tuple(Node(f"{i}{j}", rank=i, row=j) for i, j in grid), tuple(edges))
    at = dict(zip(grid, places(sketch), strict=True))
    for i, j in grid:
        same_column = [at[p][0] for p in grid if p[0] == i]
        assert max(same_column) - min(same_column) < 1
        if (i + 1, j) in at:
            assert at[i + 1, j][0] > at[i, j][0] + 20
        if (i, j + 1) in at:
            assert at[i, j + 1][1] > at[i, j][1] + 20
    rows = [[at[p][1] for p in grid if p[1] == j] for j in range(3)]
    assert all(max(row) - min(row) < 1 for row in rows)


@pytest.mark.parametrize(
    ("steps", "engine"),
    [
        ([(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0)], "dot"),
        ([(k, k + d) for k in range(6) for d in (-1, 1) if 0 <= k + d < 6], "neato"),
        ([(k, k + d) for k in range(5) for d in (-1, 1) if 0 <= k + d < 5], "dot"),
        ([(k, (k * d + 1) % 14) for k in range(14) for d in (1, 3, 5, 9)], "neato"),
    ],
)
def test_engine_suits_the_graph(steps: list[tuple[int, int]], engine: str) -> None:
    size = max(max(step) for step in steps) + 1
    sketch = Sketch(tuple(Node(str(k)) for k in range(size)), tuple(Edge(t, h) for t, h in steps))
    assert sketch.engine == engine
    assert len(places(sketch)) == size


def test_crowded_drawings_leave_labels_out_and_say_so() -> None:
    steps = [(t, h) for t in range(12) for h in range(12)]
    sketch = Sketch(
        tuple(Node(str(k)) for k in range(12)), tuple(Edge(t, h, ("0.5",)) for t, h in steps)
    )
    text = to_dot(sketch)
    assert "labels of 144 arrows are left out" in text
    assert "0.5 " not in text
