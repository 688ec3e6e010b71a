"""What all models share: immutable, hashable, picklable values that always show."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import chains, mdps, nfas

import dpauto.drawing
from dpauto import MDP, NFA, DrawingTooLarge, MarkovChain

Model = NFA | MarkovChain | MDP

models = st.one_of(nfas(), chains(), mdps())


def examples() -> list[Model]:
    return [
        NFA.from_regex("(a|b)*a", alphabet="ab"),
        MarkovChain.from_matrix([[0.5, 0.5], [1, 0]], initial=0),
        MDP(states=[0, 1], transitions={0: {"go": {1: 1}}, 1: {"go": {0: 0.5, 1: 0.5}}}),
    ]


each = pytest.mark.parametrize("model", examples(), ids=lambda model: type(model).__name__)


@each
def test_attributes_cannot_be_set_or_deleted(model: Model) -> None:
    name = type(model).__name__
    for attribute in ("alphabet", "initial", "states", "new", "_head"):
        with pytest.raises(AttributeError, match=f"{name} is immutable: build a new one"):
            setattr(model, attribute, 1)
    with pytest.raises(AttributeError, match="is immutable"):
        del model._head


@each
def test_arrays_and_graphs_are_frozen(model: Model) -> None:
    arrays = [value for value in vars(model).values() if isinstance(value, np.ndarray)]
    assert arrays
    copies = [vars(pickle.loads(pickle.dumps(model))), vars(copy.deepcopy(model))]
    arrays += [v for fields in copies for v in fields.values() if isinstance(v, np.ndarray)]
    for array in arrays:
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
    assert model.graph is model.graph
    with pytest.raises(nx.NetworkXError, match="Frozen graph"):
        model.graph.add_node("new")
    with pytest.raises(nx.NetworkXError, match="Frozen graph"):
        model.graph.remove_edge(*next(iter(model.graph.edges())))


@each
def test_copies_of_transitions_cannot_change_the_model(model: Model) -> None:
    before = repr(model.transitions)
    model.transitions.clear()
    assert repr(model.transitions) == before


@settings(max_examples=50)
@given(models)
def test_values_survive_pickling_and_copying(model: Model) -> None:
    model.graph  # noqa: B018 - caches must not be pickled
    hash(model)
    for again in (pickle.loads(pickle.dumps(model)), copy.copy(model), copy.deepcopy(model)):
        assert again == model
        assert hash(again) == hash(model)
        assert "graph" not in vars(again)
        assert again.transitions == model.transitions


@settings(max_examples=50)
@given(models, models)
def test_equality_is_that_of_the_contents(one: Model, other: Model) -> None:
    def content(model: Model) -> list[object]:
        parts = [type(model), list(map(repr, model.states)), repr(model.initial)]
        parts += [model.transitions, getattr(model, "final", None)]
        return [*parts, list(map(repr, getattr(model, "alphabet", ())))]

    if content(one) == content(other):
        assert one == other
        assert hash(one) == hash(other)
    else:
        assert one != other
    assert one != "something else"


def test_models_are_keys_of_sets_and_dictionaries() -> None:
    assert len({*examples(), *examples()}) == 3


def test_different_order_is_a_different_value() -> None:
    # The order numbers the symbols, and numbers decide what a seeded release is.
    assert NFA.from_regex("a", alphabet="ab") != NFA.from_regex("a", alphabet="ba")


@settings(max_examples=50)
@given(models)
def test_reprs_are_short_and_of_one_line(model: Model) -> None:
    assert len(repr(model)) < 150
    assert "\n" not in repr(model)


@pytest.mark.parametrize(
    ("model", "text"),
    [
        (examples()[0], "<NFA: 4 states, 2 symbols, 9 transitions, initial 0, 1 final>"),
        (examples()[1], "<MarkovChain: 2 states, 3 transitions, initial 0>"),
        (examples()[2], "<MDP: 2 states, 1 actions, 3 transitions>"),
    ],
)
def test_reprs(model: Model, text: str) -> None:
    assert repr(model) == text


# -- display ----------------------------------------------------------------------------------


def large(size: int) -> list[Model]:
    """Models whose general layout takes minutes."""
    chain = MarkovChain.from_networkx(nx.circulant_graph(size, [1, 2, 3]))
    nfa = NFA(
        states=range(size),
        alphabet="a",
        transitions={k: {"a": {0, k, size - 1 - k}} for k in range(size)},
        initial=0,
        final=[0],
    )
    mdp = MDP(states=range(size), transitions={k: {"a": {0: 1}} for k in range(size)})
    return [chain, nfa, mdp]


@each
def test_a_notebook_always_gets_text(model: Model) -> None:
    assert model._repr_mimebundle_()["text/plain"].startswith(repr(model))
    assert model._repr_mimebundle_(include=None, exclude=None)


@pytest.mark.parametrize("model", large(100), ids=lambda model: type(model).__name__)
def test_large_models_show_as_text_only(model: Model) -> None:
    assert model._repr_mimebundle_() == {"text/plain": repr(model)}
    with pytest.raises(DrawingTooLarge, match="limit=None"):
        model.show_diagram()


@each
@pytest.mark.parametrize("error", [RuntimeError, OSError, ImportError, ValueError, KeyError])
def test_display_never_raises(
    model: Model, error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*args: object, **options: object) -> None:
        raise error("no layout today")

    monkeypatch.setattr(dpauto.drawing.diagrams, "diagram", broken)
    assert model._repr_mimebundle_() == {"text/plain": repr(model)}


@each
def test_a_diagram_is_drawn_and_saved(model: Model, tmp_path: Path) -> None:
    drawing = model.show_diagram(tmp_path / "model.dot")
    assert (tmp_path / "model.dot").read_text() == str(drawing)
    assert str(drawing).startswith("digraph")
    assert str(model.show_diagram(limit=10)) == str(drawing)


# -- independence of hashing ------------------------------------------------------------------

PROGRAM = """
import warnings
from automata.fa.dfa import DFA
from automata.fa.nfa import NFA as AutomataNFA
from dpauto import MDP, NFA, Language, MarkovChain

