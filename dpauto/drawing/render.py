"""From DOT text to an image: the system's Graphviz, else the one that pygraphviz brings along.

Both run in a process of their own with a time limit, because a layout of an unlucky graph can take
hours and a notebook must not hang on it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from dpauto.errors import DrawingTooLarge, InvalidArgument, MissingDependency, RenderingFailed

__all__ = ["FORMATS", "parse_path", "render_dot"]

#: Image formats by file suffix.
FORMATS: Final = {".svg": "svg", ".png": "png", ".pdf": "pdf"}

#: The wheel of pygraphviz (2.0 or later) holds Graphviz as libraries and no `dot` program.
_PYGRAPHVIZ: Final = (
    "import sys, pygraphviz;"
    "graph = pygraphviz.AGraph(string=sys.stdin.buffer.read().decode());"
    "sys.stdout.buffer.write(graph.draw(format=sys.argv[1], prog=sys.argv[2], args=sys.argv[3]))"
)
_PNG_DPI: Final = "150"


def parse_path(path: str | os.PathLike[str], suffixes: Sequence[str]) -> Path:
    """Return the path of a file to write.

    Raises
    ------
    InvalidArgument
        If it ends in none of `suffixes`, in either case.
    """
    if isinstance(path, str | os.PathLike):
        place = Path(path)
        if place.suffix.lower() in suffixes:
            return place
    raise InvalidArgument(f"path must end in {', '.join(suffixes[:-1])} or {suffixes[-1]}")


def render_dot(dot: str, image_format: str, *, engine: str = "dot", timeout: float = 60) -> bytes:
    """Return the image of a DOT text.

    Parameters
    ----------
    dot : str
    image_format : {"svg", "png", "pdf"}
    engine : {"dot", "neato"}, optional
        The layout.
    timeout : float, optional
        Seconds that the layout may take.

    Returns
    -------
    bytes

    Raises
    ------
    MissingDependency
        If there is no Graphviz.
    DrawingTooLarge
        If the layout takes longer than `timeout`.
    RenderingFailed
        If Graphviz fails.
    """
    command = _command(image_format, engine)
    try:
        done = subprocess.run(
            command, input=dot.encode(), capture_output=True, timeout=timeout, check=False
        )
    except subprocess.TimeoutExpired:
        raise DrawingTooLarge(
            f"Graphviz did not finish the layout within {timeout:g} s: draw a smaller graph, or"
            " save it as .dot and lay it out with another program"
        ) from None
    except OSError as error:
        raise RenderingFailed(f"Graphviz could not be started: {error.strerror}") from None
    if done.returncode != 0 or not done.stdout:
        # What Graphviz prints may quote labels, and with them a sensitive word.
        raise RenderingFailed(
            f"Graphviz failed to write {image_format} (exit code {done.returncode}); save the"
            " drawing as .dot and run Graphviz on it to see why"
        )
    return done.stdout


def _command(image_format: str, engine: str) -> list[str]:
    dpi = f"-Gdpi={_PNG_DPI}" if image_format == "png" else ""
    program = shutil.which("dot")
    if program is not None:
        return [program, f"-T{image_format}", f"-K{engine}", *([dpi] if dpi else [])]
    if find_spec("pygraphviz") is not None:
        return [sys.executable, "-c", _PYGRAPHVIZ, image_format, engine, dpi]
    raise MissingDependency(
        "drawing needs Graphviz, and there is none: install Graphviz so that `dot` is on the path,"
        " or `pip install 'dpauto[draw]'`, which brings its own, or save the drawing as a .dot file"
    )
