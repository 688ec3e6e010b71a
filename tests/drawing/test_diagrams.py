"""Diagrams: saved whole or not at all, capped, and never in the way of a notebook."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import dpauto.drawing.diagrams
import dpauto.drawing.render
from dpauto import (
    DrawingTooLarge,
    InvalidArgument,
    Language,
    MarkovChain,
    MissingDependency,
    RenderingFailed,
    mnfa,
)
from dpauto.drawing import Diagram, diagram, mimebundle
from dpauto.drawing.render import render_dot
from dpauto.examples import sioux_falls

WEATHER = MarkovChain(
    states=["sun", "rain"],
    transitions={"sun": {"sun": 0.8, "rain": 0.2}, "rain": {"sun": 0.5, "rain": 0.5}},
)


def ring(size: int) -> MarkovChain:
    return MarkovChain(
        states=range(size), transitions={k: {(k + 1) % size: 1} for k in range(size)}
    )


@pytest.fixture
def no_graphviz(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide both Graphvizes: the system's and the one that pygraphviz brings."""
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(dpauto.drawing.render, "find_spec", lambda name: None)


@pytest.fixture
def slow_graphviz(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a layout that never ends in the place of Graphviz."""
    command = [sys.executable, "-c", "import time; time.sleep(60)"]
    monkeypatch.setattr(dpauto.drawing.render, "_command", lambda *_: command)
    monkeypatch.setattr(dpauto.drawing.diagrams, "_NOTEBOOK_SECONDS", 0.2)


# -- rendering --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("suffix", "magic"),
    [(".svg", b"<?xml"), (".png", b"\x89PNG\r\n"), (".pdf", b"%PDF"), (".dot", b"digraph {")],
)
def test_render_writes_what_the_suffix_says(tmp_path: Path, suffix: str, magic: bytes) -> None:
    place = tmp_path / f"weather{suffix.upper()}"
    assert diagram(WEATHER).render(place) == place
    assert place.read_bytes().startswith(magic)
    assert [file.name for file in tmp_path.iterdir()] == [place.name]


def test_diagram_saves_where_a_path_is_given(tmp_path: Path) -> None:
    drawing = WEATHER.show_diagram(str(tmp_path / "a.gv"))
    assert (tmp_path / "a.gv").read_text(encoding="utf-8") == drawing.dot == str(drawing)


@pytest.mark.parametrize("name", ["drawing", "drawing.txt", "drawing.svg.gz"])
def test_render_refuses_other_suffixes(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidArgument, match=r"path must end in \.svg, \.png, \.pdf, \.dot"):
        diagram(WEATHER).render(tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_render_into_a_missing_folder_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        diagram(WEATHER).render(tmp_path / "nowhere" / "a.dot")


def test_svg_shows_the_states() -> None:
    svg = diagram(WEATHER).svg()
    assert ">sun</text>" in svg
    assert ">rain</text>" in svg


def test_failure_leaves_the_old_file_and_does_not_repeat_the_text(tmp_path: Path) -> None:
    place = tmp_path / "a.svg"
    place.write_text("old")
    with pytest.raises(RenderingFailed, match="Graphviz failed to write svg") as caught:
        Diagram("digraph { secret [").render(place)
    assert "secret" not in str(caught.value)
    assert place.read_text() == "old"


def test_layouts_have_a_time_limit(slow_graphviz: None) -> None:
    with pytest.raises(DrawingTooLarge, match=r"did not finish the layout within 0\.2 s"):
        diagram(WEATHER).svg(timeout=0.2)


@pytest.mark.skipif(find_spec("pygraphviz") is None, reason="pygraphviz is not installed")
@pytest.mark.parametrize("model", [WEATHER, MarkovChain.from_networkx(sioux_falls())])
def test_pygraphviz_serves_where_the_system_has_no_graphviz(
    monkeypatch: pytest.MonkeyPatch, model: MarkovChain
) -> None:
    monkeypatch.setenv("PATH", "")
    drawing = diagram(model)
    for image_format, magic in [("svg", b"<?xml"), ("png", b"\x89PNG"), ("pdf", b"%PDF")]:
        assert render_dot(drawing.dot, image_format, engine=drawing.engine).startswith(magic)


def test_without_graphviz_the_ways_out_are_named(no_graphviz: None, tmp_path: Path) -> None:
    drawing = diagram(WEATHER)
    with pytest.raises(MissingDependency) as caught:
        drawing.svg()
    for way_out in ("install Graphviz", "pip install 'dpauto[draw]'", ".dot"):
        assert way_out in str(caught.value)
    with pytest.raises(ImportError):
        drawing.render(tmp_path / "a.png")
    drawing.render(tmp_path / "a.dot")
    assert [file.name for file in tmp_path.iterdir()] == ["a.dot"]


# -- size -------------------------------------------------------------------------------------


def test_general_graphs_are_capped_at_fifty_nodes() -> None:
    assert isinstance(diagram(ring(50)), Diagram)
    with pytest.raises(DrawingTooLarge, match=r"51 nodes, more than the 50 .* limit=None"):
        diagram(ring(51))
    assert diagram(ring(51), limit=51).dot == diagram(ring(51), limit=None).dot
    with pytest.raises(DrawingTooLarge):
        diagram(WEATHER, limit=1)


def test_layered_graphs_are_capped_later() -> None:
    language = Language.all_words("ab", 40)
    assert diagram(mnfa("ab" * 20, 9, language)).dot.count("label=") > 300
    near = mnfa("ab" * 20, 20, language)
    assert near.number_of_nodes > 400
    with pytest.raises(DrawingTooLarge, match="more than the 400"):
        near.show_diagram()


def test_large_models_are_refused_before_anything_is_built() -> None:
    near = mnfa("ab" * 100, 50, Language.all_words("ab", 200))
    with pytest.raises(DrawingTooLarge):
        diagram(near)
    assert "graph" not in vars(near)


@pytest.mark.parametrize("limit", ["many", -1, 1.5, True])
def test_refuses_other_limits(limit: Any) -> None:
    with pytest.raises(InvalidArgument, match="limit must be a number of nodes"):
        diagram(WEATHER, limit=limit)


def test_refuses_what_is_no_model() -> None:
    with pytest.raises(InvalidArgument, match="only an NFA, MarkovChain"):
        diagram("abba")


# -- notebooks --------------------------------------------------------------------------------


def test_notebooks_show_models_and_diagrams_as_images() -> None:
    language = Language.all_words("ab", 2)
    listed = Language.of(["abc", "abd", "bbd"])
    for shown in (WEATHER, diagram(WEATHER), mnfa("ab", 1, language), language, listed):
        bundle = shown._repr_mimebundle_()
        assert ">" in bundle["image/svg+xml"]
        assert bundle["text/plain"] == repr(shown)


def test_notebooks_show_text_where_there_is_no_graphviz(no_graphviz: None) -> None:
    drawing = diagram(WEATHER)
    assert drawing._repr_mimebundle_() == {"text/plain": drawing.dot}
    assert mimebundle(WEATHER) == {"text/plain": f"{WEATHER!r}\n\n{drawing.dot}"}


def test_notebooks_do_not_wait_for_endless_layouts(slow_graphviz: None) -> None:
    assert set(mimebundle(WEATHER)) == {"text/plain"}
    assert set(diagram(WEATHER)._repr_mimebundle_()) == {"text/plain"}


def test_notebooks_show_large_models_by_their_repr() -> None:
    for model in (ring(60), ring(60).language(4)):
        assert model._repr_mimebundle_() == {"text/plain": repr(model)}


def test_repr_of_a_drawing_does_not_show_what_is_drawn() -> None:
    near = mnfa(["secret", "other"], 1, Language.all_words(["secret", "other"], 2))
    assert "secret" not in repr(diagram(near))
    assert "secret" in diagram(near).dot


def test_drawing_needs_no_heavy_import_before_it_draws() -> None:
    script = (
        "import sys, dpauto.drawing;"
        "sys.exit(bool({'matplotlib', 'networkx', 'scipy', 'flint'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
