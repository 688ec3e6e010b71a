"""Models read from small files whose content is known."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array, save_npz

from dpauto import MDP, NFA, MarkovChain, PrivacyWarning
from dpauto.errors import InvalidArgument, InvalidFile, InvalidModel
from dpauto.formats import read_model

CHAIN = MarkovChain(
    states=["a", "b", "c"],
    transitions={"a": {"b": 1}, "b": {"a": 0.25, "c": 0.75}},
)


def write(folder: Path, name: str, content: str) -> str:
    path = folder / name
    path.write_text(content, encoding="utf-8")
    return str(path)


# -- CSV ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content",
    [
        "source,target,probability\na,b,1\nb,a,0.25\nb,c,0.75\n",
        "u;v;probability\na;b;1\nb;a;1/4\nb;c;3/4\n",
        "id,Source,Target,Weight\n7,a,b,3\n8,b,a,5\n9,b,c,15\n",
        "length,u,v,weight\r\n1,a,b,9\r\n2,b,a,1\r\n3,b,c,3\r\n",
        # Parallel steps add up.
        "source,target,weight\na,b,1\nb,a,1\nb,c,1\nb,c,2\n",
        '\ufeffsource,target,probability\n"a",b,1\nb,a,.25\n\nb, c ,7.5e-1\n',
    ],
)
def test_edge_lists_give_the_same_chain(tmp_path: Path, content: str) -> None:
    assert read_model(write(tmp_path, "edges.csv", content)) == CHAIN


def test_without_probabilities_every_step_is_equally_likely_and_parallel_edges_are_one_step(
    tmp_path: Path,
) -> None:
    chain = read_model(write(tmp_path, "e.tsv", "source\ttarget\na\tb\na\tb\na\tc\nb\ta\nc\ta\n"))
    assert chain.transitions == {"a": {"b": 0.5, "c": 0.5}, "b": {"a": 1}, "c": {"a": 1}}


def test_links_follow_each_other_where_one_ends_at_the_start_of_the_other(tmp_path: Path) -> None:
    content = "u,v,length\nx,y,1\ny,x,1\ny,z,1\nz,y,1\n"
    chain = read_model(write(tmp_path, "roads.csv", content), states="links")
    # Brute force over pairs of rows is the independent way to say it.
    ends = [row.split(",")[:2] for row in content.splitlines()[1:]]
    expected = {
        (str(i), str(j)) for i, (_, v) in enumerate(ends) for j, (u, _) in enumerate(ends) if v == u
    }
    assert set(chain.graph.edges) == expected
    assert chain.states == ("0", "1", "2", "3")


@pytest.mark.parametrize(
    ("column", "cells", "states"),
    [
        ("link", "pq", ("p", "q")),
        ("id", "pq", ("p", "q")),
        ("key", "pq", ("p", "q")),
        # osmnx's key counts parallel edges and names nothing.
        ("key", "00", ("0", "1")),
    ],
)
def test_links_are_named_by_their_column(
    tmp_path: Path, column: str, cells: str, states: tuple[str, ...]
) -> None:
    content = f"u,v,{column}\nx,y,{cells[0]}\ny,x,{cells[1]}\n"
    assert read_model(write(tmp_path, "roads.csv", content), states="links").states == states


@pytest.mark.parametrize(
    "content",
    [
        "state,a,b,c\na,0,1,0\nb,0.25,0,0.75\nc,0,0,0\n",
        ",a,b,c\nc,0,0,0\nb,0.25,,0.75\na,,1,\n",
        "a,b,c\na,0,1,0\nb,0.25,0,3/4\nc,0,0,0\n",
    ],
)
def test_transition_matrices_give_the_same_chain(tmp_path: Path, content: str) -> None:
    assert read_model(write(tmp_path, "matrix.csv", content)) == CHAIN


def test_a_square_table_without_header_holds_weights(tmp_path: Path) -> None:
    chain = read_model(write(tmp_path, "weights.csv", "0,2,0\n1,0,3\n0,0,0\n"))
    assert chain.transitions == {"0": {"1": 1}, "1": {"0": 0.25, "2": 0.75}}


def test_an_event_log_becomes_its_directly_follows_graph(tmp_path: Path) -> None:
    content = (
        "case,activity,timestamp\n1,ask,2020-01-01T10:00:00\n2,ask,2020-01-01T09:00:00\n"
        "1,pay,2020-01-01T12:00:00\n1,answer,2020-01-01T11:00:00\n2,pay,2020-01-02T09:00:00\n"
    )
    with pytest.warns(PrivacyWarning):
        chain = read_model(write(tmp_path, "log.csv", content))
    assert chain.transitions == {"answer": {"pay": 1}, "ask": {"answer": 0.5, "pay": 0.5}}


def test_xes_gives_the_activities_of_each_trace_in_order(tmp_path: Path) -> None:
    def event(name: str) -> str:
        return f'<event><string key="concept:name" value="{name}"/></event>'

    content = (
        '<log xmlns="http://www.xes-standard.org/"><trace>'
        '<string key="concept:name" value="case 1"/>'
        f"{event('ask')}{event('pay')}</trace><trace>{event('ask')}{event('ask')}</trace></log>"
    )
    with pytest.warns(PrivacyWarning):
        chain = read_model(write(tmp_path, "log.xes", content))
    assert chain.transitions == {"ask": {"ask": 0.5, "pay": 0.5}}


def test_sequences_skip_comments_and_uci_preambles(tmp_path: Path) -> None:
    content = "% Categories\n\nnews sport\n\n% Sequences:\n\n1 2\n1 1\n"
    with pytest.warns(PrivacyWarning):
        chain = read_model(write(tmp_path, "log.seq", content))
    assert chain.transitions == {"1": {"1": 0.5, "2": 0.5}}


# -- graphs ---------------------------------------------------------------------------------------

GRAPHML = """<?xml version='1.0'?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="d0" for="edge" attr.name="length" attr.type="string"/>
<key id="d1" for="edge" attr.name="id" attr.type="string"/>
<graph edgedefault="{default}"><data key="d9">x</data>
<node id="1"/><node id="2"><data key="d0">9</data></node><node id="3"/>
<edge source="1" target="2" id="0"><data key="d0">5</data></edge>
<edge source="1" target="2" id="1"/>
<edge source="2" target="3" id="0"/>
</graph></graphml>"""


def test_graphml_as_osmnx_writes_it(tmp_path: Path) -> None:
    path = write(tmp_path, "roads.graphml", GRAPHML.format(default="directed"))
    assert read_model(path).transitions == {"1": {"2": 1}, "2": {"3": 1}}
    links = read_model(path, states="links")
    assert links.states == ("0", "1", "2")
    assert set(links.graph.edges) == {("0", "2"), ("1", "2")}


def test_an_undirected_edge_goes_both_ways(tmp_path: Path) -> None:
    path = write(tmp_path, "roads.graphml", GRAPHML.format(default="undirected"))
    assert set(read_model(path).graph.edges) == {("1", "2"), ("2", "1"), ("2", "3"), ("3", "2")}


def test_dot_as_aalpy_writes_it(tmp_path: Path) -> None:
    pytest.importorskip("pygraphviz")
    mdp = read_model(
        write(
            tmp_path,
            "mdp.dot",
            'digraph g { 0 [label="mud"]; 1 [label="mud"]; 0 -> 1 [label="East:0.8"];'
            ' 0 -> 0 [label="East:0.2"]; 1 -> 0 [label="go:west:1.0"];'
            ' __start0 [label="", shape=none]; __start0 -> 0 [label=""]; }',
        )
    )
    assert isinstance(mdp, MDP)
    assert mdp.initial == "0"
    assert mdp.transitions == {
        "0": {"East": {"0": 0.2, "1": 0.8}},
        "1": {"go:west": {"0": 1.0}},
    }
    mealy = read_model(
        write(
            tmp_path,
            "mealy.dot",
            'digraph { __start0 [label="" shape=none]; __start0 -> s0; s0 -> s1 [label="a/x y"];'
            ' s1 -> s0 [label="b/y"]; }',
        )
    )
    assert isinstance(mealy, NFA)
    assert mealy.accepts(["a/x y", "b/y"])
    dfa = read_model(
        write(
            tmp_path,
            "dfa.dot",
            "digraph { s1 [shape=doublecircle]; s0 -> s1 [label=0]; s1 -> s1 [label=1];"
            " __start0 -> s0; }",
        )
    )
    assert dfa.final == frozenset({"s1"})


def test_dot_chains_plain_and_with_probabilities(tmp_path: Path) -> None:
    pytest.importorskip("pygraphviz")
    plain = read_model(write(tmp_path, "g.dot", "digraph { a -> b; a -> c; b -> a; }"))
    assert plain.transitions == {"a": {"b": 0.5, "c": 0.5}, "b": {"a": 1}}
    text = 'digraph { a->b [label=1]; b->a [label="0.25"]; b->c [label=" .75 "]; c->c [label=1] }'
    weighted = read_model(write(tmp_path, "w.gv", text))
    assert weighted.transitions["b"] == {"a": 0.25, "c": 0.75}
    undirected = read_model(write(tmp_path, "u.dot", "graph { a -- b }"))
    assert set(undirected.graph.edges) == {("a", "b"), ("b", "a")}


# -- model checkers -------------------------------------------------------------------------------


def test_prism_chain_starts_where_the_labels_say(tmp_path: Path) -> None:
    tra = write(tmp_path, "m.tra", "3 4\n0 1 1\n1 0 0.25\n1 2 0.75 go\n2 2 1\n")
    assert read_model(tra).initial == 0
    write(tmp_path, "m.lab", '0="init" 1="deadlock"\n1: 0\n2: 1\n')
    chain = read_model(tra)
    assert chain.initial == 1
    assert chain.transitions == {0: {1: 1}, 1: {0: 0.25, 2: 0.75}, 2: {2: 1}}
    assert read_model(tra, initial="2").initial == 2
    write(tmp_path, "m.lab", '0="init"\n1: 0\n2: 0\n')
    assert read_model(tra).initial is None


@pytest.mark.parametrize(
    "content",
    [
        "2 3 4\n0 0 1 1 up\n1 0 0 0.5 go\n1 0 1 0.5 go\n1 1 0 1\n",
        # Older exports leave the number of choices out.
        "2 4\n0 0 1 1 up\n1 0 0 0.5 go\n1 0 1 0.5 go\n1 1 0 1\n",
        "mdp\n0 0 1 1 up\n1 0 0 0.5 go\n1 0 1 0.5 go\n1 1 0 1\n",
    ],
)
def test_prism_mdp_of_every_header(tmp_path: Path, content: str) -> None:
    mdp = read_model(write(tmp_path, "m.tra", content))
    assert mdp.transitions == {0: {"up": {1: 1}}, 1: {"go": {0: 0.5, 1: 0.5}, 1: {0: 1}}}


@pytest.mark.parametrize(
    "content", ["dtmc\n0 1 1\n1 0 1\n", "STATES 2\nTRANSITIONS 2\n1 2 1\n2 1 1\n"]
)
def test_prism_older_headers_of_chains(tmp_path: Path, content: str) -> None:
    assert read_model(write(tmp_path, "m.tra", content)).transitions == {0: {1: 1}, 1: {0: 1}}


def test_drn_with_rewards_labels_and_unlabelled_choices(tmp_path: Path) -> None:
    content = (
        "// made by hand\n@type: MDP\n@value_type: double\n@parameters\n\n@reward_models\nsteps\n"
        "@nr_states\n2\n@nr_choices\n4\n@model\nstate 0 [1] init x\n\taction go [0]\n"
        "\t\t1 : 1/3\n\t\t0 : 2/3\n\taction __NOLABEL__\n\t\t0 : 1\nstate 1 [0]\n\taction go\n"
        "\t\t0 : 1\n\taction go\n\t\t1 : 1\n"
    )
    mdp = read_model(write(tmp_path, "m.drn", content))
    assert mdp.initial == 0
    assert mdp.transitions[0].keys() == {"go", 1}
    assert mdp.transitions[0]["go"] == pytest.approx({0: 2 / 3, 1: 1 / 3})
    # Two choices of one label are two actions.
    assert mdp.transitions[1] == {0: {0: 1}, 1: {1: 1}}


def test_matrices_of_numpy_and_scipy(tmp_path: Path) -> None:
    matrix = np.array([[0, 1, 0], [0.25, 0, 0.75], [0, 0, 0]])
    np.save(tmp_path / "m.npy", matrix)
    np.savez(tmp_path / "m.npz", matrix)
    save_npz(tmp_path / "s.npz", csr_array(matrix))
    for name in ("m.npy", "m.npz", "s.npz"):
        chain = read_model(str(tmp_path / name), initial="1")
        assert chain == MarkovChain.from_matrix(matrix, initial=1)


# -- JSON and text --------------------------------------------------------------------------------


def test_json_types_symbols_and_matches_keys_by_text(tmp_path: Path) -> None:
    chain = read_model(
        write(
            tmp_path,
            "m.json",
            '{"kind": "markov-chain", "states": [1, "x", [2, "y"]], "initial": [2, "y"],'
            ' "transitions": {"1": {"x": 1}, "x": {"1": 0.5, "2/y": 0.5}, "2/y": {"1": 1}}}',
        )
    )
    assert chain.states == (1, "x", (2, "y"))
    assert chain.transitions == {1: {"x": 1}, "x": {1: 0.5, (2, "y"): 0.5}, (2, "y"): {1: 1}}
    assert chain.initial == (2, "y")


def test_json_nfa(tmp_path: Path) -> None:
    nfa = read_model(
        write(
            tmp_path,
            "m.json",
            '{"kind": "nfa", "states": [0, 1], "alphabet": ["x", "y"], "initial": 0, "final": [1],'
            ' "transitions": {"0": {"x": [0, 1]}, "1": {"y": [1]}}}',
        )
    )
    assert sorted(map("".join, nfa.language(3).words())) == ["xxx", "xxy", "xyy"]


@pytest.mark.parametrize(
    "transitions",
    ['{"0": {"x": [0, 1]}, "1": {"y": [1]}}', '[[0, "x", 0], [0, "x", 1], [1, "y", 1]]'],
)
def test_the_alphabet_of_a_json_nfa_may_be_left_out(tmp_path: Path, transitions: str) -> None:
    content = '{"kind": "nfa", "states": [0, 1], "initial": 0, "final": [1], "transitions": '
    nfa = read_model(write(tmp_path, "m.json", content + transitions + "}"))
    assert list(nfa.alphabet) == ["x", "y"]
    assert nfa.accepts("xxy")


def test_gzip_is_transparent_and_a_named_format_wins(tmp_path: Path) -> None:
    path = tmp_path / "edges.csv.gz"
    path.write_bytes(gzip.compress(b"source,target\na,b\nb,a\n"))
    other = write(tmp_path, "edges.txt", "source,target\na,b\nb,a\n")
    assert read_model(str(path)) == read_model(other, format="edges")


def test_all_words_and_regular_expressions() -> None:
    assert read_model("all:abc").language(3).count() == 27
    assert list(read_model("all:north, south").alphabet) == ["north", "south"]
    assert read_model("regex:(ab|ba)*").language(4).count() == 4
    assert len(read_model("regex:(ab|ba)*", alphabet="xyz").alphabet) == 5
    assert read_model("regex:.{2}", alphabet="xyz").language(2).count() == 9


def test_a_list_of_words_has_a_language_for_each_length(tmp_path: Path) -> None:
    path = write(tmp_path, "words.txt", "# animals\ncat\ncow\nhorse\n")
    model = read_model(path, format="words", separator="")
    assert set(map("".join, model.language(3).words())) == {"cat", "cow"}
    assert model.language(5).count() == 1


def test_the_initial_state_is_named_by_its_text(tmp_path: Path) -> None:
    path = write(tmp_path, "edges.csv", "source,target\n1,2\n2,1\n")
    assert read_model(path, initial="2").initial == "2"
    with pytest.raises(InvalidModel, match="initial: '3' is no state"):
        read_model(path, initial="3")


# -- what is wrong --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("e.csv", "", "the file is empty"),
        ("e.csv", "source,target\n", "no edge below the header"),
        ("e.csv", "source,end\na,b\n", "needs the columns source and target"),
        ("e.csv", "a,b\nc,d\n", "neither an edge list .* nor a transition matrix"),
        ("e.csv", "source,target\na\n", "row 2, column target: the cell is empty"),
        ("e.csv", "source,target,weight\na,b,x\n", "row 2, column weight: 'x' is not a number"),
        ("e.csv", "u,v,probability\na,b,-1\n", "row 2, column probability: -1 is negative"),
        (
            "e.csv",
            "u,v,probability\na,b,nan\n",
            "row 2, column probability: nan is not a finite number",
        ),
        ("e.csv", "u,v,probability\na,b,1\nb,a,.4\nb,b,.5\n", "row 3.*'b' sum to 0.9, not to 1"),
        ("e.csv", 'u,v\n"a,b\n', "row"),
        (
            "m.csv",
            "s,a,b\na,0,1\nb,0.5,0.4\n",
            "row 3: the probabilities from state 'b' sum to 0.9",
        ),
        ("m.csv", "s,a,b\na,0,1\nb,2,-1\n", "row 3, column b: -1 is negative"),
        ("m.csv", "s,a,b\na,0,1\nb,0.5\n", "row 3: 2 cells where the header has 3"),
        ("m.csv", "s,a,b\na,0,1\n", "one row for each of the 2 states"),
        ("m.csv", "s,a,b\na,0,1\na,0,1\n", "row 3: state 'a' has a row already"),
        ("m.csv", "s,a,a\na,0,1\nb,0,1\n", "row 1: a state stands twice"),
        ("m.csv", "s,a,b\na,0,1\nb,0.5,inf\n", "row 3, column b: inf is not a finite number"),
        ("w.csv", "1,2\n3,4\n5,6\n", "row 3: a table of numbers without a header must be square"),
        ("l.csv", "case,when\n1,2\n", "needs the columns case and activity"),
        ("l.csv", "case,activity,time\n1,a,soon\n", "row 2, column time: neither an ISO time"),
        ("g.graphml", "", "the file is empty"),
        ("g.graphml", "<graphml><graph>", "not GraphML"),
        ("g.graphml", "<graphml><graph></graph></graphml>", "the graph has no node"),
        (
            "g.graphml",
            '<graphml><graph><node id="a"/><edge source="a" target="b"/></graph></graphml>',
            "an edge names the node 'b', which is not there",
        ),
        ("m.json", "", "the file is empty"),
        ("m.json", "{", "row 1, column 2: not JSON"),
        ("m.json", "[]", "a model is a JSON object"),
        ("m.json", "{}", "the key 'kind' is missing"),
        ("m.json", '{"kind": "tree"}', "kind must be one of"),
        ("m.json", '{"kind": "nfa", "states": 3}', "states must be a list"),
        ("m.json", '{"kind": "markov-chain", "states": [true]}', r"states\[0\] must be a string"),
        (
            "m.json",
            '{"kind": "markov-chain", "states": ["a"], "transitions": {"b": {}}}',
            r'transitions\["b"\]: .b. is not one of states',
        ),
        (
            "m.json",
            '{"kind": "markov-chain", "states": ["a"], "transitions": {"a": {"a": "1"}}}',
            r'transitions\["a"\]\["a"\] must be a number',
        ),
        ("m.tra", "", "the file is empty"),
        ("m.tra", "2 2\n0 1 1\n1 2 1\n", "row 3: state 2 is not between 0 and 1"),
        ("m.tra", "2 2\n0 1 1\n1 0 0.5\n", "row 3, column 3: the probabilities from state '1'"),
        ("m.tra", "2 2\n0 1 -1\n", "row 2, column 3: -1 is negative"),
        ("m.tra", "x y\n", "row 1: 'x' is not a whole number"),
        ("m.tra", "1 1 1\n0 0 0 0.5\n", "choice 0 in state 0 sum to 0.5"),
        ("m.drn", "", "the file is empty"),
        ("m.drn", "@type: CTMC\n@model\n", "@type must be DTMC or MDP"),
        ("m.drn", "@type: DTMC\n@nr_states\n1\n@model\nstate 0\n\t0 : 0.5\n", "sum to 0.5"),
        ("m.drn", "@type: DTMC\n@nr_states\n2\n@model\nstate 0\n\t0 : 1\n", "1 states follow"),
        ("m.xes", "<log><trace>", "not XES"),
        ("m.xes", "<log><trace></trace></log>", "no sequence"),
        ("m.npy", "abc", "not a matrix"),
    ],
)
def test_bad_files_are_named_with_the_place(
    tmp_path: Path, name: str, content: str, message: str
) -> None:
    path = write(tmp_path, name, content)
    with pytest.raises((InvalidFile, InvalidModel), match=message) as caught:
        read_model(path)
    assert str(caught.value).startswith(path)


def test_bad_dot(tmp_path: Path) -> None:
    pytest.importorskip("pygraphviz")
    for content in ("digraph { a -> ", "digraph { }", ""):
        with pytest.raises(InvalidFile):
            read_model(write(tmp_path, "m.dot", content))


def test_two_links_of_one_name_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path, "e.csv", "u,v,link\na,b,1\nb,a,1\n")
    with pytest.raises(InvalidFile, match="row 3, column link: the name '1' is also that of row 2"):
        read_model(path, states="links")


def test_damaged_gzip_and_other_encodings(tmp_path: Path) -> None:
    path = tmp_path / "e.csv.gz"
    path.write_bytes(gzip.compress(b"source,target\na,b\n" * 999)[:-20])
    with pytest.raises(InvalidFile, match="not a whole gzip file"):
        read_model(str(path))
    path.write_bytes(b"source,target\n")
    with pytest.raises(InvalidFile, match="not a whole gzip file"):
        read_model(str(path))
    path = tmp_path / "e.csv"
    path.write_bytes("source,target\nä,b\n".encode("latin-1"))
    with pytest.raises(InvalidFile, match="not UTF-8"):
        read_model(str(path))


@pytest.mark.parametrize(
    ("source", "options", "message"),
    [
        ("model.xyz", {}, "suffix '.xyz' tells no model format"),
        ("model", {}, "a name without a suffix tells no model format"),
        ("m.csv", {"format": "gml"}, "'gml' is unknown"),
        ("m.json", {"states": "links"}, "json has no links"),
        ("m.csv", {"states": "edges"}, "states must be 'nodes' or 'links'"),
        ("all:", {}, "must be followed by symbols"),
        ("all:a,,b", {}, "must be followed by symbols"),
        ("regex:", {}, "must be followed by a pattern"),
        ("all:ab", {"initial": "a"}, "neither links nor an initial state"),
        ("all:ab", {"alphabet": "c"}, "list all symbols behind all:"),
        ("m.csv", {"alphabet": "c"}, "csv says itself which symbols there are"),
        ("m.txt", {"format": "words", "initial": "c"}, "a list of words has no states"),
    ],
)
def test_bad_arguments(
    source: str,
    options: dict[str, str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("model", "model.xyz"):
        (tmp_path / name).touch()
    with pytest.raises(InvalidArgument, match=message):
        read_model(source, **options)


def test_pickled_arrays_are_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "m.npy", np.array([object()]), allow_pickle=True)
    with pytest.raises(InvalidFile, match="not a matrix"):
        read_model(str(tmp_path / "m.npy"))
