"""The command line: arguments in, exit codes out."""

from __future__ import annotations

from dpauto.cli.app import commands, main

__all__ = ["commands", "main"]
