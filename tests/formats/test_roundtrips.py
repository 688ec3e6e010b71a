"""What is written is read back as the same model."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpauto import MDP, NFA, MarkovChain
from dpauto.errors import InvalidArgument, InvalidModel
from dpauto.formats import read_model, write_model

#: Text that every format can hold; what some cannot is tested by itself.
TEXTS = st.text(
    st.characters(codec="utf-8", exclude_categories=["C"], exclude_characters='\\/"'),
    min_size=1,
    max_size=4,
).filter(lambda text: text.strip() == text)
NAMES = st.one_of(TEXTS, st.integers(-9, 99), st.tuples(TEXTS, st.integers(0, 9)))


@st.composite
def distributions(draw: Any, states: list[Any]) -> dict[Any, float]:
    support = draw(st.lists(st.sampled_from(states), min_size=1, max_size=3, unique=True))
    weights = [draw(st.integers(1, 9)) for _ in support]
    return {s: w / sum(weights) for s, w in zip(support, weights, strict=True)}


@st.composite
def chains(draw: Any, names: st.SearchStrategy[Any]) -> MarkovChain:
    states = draw(st.lists(names, min_size=1, max_size=5, unique=True))
    tails = draw(st.lists(st.sampled_from(states), unique=True))
    rows = {state: draw(distributions(states)) for state in tails}
    initial = draw(st.none() | st.sampled_from(states))
    return MarkovChain(states=states, transitions=rows, initial=initial)


@st.composite
def nfas(draw: Any, names: st.SearchStrategy[Any]) -> NFA:
    states = draw(st.lists(names, min_size=1, max_size=4, unique=True))
    alphabet = draw(st.lists(names, min_size=1, max_size=3, unique=True))
    edges = draw(
        st.lists(
            st.tuples(st.sampled_from(states), st.sampled_from(alphabet), st.sampled_from(states)),
            max_size=8,
        )
    )
    transitions: dict[Any, dict[Any, set[Any]]] = {}
    for tail, symbol, head in edges:
        transitions.setdefault(tail, {}).setdefault(symbol, set()).add(head)
    return NFA(
        states=states,
        alphabet=alphabet,
        transitions=transitions,
        initial=draw(st.sampled_from(states)),
        final=draw(st.sets(st.sampled_from(states))),
    )


@st.composite
def mdps(draw: Any, names: st.SearchStrategy[Any]) -> MDP:
    states = draw(st.lists(names, min_size=1, max_size=4, unique=True))
    actions = draw(st.lists(names, min_size=1, max_size=3, unique=True))
    transitions = {
        state: {
            action: draw(distributions(states))
            for action in draw(st.lists(st.sampled_from(actions), unique=True))
        }
        for state in states
    }
    return MDP(
        states=states,
        transitions=transitions,
        initial=draw(st.none() | st.sampled_from(states)),
    )


def back(model: Any, suffix: str) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / f"model{suffix}")
        write_model(model, path)
        return read_model(path)


def is_ambiguous_as_text(model: Any) -> bool:
    """Whether two names of the model have the same text, such as 1 and "1"."""

    def text(name: Any) -> str:
        return "/".join(map(str, name)) if isinstance(name, tuple) else str(name)

    groups = [model.states, getattr(model, "alphabet", ()), getattr(model, "actions", ())]
    return any(len(set(map(text, group))) != len(group) for group in groups)


def assert_same_nfa(one: NFA, other: NFA) -> None:
    """Equal but for the order of states and symbols and for symbols that are never read."""
    assert one.transitions == other.transitions
    assert set(one.states) == set(other.states)
    assert (one.initial, one.final) == (other.initial, other.final)


@given(st.one_of(chains(NAMES), nfas(NAMES), mdps(NAMES)))
def test_json_keeps_everything_types_included(model: Any) -> None:
    read = back(model, ".json")
    assert type(read) is type(model)
    assert read == model


@pytest.mark.parametrize("suffix", [".graphml", ".dot"])
@given(model=chains(TEXTS))
def test_graph_formats_keep_chains(suffix: str, model: MarkovChain) -> None:
    if suffix == ".dot":
        pytest.importorskip("pygraphviz")
    read = back(model, suffix)
    assert read.transitions == model.transitions
    assert set(read.states) == set(model.states)
    assert read.initial == model.initial


@pytest.mark.parametrize("suffix", [".graphml", ".dot"])
@given(model=nfas(TEXTS))
def test_graph_formats_keep_automata(suffix: str, model: NFA) -> None:
    if suffix == ".dot":
        pytest.importorskip("pygraphviz")
    assert_same_nfa(back(model, suffix), model)


@pytest.mark.parametrize("suffix", [".graphml", ".dot"])
@given(model=mdps(TEXTS))
def test_graph_formats_keep_mdps(suffix: str, model: MDP) -> None:
    if suffix == ".dot":
        pytest.importorskip("pygraphviz")
    read = back(model, suffix)
    assert read.transitions == {q: row for q, row in model.transitions.items() if row}
    assert (set(read.states), read.initial) == (set(model.states), model.initial)


@given(chains(NAMES))
def test_prism_keeps_chains_up_to_the_names_of_states(model: MarkovChain) -> None:
    if model.to_matrix().nnz == 0:
        return
    read = back(model, ".tra")
    number = {state: k for k, state in enumerate(model.states)}
    assert read.transitions == {
        number[tail]: {number[head]: p for head, p in row.items()}
        for tail, row in model.transitions.items()
    }
    # Without a public start all states are marked; a single one is the start either way.
    expected = 0 if len(number) == 1 else None if model.initial is None else number[model.initial]
    assert read.initial == expected


@given(mdps(TEXTS.filter(lambda text: len(text.split()) == 1)))
def test_prism_keeps_mdps_up_to_the_names_of_states(model: MDP) -> None:
    if model.graph.number_of_edges() == 0:
        return
    read = back(model, ".tra")
    number = {state: k for k, state in enumerate(model.states)}
    assert read.transitions == {
        number[tail]: {
            a: {number[head]: p for head, p in row.items()} for a, row in choices.items()
        }
        for tail, choices in model.transitions.items()
        if choices
    }


@given(st.one_of(chains(NAMES), nfas(NAMES)))
def test_names_that_look_alike_are_refused_where_only_text_is_kept(model: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.graphml"
        if is_ambiguous_as_text(model):
            with pytest.raises(InvalidModel, match="have the same text"):
                write_model(model, str(path))
            assert not list(Path(folder).iterdir())
        else:
            write_model(model, str(path))
            assert path.exists()


@pytest.mark.parametrize(
    ("suffix", "name"),
    [(".graphml", "a\x01"), (".dot", "a\\"), (".dot", 'a\\"b'), (".dot", "a\nb")],
)
def test_names_that_a_format_cannot_hold_are_refused(
    tmp_path: Path, suffix: str, name: str
) -> None:
    chain = MarkovChain(states=[name, "b"], transitions={name: {"b": 1}})
    with pytest.raises(InvalidModel):
        write_model(chain, str(tmp_path / f"model{suffix}"))
    assert not list(tmp_path.iterdir())


def test_quotes_and_backslashes_inside_names_survive_dot(tmp_path: Path) -> None:
    pytest.importorskip("pygraphviz")
    chain = MarkovChain(states=['say "hi"', "a\\b"], transitions={'say "hi"': {"a\\b": 1}})
    assert back(chain, ".dot") == chain


def test_what_cannot_be_written(tmp_path: Path) -> None:
    nfa = NFA(states=[0], alphabet="a", transitions={}, initial=0, final=[0])
    with pytest.raises(InvalidArgument, match="models are written as"):
        write_model(nfa, str(tmp_path / "m.csv"))
    with pytest.raises(InvalidModel, match="not automata"):
        write_model(nfa, str(tmp_path / "m.tra"))
    mdp = MDP(states=["s"], transitions={"s": {"go west": {"s": 1}}})
    with pytest.raises(InvalidModel, match="white space"):
        write_model(mdp, str(tmp_path / "m.tra"))
    thing = object()
    with pytest.raises(InvalidModel, match="JSON holds"):
        write_model(MarkovChain(states=[thing], transitions={}), str(tmp_path / "m.json"))
    assert not list(tmp_path.iterdir())


def test_gzip_and_a_named_format(tmp_path: Path) -> None:
    chain = MarkovChain(states="ab", transitions={"a": {"b": 1}, "b": {"a": 1}}, initial="a")
    write_model(chain, str(tmp_path / "m.json.gz"))
    assert read_model(str(tmp_path / "m.json.gz")) == chain
    write_model(chain, str(tmp_path / "m.txt"), format="graphml")
    assert read_model(str(tmp_path / "m.txt"), format="graphml") == chain
    write_model(chain, str(tmp_path / "n.tra.gz"))
    assert (tmp_path / "n.lab").exists()
    assert read_model(str(tmp_path / "n.tra.gz")).initial == 0
