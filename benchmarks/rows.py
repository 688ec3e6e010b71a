"""The modules that hold the rows, in the order of the table."""

from importlib import import_module

from benchmarks.harness import ROWS, Row

__all__ = ["load"]

MODULES = ("releases", "enumeration", "counting", "trips", "imports")


def load() -> dict[str, Row]:
    """Return all rows by name, in the order of the table."""
    modules = [import_module(f"benchmarks.{module}").__name__ for module in MODULES]
    return {
        row.name: row
        for module in modules
        for row in ROWS.values()
        if row.measure.__module__ == module
    }
