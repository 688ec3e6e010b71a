"""Real files, read as a new user would try."""

from __future__ import annotations

import csv
import gzip
import json
import time
from pathlib import Path
from typing import Any

import pytest

from dpauto import MDP, NFA, MarkovChain, PrivacyWarning
from dpauto.formats import open_trips, read_model


def test_porto_links_as_brute_force_over_nodes_says(data: Path) -> None:
    path = data / "porto_taxi" / "porto_edges.csv.gz"
    begin = time.process_time()
    chain: Any = read_model(str(path), states="links")
    assert time.process_time() - begin < 5
    with gzip.open(path, "rt") as lines:
        links = list(csv.DictReader(lines))
    leaving: dict[str, set[str]] = {}
    for link in links:
        leaving.setdefault(link["u"], set()).add(link["link"])
    assert list(chain.states) == [link["link"] for link in links]
    transitions = chain.transitions
    for link in links:
        assert transitions.get(link["link"], {}).keys() == leaving.get(link["v"], set())
    assert chain.to_matrix().nnz == 26_192


def test_porto_trips_are_walks_over_its_links(data: Path) -> None:
    chain: Any = read_model(str(data / "porto_taxi" / "porto_edges.csv.gz"), states="links")
    path = data / "porto_taxi" / "porto_routes.txt.gz"
    with open_trips(str(path), after=":") as trips:
        words = [trip.texts for trip in trips if trip.texts is not None]
    assert len(words) == 1737
    assert all(chain.feasible(word) for word in words)
    assert (min(map(len, words)), max(map(len, words))) == (5, 174)


@pytest.mark.parametrize(
    ("name", "states", "transitions"),
    [
        ("road_osm/campo_grande_edges.csv.gz", 8499, 24_882),
        ("road_osm/monaco_edges.csv.gz", 519, None),
        ("traffic_la_speed/los_adj.csv.gz", 207, None),
        ("prism_models/nand_N20_K1.tra.gz", 78_332, 121_512),
        ("prism_models/brp_N16_MAX2.tra", 677, 867),
        ("prism_models/egl_N5_L2.tra.gz", 33_790, 34_813),
    ],
)
def test_chains(data: Path, name: str, states: int, transitions: int | None) -> None:
    chain = read_model(str(data / name))
    assert isinstance(chain, MarkovChain)
    assert len(chain.states) == states
    assert transitions in (None, chain.to_matrix().nnz)


def test_shenzhen_as_osmnx_wrote_it(data: Path) -> None:
    path = str(data / "road_shenzhen" / "G.graphml.gz")
    nodes: Any = read_model(path)
    links: Any = read_model(path, states="links")
    # Parallel edges are one step, but each is a link of its own.
    assert (len(nodes.states), len(links.states)) == (1751, 4009)
    nx = pytest.importorskip("networkx")
    with gzip.open(path) as raw:
        graph = nx.read_graphml(raw)
    assert set(nodes.graph.edges) == {(u, v) for u, v, _ in graph.edges(keys=True)}


@pytest.mark.parametrize("name", ["brp_N16_MAX2", "crowds_R3_S5", "haddad_N20", "leader_sync_4_3"])
def test_prism_and_storm_tell_the_same_chain(data: Path, name: str) -> None:
    tra, drn = (read_model(str(data / "prism_models" / (name + s))) for s in (".tra", ".drn"))
    assert tra.initial == drn.initial
    assert abs(tra.to_matrix() - drn.to_matrix()).max() < 1e-9


def outcomes(choices: dict[Any, dict[int, float]]) -> list[list[tuple[int, float]]]:
    return sorted(sorted((q, round(p, 8)) for q, p in row.items()) for row in choices.values())


@pytest.mark.parametrize(
    "name", ["consensus2_K2", "csma2_2", "firewire_abst", "wlan0", "zeroconf_20_2"]
)
def test_prism_and_storm_tell_the_same_process(data: Path, name: str) -> None:
    tra, drn = (read_model(str(data / "prism_models" / (name + s))) for s in (".tra", ".drn"))
    assert isinstance(tra, MDP)
    assert tra.initial == drn.initial
    one, other = tra.transitions, drn.transitions
    assert one.keys() == other.keys()
    # Storm knows labels that the .tra files lack, so choices are compared by their outcomes.
    for state, choices in one.items():
        assert outcomes(choices) == outcomes(other[state])


def test_dot_files_of_aalpy(data: Path) -> None:
    pytest.importorskip("pygraphviz")
    kinds = {}
    for path in sorted((data / "automata_dot_aalpy").glob("*.dot")):
        model: Any = read_model(str(path))
        assert model.initial is not None
        assert model.language(4).count() > 0
        kinds[path.name] = type(model)
    assert {kind for name, kind in kinds.items() if name.startswith("MDPs")} == {MDP}
    assert {kind for name, kind in kinds.items() if not name.startswith("MDPs")} == {NFA}
    assert len(kinds) == 15


def test_event_log_in_both_forms(data: Path) -> None:
    folder = data / "event_logs"
    name = "bpic2020_permit_1t_per_variant.variants.txt.gz"
    with pytest.warns(PrivacyWarning):
        xes: Any = read_model(str(folder / "15_bpic2020_permit_log_1t_per_variant.xes.gz"))
    with pytest.warns(PrivacyWarning):
        compact: Any = read_model(str(folder / name), format="sequences", after=":")
    with gzip.open(folder / name, "rt") as lines:
        activities = json.loads(lines.readline().partition(":")[2])
    steps = {(activities[int(u)], activities[int(v)]) for u, v in compact.graph.edges}
    assert set(xes.graph.edges) == steps


def test_sequences_and_words(data: Path) -> None:
    with pytest.warns(PrivacyWarning):
        msnbc: Any = read_model(str(data / "msnbc" / "msnbc_sample40000.seq.gz"))
    assert set(msnbc.states) == set(map(str, range(1, 18)))
    path = str(data / "words" / "scowl_small_lower.txt")
    assert "private" in read_model(path, format="words", separator="").language(7)
    states = str(data / "traffic_la_speed" / "la_states_5min.txt.gz")
    with open_trips(states, after=" ", separator="") as trips:
        words = [trip.texts for trip in trips if trip.texts]
    assert {len(word) for word in words} == {2016}
    assert len(words) == 207
