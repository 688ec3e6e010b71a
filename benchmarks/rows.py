"""The modules that hold the rows, in the order of the table."""

from importlib import import_module

__all__ = ["load"]

MODULES = ("releases", "enumeration", "counting", "trips", "imports")


def load() -> None:
    """Import every module, which registers its rows."""
    for module in MODULES:
        import_module(f"benchmarks.{module}")
