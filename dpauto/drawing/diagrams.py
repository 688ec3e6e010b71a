"""`diagram`: a model as a drawing that can be shown, saved and compared."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from dpauto.drawing.dot import to_dot
from dpauto.drawing.render import FORMATS, parse_path, render_dot
from dpauto.errors import DpautoError, DrawingTooLarge, InvalidArgument

if TYPE_CHECKING:
    import graphviz

__all__ = ["Diagram", "diagram", "mimebundle"]

#: Most nodes that are drawn without asking: beyond them a general layout takes minutes and shows a
#: thicket. Layered graphs stay readable, and quick to lay out, for longer.
READABLE: Final = 50
READABLE_LAYERED: Final = 400

#: Seconds that a notebook waits for a drawing that nobody asked for by name.
_NOTEBOOK_SECONDS: Final = 10.0


@dataclass(frozen=True, repr=False)
class Diagram:
    """A drawing: its DOT text, and images of it when Graphviz is there.

    Equal models give equal DOT text, byte for byte, in every process.

    Attributes
    ----------
    dot : str
        The drawing in the DOT language. It shows what it draws: the drawing of an `MNFA` shows the
        sensitive word.
    engine : {"dot", "neato"}
        The Graphviz layout that it asks for.
    """

    dot: str
    engine: str = "dot"

    def __repr__(self) -> str:
        return f"<Diagram: {len(self.dot)} characters of DOT>"

    def __str__(self) -> str:
        return self.dot

    def to_graphviz(self) -> graphviz.Source:
        """Return the drawing as a value of the `graphviz` package, to view it or go on from there.

        Examples
        --------
        >>> from dpauto import NFA
        >>> from dpauto.drawing import diagram
        >>> source = diagram(NFA.from_regex("ab*", alphabet="ab")).to_graphviz()
        >>> source.engine
        'dot'
        """
        import graphviz

        return graphviz.Source(self.dot, engine=self.engine)

    def svg(self, *, timeout: float = 60) -> str:
        """Return the drawing as SVG text.

        Parameters
        ----------
        timeout : float, optional
            Seconds that Graphviz may take.

        Raises
        ------
        MissingDependency
            If there is no Graphviz.
        DrawingTooLarge
            If the layout takes longer than `timeout`.
        """
        return render_dot(self.dot, "svg", engine=self.engine, timeout=timeout).decode()

    def render(self, path: str | os.PathLike[str], *, timeout: float = 60) -> Path:
        """Write the drawing to a file; nothing is left half-written.

        Parameters
        ----------
        path : str or path
            The suffix says what is written: .svg, .png, .pdf, or .dot or .gv (DOT text, which
            needs no Graphviz).
        timeout : float, optional
            Seconds that Graphviz may take.

        Returns
        -------
        Path
            `path`.

        Raises
        ------
        InvalidArgument
            If the suffix is another.
        MissingDependency
            If an image is asked for and there is no Graphviz.
        DrawingTooLarge
            If the layout takes longer than `timeout`.
        OSError
            If the file cannot be written.
        """
        from dpauto.outputs import writing

        place = parse_path(path, [*FORMATS, ".dot", ".gv"])
        image = FORMATS.get(place.suffix.lower())
        if image is None:
            content = self.dot.encode()
        else:
            content = render_dot(self.dot, image, engine=self.engine, timeout=timeout)
        with writing(os.fspath(place)) as out:
            out.write(content)
        return place

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        return _bundle(self, text=self.dot)


def diagram(
    model: object,
    path: str | os.PathLike[str] | None = None,
    *,
    limit: int | str | None = "readable",
) -> Diagram:
    """Return a drawing of a model, and save it where `path` is given.

    Parameters
    ----------
    model : NFA, MarkovChain, MDP, Language or MNFA
        Hamming automata and MNFAs are laid out by position (columns) and errors (rows), the edges
        that write the true symbol set apart. Parallel edges are drawn as one.
    path : str or path, optional
        A file to write; its suffix tells the format, as in `Diagram.render`.
    limit : int, None or "readable", optional
        Most nodes to draw. "readable" allows 50, or 400 in a graph whose nodes have a definite
        number of symbols written; None allows any number.

    Returns
    -------
    Diagram

    Raises
    ------
    DrawingTooLarge
        If there are more nodes than `limit`.
    InvalidArgument
        If the model is nothing that can be drawn, or `limit` or `path` is not one of the above.
    MissingDependency
        If an image is to be written and there is no Graphviz.

    Examples
    --------
    >>> from dpauto import MarkovChain
    >>> weather = MarkovChain(
    ...     states=["sun", "rain"],
    ...     transitions={"sun": {"sun": 0.8, "rain": 0.2}, "rain": {"sun": 0.5, "rain": 0.5}},
    ... )
    >>> print(diagram(weather))  # doctest: +ELLIPSIS
    digraph {
    ...
      0 [label="sun"];
      1 [label="rain"];
      0 -> 0 [label=" 0.8 "];
      0 -> 1 [label=" 0.2 "];
      1 -> 0 [label=" 0.5 "];
      1 -> 1 [label=" 0.5 "];
    }
    <BLANKLINE>
    """
    from dpauto.drawing.sketches import node_count, sketch

    most = _parse_limit(limit)
    # Counting comes first: a graph of a city, or its product, is not built just to be refused.
    _check_size(node_count(model), most)
    drawn = sketch(model)
    _check_size(drawn.size, READABLE if limit == "readable" and not drawn.layered else most)
    drawing = Diagram(to_dot(drawn), drawn.engine)
    if path is not None:
        drawing.render(path)
    return drawing


def _parse_limit(limit: int | str | None) -> int | None:
    """Return the most nodes that any graph may have, or None."""
    if limit is None:
        return None
    if isinstance(limit, str) and limit == "readable":
        return READABLE_LAYERED
    if isinstance(limit, int) and not isinstance(limit, bool) and limit > 0:
        return limit
    raise InvalidArgument('limit must be a number of nodes, None or "readable"')


def _check_size(size: int, most: int | None) -> None:
    if most is not None and size > most:
        raise DrawingTooLarge(
            f"the graph has {size} nodes, more than the {most} that can be read in a drawing: draw"
            " a smaller part, or pass limit=None to draw it all the same"
        )


def mimebundle(model: object) -> dict[str, str]:
    """Return what a notebook shows for a model: its drawing, or text where that cannot be.

    Never raises on account of the drawing, and never waits for it longer than a few seconds.
    """
    try:
        drawing = diagram(model)
    except Exception:  # noqa: BLE001 - a cell's value must show, whatever drawing runs into
        return {"text/plain": repr(model)}
    return _bundle(drawing, text=f"{model!r}\n\n{drawing.dot}", caption=repr(model))


def _bundle(drawing: Diagram, *, text: str, caption: str | None = None) -> dict[str, str]:
    try:
        svg = drawing.svg(timeout=_NOTEBOOK_SECONDS)
    except DpautoError:
        return {"text/plain": text}
    return {"text/plain": caption or repr(drawing), "image/svg+xml": svg}
