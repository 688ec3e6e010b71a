"""Finding a column by its name, which has to be that of one column only.

A second column of the same name would be copied as all other columns are, true words included.
"""

from __future__ import annotations

from collections.abc import Sequence

from dpauto.errors import DpautoError, InvalidArgument

__all__ = ["require_column"]


def require_column(
    column: str,
    names: Sequence[object],
    place: str,
    *,
    advice: str = "",
    kind: type[DpautoError] = InvalidArgument,
) -> None:
    """Refuse a name that none or several of a table's columns have.

    Parameters
    ----------
    column : str
    names : sequence
        The names of all columns.
    place : str
        What the error begins with: the table.
    advice : str
        What it ends with.
    kind : type
        What is raised.

    Raises
    ------
    InvalidArgument, or what `kind` says
        If the number of such columns is not 1.

    Examples
    --------
    >>> require_column("trip", ["id", "trip", "trip"], "table")
    Traceback (most recent call last):
    ...
    dpauto.errors.InvalidArgument: table: 2 columns have the name 'trip'; rename or remove one
    """
    found = sum(name == column for name in names)
    if found > 1:
        raise kind(f"{place}: {found} columns have the name {column!r}; rename or remove one")
    if not found:
        raise kind(
            f"{place}: there is no column {column!r}; the columns are"
            f" {', '.join(map(str, names))}{advice}"
        )
