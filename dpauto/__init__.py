"""Word-level differential privacy for trajectories of symbols.

A sensitive word (a route, a click stream, the states a system went through) is replaced by a
random word near it, drawn by permute-and-flip from exactly the words the system could have
produced. Names are imported when first used, so ``import dpauto`` costs next to nothing.

Examples
--------
>>> import dpauto
>>> weather = dpauto.MarkovChain(
...     states=["sun", "rain"],
...     transitions={"sun": {"sun": 0.8, "rain": 0.2}, "rain": {"sun": 0.5, "rain": 0.5}},
... )
>>> mechanism = dpauto.PermuteAndFlip(weather.language(4), epsilon=3)
>>> len(mechanism.release(["sun", "sun", "rain", "sun"]))
4
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

__all__ = [
    "MDP",
    "MNFA",
    "NFA",
    "AmbiguousAutomaton",
    "BudgetExceeded",
    "Certificate",
    "Costs",
    "DpautoError",
    "DrawingTooLarge",
    "DuplicateRecord",
    "EmptyLanguage",
    "EmptyNeighbourhood",
    "ErrorLaw",
    "Exponential",
    "InvalidArgument",
    "InvalidCertificate",
    "InvalidFile",
    "InvalidModel",
    "InvalidWord",
    "KeyedBits",
    "Language",
    "Ledger",
    "MarkovChain",
    "MissingDependency",
    "NotPrivateWarning",
    "Online",
    "PermuteAndFlip",
    "PrivacyWarning",
    "ReleasePlan",
    "RenderingFailed",
    "SeededBits",
    "StateLimitExceeded",
    "SystemBits",
    "UnknownSymbol",
    "audit",
    "audit_releases",
    "bounds",
    "certify",
    "choose_epsilon",
    "compare",
    "hamming_automaton",
    "hamming_distance",
    "mnfa",
    "neighbour_report",
    "release_batch",
    "release_dask",
    "release_spark",
    "release_table",
    "sampled_neighbours",
    "sioux_falls",
]

_NAMES_BY_MODULE = {
    "accuracy": [
        "ErrorLaw",
        "bounds",
        "choose_epsilon",
        "compare",
        "neighbour_report",
        "sampled_neighbours",
    ],
    # The function is `dpauto.audit`; were its module named so too, importing one would hide the
    # other.
    "auditing": ["audit", "audit_releases"],
    "batch": [
        "Ledger",
        "ReleasePlan",
        "release_batch",
        "release_dask",
        "release_spark",
        "release_table",
    ],
    "calibration": ["Certificate", "certify"],
    "errors": [
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
    ],
    "examples": ["sioux_falls"],
    "hamming": ["MNFA", "hamming_automaton", "mnfa"],
    "language": ["Language"],
    "mechanisms": ["Exponential", "Online", "PermuteAndFlip"],
    "models": ["MDP", "NFA", "MarkovChain"],
    "randomness": ["KeyedBits", "SeededBits", "SystemBits"],
    "words": ["Costs", "hamming_distance"],
}
_MODULE_OF = {name: module for module, names in _NAMES_BY_MODULE.items() for name in names}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for (PEP 562)."""
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module 'dpauto' has no attribute {name!r}")
    value = getattr(import_module(f"dpauto.{module}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


# The same names once more for type checkers and editors, which do not run `__getattr__`.
if TYPE_CHECKING:
    from dpauto.accuracy import (
        ErrorLaw,
        bounds,
        choose_epsilon,
        compare,
        neighbour_report,
        sampled_neighbours,
    )
    from dpauto.auditing import audit, audit_releases
    from dpauto.batch import (
        Ledger,
        ReleasePlan,
        release_batch,
        release_dask,
        release_spark,
        release_table,
    )
    from dpauto.calibration import Certificate, certify
    from dpauto.errors import (
        AmbiguousAutomaton,
        BudgetExceeded,
        DpautoError,
        DrawingTooLarge,
        DuplicateRecord,
        EmptyLanguage,
        EmptyNeighbourhood,
        InvalidArgument,
        InvalidCertificate,
        InvalidFile,
        InvalidModel,
        InvalidWord,
        MissingDependency,
        NotPrivateWarning,
        PrivacyWarning,
        RenderingFailed,
        StateLimitExceeded,
        UnknownSymbol,
    )
    from dpauto.examples import sioux_falls
    from dpauto.hamming import MNFA, hamming_automaton, mnfa
    from dpauto.language import Language
    from dpauto.mechanisms import Exponential, Online, PermuteAndFlip
    from dpauto.models import MDP, NFA, MarkovChain
    from dpauto.randomness import KeyedBits, SeededBits, SystemBits
    from dpauto.words import Costs, hamming_distance
