"""Every exception and warning of dpauto, in one tree.

Each class derives from `DpautoError` and from the nearest builtin, so callers may catch either. A
message names the argument, says what was wrong and what would be right, and gives the place (row,
position). It never holds a sensitive word or a symbol of one.
"""

from __future__ import annotations

__all__ = [
    "AmbiguousAutomaton",
    "BudgetExceeded",
    "DpautoError",
    "DrawingTooLarge",
    "DuplicateRecord",
    "EmptyLanguage",
    "EmptyNeighbourhood",
    "InvalidArgument",
    "InvalidCertificate",
    "InvalidFile",
    "InvalidModel",
    "InvalidWord",
    "MissingDependency",
    "NotPrivateWarning",
    "PrivacyWarning",
    "RenderingFailed",
    "StateLimitExceeded",
    "UnknownSymbol",
]


class DpautoError(Exception):
    """Base class of every error that dpauto raises on purpose."""


class InvalidArgument(DpautoError, ValueError):
    """An argument is outside its range, such as an epsilon that is not positive."""


class InvalidModel(DpautoError, ValueError):
    """A model's states, symbols or probabilities do not fit together."""


class InvalidWord(DpautoError, ValueError):
    """A word cannot be used here, usually because its length is not the language's."""


class UnknownSymbol(DpautoError, KeyError):
    """A word holds a symbol that is not in the alphabet; the position is named, not the symbol."""

    def __str__(self) -> str:
        # KeyError shows the repr of its argument; a sentence should read as one.
        return str(self.args[0]) if self.args else ""


class EmptyLanguage(DpautoError, ValueError):
    """No word of the requested length is feasible."""


class EmptyNeighbourhood(DpautoError, ValueError):
    """No two feasible words are adjacent, so a guarantee about neighbours would say nothing."""


class AmbiguousAutomaton(DpautoError, ValueError):
    """An automaton has several runs for one word where paths must be words."""


class StateLimitExceeded(DpautoError, RuntimeError):
    """A construction would need more states or cells than its budget allows."""


class DrawingTooLarge(DpautoError, ValueError):
    """A graph has too many nodes to be read as a drawing."""


class RenderingFailed(DpautoError, RuntimeError):
    """Graphviz is there and could not make the image."""


class InvalidFile(DpautoError, ValueError):
    """A file cannot be read as the format it is said to have."""


class InvalidCertificate(DpautoError, ValueError):
    """A certificate does not belong to this language, epsilon, adjacency or mechanism."""


class DuplicateRecord(DpautoError, ValueError):
    """Two records share an id, which would give both the same random bits."""


class BudgetExceeded(DpautoError, RuntimeError):
    """A release would spend more epsilon than a data subject has left."""


class MissingDependency(DpautoError, ImportError):
    """An optional package or program is needed and is not installed."""


class NotPrivateWarning(UserWarning):
    """Random bits come from a seed, so whoever knows the seed can undo the release."""


class PrivacyWarning(UserWarning):
    """The guarantee holds, but says less than the user may expect."""
