"""Symbol costs in CSV: what it costs to write one symbol where another is true.

Either columns ``true,written,cost`` with a row for each pair, or a square table with a header of
symbols and the true symbol first in each row. A number is read as written, so 0.1 is 1/10.
"""

from __future__ import annotations

from fractions import Fraction
from typing import IO

from dpauto.arguments import fraction_of
from dpauto.errors import InvalidFile
from dpauto.formats.csvfile import find_column, headed_rows
from dpauto.formats.files import open_text
from dpauto.formats.symbols import SymbolTexts
from dpauto.words import Symbol

__all__ = ["parse_costs", "read_costs"]


def read_costs(name: str, texts: SymbolTexts) -> dict[tuple[Symbol, Symbol], Fraction]:
    """Return the costs in a file; see `parse_costs`."""
    with open_text(name) as lines:
        return parse_costs(lines, name, texts)


def parse_costs(
    lines: IO[str], name: str, texts: SymbolTexts
) -> dict[tuple[Symbol, Symbol], Fraction]:
    """Return ``{(true symbol, written symbol): cost}`` for `dpauto.Costs`.

    Parameters
    ----------
    lines : text stream
    name : str
        For errors.
    texts : SymbolTexts
        The model's symbols.

    Raises
    ------
    InvalidFile
        If the table has another form, a symbol is not the model's, or a cell is no cost; row and
        column are named.
    """
    header, rows = headed_rows(lines, name)
    columns = [find_column(header, key) for key in ("true", "written", "cost")]
    costs: dict[tuple[Symbol, Symbol], Fraction] = {}
    if None not in columns:
        places = [column for column in columns if column is not None]
        for row, cells in rows:
            if len(cells) != len(header):
                raise InvalidFile(f"{name}, row {row}: {len(cells)} cells, not {len(header)}")
            true, written, cost = (cells[place].strip() for place in places)
            pair = _symbol(name, row, true, texts), _symbol(name, row, written, texts)
            costs[pair] = _cost(name, row, "cost", cost)
        return costs
    written_symbols = [_symbol(name, 1, cell.strip(), texts) for cell in header[1:]]
    for row, cells in rows:
        if len(cells) != len(header):
            raise InvalidFile(f"{name}, row {row}: {len(cells)} cells, not {len(header)}")
        true_symbol = _symbol(name, row, cells[0].strip(), texts)
        for symbol, column, cell in zip(written_symbols, header[1:], cells[1:], strict=True):
            costs[true_symbol, symbol] = _cost(name, row, column.strip(), cell.strip())
    return costs


def _symbol(name: str, row: int, text: str, texts: SymbolTexts) -> Symbol:
    if text not in texts:
        raise InvalidFile(f"{name}, row {row}: {text!r} is not a symbol of the model")
    return texts.symbol(text)


def _cost(name: str, row: int, column: str, text: str) -> Fraction:
    place = f"{name}, row {row}, column {column}"
    try:
        cost = fraction_of(text)
    except (ValueError, ZeroDivisionError):
        raise InvalidFile(f"{place}: {text!r} is not a number") from None
    if cost < 0:
        raise InvalidFile(f"{place}: a cost must be at least 0, not {text}")
    return cost