warnings.simplefilter("ignore")


def named(state):
    return sorted(state) if isinstance(state, frozenset) else state


names = {"p", "q", "r", "s", 7, (1, "x"), frozenset({"u", "v", "w"})}
nfa = NFA(
    states=names,
    alphabet={"x", "y", "z"},
    transitions={q: {s: names for s in "xyz"} for q in names},
    initial="p",
    final={"q", 7},
)
print([named(q) for q in nfa.states], list(nfa.alphabet), nfa.language(3).fingerprint)
chain = MarkovChain(states=names, transitions={q: {"p": 0.5, 7: 0.5} for q in names})
print([named(q) for q in chain.states], chain.language(3).fingerprint)
print(MarkovChain.fit([["b", "a"], ["c", (0, 1), "b"]]).states)
mdp = MDP(states=names, transitions={q: {"go": {"p": 1}, "stay": {q: 1}} for q in names})
print([named(q) for q in mdp.states], mdp.language(3, "actions").fingerprint)
words = NFA.from_regex("[a-e]*(ab|cd|ea)[^b]*")
print(words.graph.edges(data=True), words.language(5).fingerprint)
subsets = DFA.from_nfa(AutomataNFA.from_regex("(a|b)*ab(a|b)"), retain_names=True)
print(NFA.from_automata_lib(subsets).language(5).fingerprint)
print(Language.of({("x", "y"), ("z", "x")}).fingerprint)
"""


def test_nothing_depends_on_hash_randomisation() -> None:
    outputs = {
        subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env={"PYTHONHASHSEED": seed, "PATH": ""},
            cwd=Path(__file__).parents[2],
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(outputs) == 1


def test_models_import_no_heavy_library() -> None:
    program = (
        "import sys; from dpauto import MarkovChain, NFA;"
        "NFA(states=[0], alphabet='a', transitions={0: {'a': [0]}}, initial=0, final=[0])"
        ".language(3).count(); MarkovChain.from_matrix([[1.0]]).language(3);"
        "print({'networkx', 'scipy', 'automata', 'matplotlib', 'pandas'} & set(sys.modules))"
    )
    result = subprocess.run(
        [sys.executable, "-c", program],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        check=True,
        text=True,
    )
    assert result.stdout.strip() == "set()"


@pytest.mark.parametrize(
    "build",
    [
        lambda: NFA([0], "a", {}, 0, [0]),
        lambda: MarkovChain([0], {}),
        lambda: MDP([0], {}),
    ],
)
def test_constructors_take_keywords_only(build: Callable[[], Model]) -> None:
    with pytest.raises(TypeError, match="positional argument"):
        build()


@pytest.mark.parametrize(
    "model",
    [
        NFA.from_regex("(a|b)*aba", alphabet="ab"),
        MarkovChain.from_matrix([[0.5, 0.5, 0], [0, 0, 1], [1, 0, 0]]),
        MDP(states="pq", transitions={"p": {"go": {"p": 0.5, "q": 0.5}, "stay": {"p": 1}}}),
    ],
    ids=lambda model: type(model).__name__,
)
def test_transitions_are_counted_without_the_graph(model: Model) -> None:
    assert model.number_of_transitions == model.graph.number_of_edges()
