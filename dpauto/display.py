"""What models, languages and MNFAs share: they show themselves as diagrams."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from os import PathLike

    from dpauto.drawing import Diagram

__all__ = ["Drawable"]


class Drawable:
    """Shows itself as a diagram, in notebooks too."""

    __slots__ = ()

    def show_diagram(
        self, path: str | PathLike[str] | None = None, *, limit: int | str | None = "readable"
    ) -> Diagram:
        """Return a drawing, which shows all that it draws, and save it where `path` is given.

        Parameters
        ----------
        path : str or path, optional
            Where to save it; the suffix says as what: .svg, .png, .pdf, or .dot for DOT text, which
            needs no Graphviz.
        limit : int, None or "readable", optional
            Most nodes to draw; see `dpauto.drawing.diagram`.

        Raises
        ------
        DrawingTooLarge
            If there are more nodes than `limit`.
        MissingDependency
            If an image is asked for and there is no Graphviz.
        """
        from dpauto.drawing import diagram

        return diagram(self, path, limit=limit)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        from dpauto.drawing import mimebundle

        return mimebundle(self)
