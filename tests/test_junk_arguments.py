"""Every public function, given junk: an error of dpauto's own, or one that names the argument."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import networkx as nx
import numpy as np
import pyarrow as pa
import pytest

import dpauto
from dpauto import DpautoError, drawing

LANGUAGE = dpauto.Language.of(["ab", "ba", "bb"])
CHAIN = dpauto.MarkovChain.from_matrix([[0.5, 0.5], [1, 0]], states="ab")
AUTOMATON = dpauto.NFA.from_regex("(a|b)*", alphabet="ab")
PROCESS = dpauto.MDP(states="ab", transitions={"a": {"go": {"b": 1}}, "b": {"go": {"a": 1}}})
MECHANISM = dpauto.PermuteAndFlip(LANGUAGE, epsilon=1)
LAW = MECHANISM.error_law("ab")
PRODUCT = dpauto.mnfa("ab", 1, LANGUAGE)
GRAPH = nx.MultiDiGraph([("a", "b", {"symbol": "x"}), ("b", "a", {"symbol": "y"})])

MAP = nx.Graph([("a", "b")])
nx.set_node_attributes(MAP, {"a": (0, 0), "b": (1, 0)}, "pos")
TABLE = pa.table({"trip": ["a b"]})
PLAN = dpauto.ReleasePlan(LANGUAGE, epsilon=1)

JUNK = [None, True, -1, 0, 3.5, float("nan"), "", "junk", b"bytes", (), [None], {}, {"a": None}]
JUNK += [{1, "a"}, object(), object, [[]], np.array([1.5, 2.5]), np.float64("inf"), len, 10**40]

#: What is called, and arguments that are right.
CALLS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "NFA": (
        dpauto.NFA,
        {"states": "pq", "alphabet": "ab", "transitions": {"p": {"a": {"q"}}}, "initial": "p"}
        | {"final": {"q"}},
    ),
    "NFA.from_networkx": (
        dpauto.NFA.from_networkx,
        {"graph": GRAPH, "initial": "a", "final": ["a"], "symbol": "symbol", "alphabet": "xy"},
    ),
    "NFA.from_automata_lib": (dpauto.NFA.from_automata_lib, {"fa": AUTOMATON.to_automata_lib()}),
    "NFA.from_regex": (dpauto.NFA.from_regex, {"pattern": "ab", "alphabet": "ab"}),
    "NFA.accepts": (AUTOMATON.accepts, {"w": "ab"}),
    "NFA.runs": (lambda **k: list(AUTOMATON.runs(**k)), {"w": "ab"}),
    "NFA.language": (AUTOMATON.language, {"length": 2, "state_limit": 9}),
    "NFA.determinize": (AUTOMATON.determinize, {"length": 2, "state_limit": 9}),
    "NFA.intersection": (AUTOMATON.intersection, {"other": AUTOMATON, "state_limit": 9}),
    "NFA.relabel": (AUTOMATON.relabel, {"symbols": {"a": "x"}}),
    "MarkovChain": (
        dpauto.MarkovChain,
        {"states": "ab", "transitions": {"a": {"b": 1}}, "initial": "a"},
    ),
    "MarkovChain.from_matrix": (
        dpauto.MarkovChain.from_matrix,
        {"matrix": [[0.5, 0.5], [1, 0]], "states": "ab", "initial": "a"},
    ),
    "MarkovChain.from_networkx": (
        dpauto.MarkovChain.from_networkx,
        {"graph": nx.cycle_graph(3), "initial": 0, "probability": None},
    ),
    "MarkovChain.fit": (
        dpauto.MarkovChain.fit,
        {"words": ["ab"], "initial": "a", "smoothing": 1, "states": "ab"},
    ),
    "MarkovChain.feasible": (CHAIN.feasible, {"w": "ab"}),
    "MarkovChain.probability": (CHAIN.probability, {"w": "ab"}),
    "MarkovChain.log_probability": (CHAIN.log_probability, {"w": "ab"}),
    "MarkovChain.sample": (CHAIN.sample, {"length": 2, "rng": 1}),
    "MarkovChain.language": (CHAIN.language, {"length": 2}),
    "MDP": (
        dpauto.MDP,
        {"states": "ab", "transitions": {"a": {"go": {"b": 1}}}, "initial": "a"},
    ),
    "MDP.language": (PROCESS.language, {"length": 2, "observe": "actions", "state_limit": 9}),
    "MDP.chain": (PROCESS.chain, {"policy": {"a": "go", "b": "go"}}),
    "Language.of": (dpauto.Language.of, {"words": ["ab"], "alphabet": "ab"}),
    "Language.all_words": (dpauto.Language.all_words, {"alphabet": "ab", "length": 2}),
    "Language.random_word": (LANGUAGE.random_word, {"rng": 1}),
    "Language.level_counts": (LANGUAGE.level_counts, {"w": "ab"}),
    "hamming_distance": (dpauto.hamming_distance, {"w": "ab", "v": "ab"}),
    "hamming_automaton": (
        dpauto.hamming_automaton,
        {"w": "ab", "alphabet": "ab", "errors": 1},
    ),
    "mnfa": (dpauto.mnfa, {"w": "ab", "errors": 1, "language": LANGUAGE}),
    "MNFA.sample": (PRODUCT.sample, {"rng": 1}),
    "MNFA.word": (PRODUCT.word, {"number": 0}),
    "MNFA.policy": (PRODUCT.policy, {"node": (0, 0, LANGUAGE.automaton.start)}),
    "Costs": (
        dpauto.Costs,
        {"table": {("a", "b"): 1, ("b", "a"): 1}, "alphabet": LANGUAGE.alphabet},
    ),
    "PermuteAndFlip": (
        dpauto.PermuteAndFlip,
        {"language": LANGUAGE, "epsilon": 1, "adjacency": 1, "costs": None, "certificate": None},
    ),
    "Exponential": (
        dpauto.Exponential,
        {"language": LANGUAGE, "epsilon": 1, "adjacency": 1, "costs": None, "certificate": None},
    ),
    "Online": (dpauto.Online, {"language": LANGUAGE, "epsilon": 1, "adjacency": 1}),
    "release": (MECHANISM.release, {"w": "ab", "rng": 1, "record": 1}),
    "release_many": (
        MECHANISM.release_many,
        {"ws": ["ab"], "rng": dpauto.KeyedBits(b"k" * 16), "records": [1], "workers": 1},
    ),
    "error_law": (MECHANISM.error_law, {"w": "ab"}),
    "privacy_loss": (MECHANISM.privacy_loss, {"distance": 1}),
    "ErrorLaw.cdf": (LAW.cdf, {"x": 1}),
    "ErrorLaw.quantile": (LAW.quantile, {"q": 0.5}),
    "SeededBits": (dpauto.SeededBits, {"seed": 1}),
    "KeyedBits": (dpauto.KeyedBits, {"key": b"k" * 16}),
    "bounds": (dpauto.bounds, {"length": 2, "alphabet_size": 2, "epsilon": 1, "adjacency": 1}),
    "compare": (
        dpauto.compare,
        {"language": LANGUAGE, "words": ["ab"], "epsilons": [1], "adjacency": 1}
        | {"mechanisms": ["online"], "certificates": None, "costs": None},
    ),
    "choose_epsilon": (
        dpauto.choose_epsilon,
        {"language": LANGUAGE, "words": ["ab"], "adjacency": 1, "target": 1}
        | {"mechanism": "online", "quantile": 0.5, "precision": 1, "costs": None},
    ),
    "neighbour_report": (
        dpauto.neighbour_report,
        {"language": LANGUAGE, "words": ["ab"], "adjacency": 1},
    ),
    "sampled_neighbours": (
        dpauto.sampled_neighbours,
        {"language": LANGUAGE, "adjacency": 1, "samples": 2, "rng": 1},
    ),
    "certify": (
        dpauto.certify,
        {"language": LANGUAGE, "epsilon": 1, "adjacency": 1, "mechanism": "exponential"},
    ),
    "audit": (dpauto.audit, {"mechanism": MECHANISM, "over": "language"}),
    "audit_releases": (
        dpauto.audit_releases,
        {"release": MECHANISM, "w": "ab", "v": "bb", "samples": 4, "confidence": 0.9}
        | {"events": [["ab"]]},
    ),
    "ReleasePlan": (
        partial(dpauto.ReleasePlan, LANGUAGE),
        {"epsilon": 1, "adjacency": 1, "mechanism": "online", "costs": None}
        | {"certificate": None, "rng": 1, "on_error": "skip"},
    ),
    "release_table": (dpauto.release_table, {"table": TABLE, "plan": PLAN, "workers": 1}),
    "release_batch": (dpauto.release_batch, {"plan": PLAN, "batch": TABLE.to_batches()[0]}),
    "diagram": (drawing.diagram, {"model": CHAIN, "path": None, "limit": 9}),
    "plot_trip": (
        drawing.plot_trip,
        {"graph": MAP, "before": ["a"], "after": ["b"], "labels": True, "ax": None},
    ),
    "plot_law": (drawing.plot_law, {"laws": LAW, "ax": None}),
}
#: Where a function may be given: what it raises is its author's.
TAKE_FUNCTIONS = {"costs", "events", "release", "table"}
ARGUMENTS = [(call, argument) for call, (_, right) in CALLS.items() for argument in right]


@pytest.mark.parametrize("call", CALLS)
def test_what_is_right_is_taken(call: str) -> None:
    function, right = CALLS[call]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert function(**right) is not None


@pytest.mark.parametrize(("call", "argument"), ARGUMENTS, ids=[f"{c}-{a}" for c, a in ARGUMENTS])
def test_junk_is_refused_by_name(call: str, argument: str) -> None:
    function, right = CALLS[call]
    escaped = []
    for junk in JUNK:
        if callable(junk) and argument in TAKE_FUNCTIONS:
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                function(**{**right, argument: junk})
        except DpautoError:
            pass
        except Exception as error:  # noqa: BLE001 - whatever escapes is the finding
            if not isinstance(error, TypeError) or argument not in str(error):
                escaped.append((junk, error))
    assert not escaped


def test_every_function_and_class_is_tried() -> None:
    # Errors, values that others make, and what runs over tables of files have tests of their own.
    left_out = {
        "Certificate",
        "ErrorLaw",
        "Language",
        "Ledger",
        "MNFA",
        "SystemBits",
    }
    left_out |= {"release_dask", "release_spark", "sioux_falls"}
    public = {name for name in dpauto.__all__ if not _is_exception(getattr(dpauto, name))}
    assert public - left_out == {call for call in CALLS if call in dpauto.__all__}


def _is_exception(value: Any) -> bool:
    return inspect.isclass(value) and issubclass(value, BaseException)
