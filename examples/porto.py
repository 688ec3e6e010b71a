"""Roads of Porto and the trips taken on them, from the folder that DPAUTO_DATA names."""

from __future__ import annotations

import csv
import gzip
import os
from collections import Counter, deque
from itertools import pairwise
from pathlib import Path

import networkx as nx

import dpauto
from dpauto.formats import read_model

__all__ = ["neighbourhood", "roads", "trips"]

CHECKOUT = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("DPAUTO_DATA", CHECKOUT.parent / "shared" / "data")) / "porto_taxi"


def roads() -> dpauto.MarkovChain:
    """Return the whole network: its states are the 11,095 links, by number."""
    chain = read_model(str(DATA / "porto_edges.csv.gz"), states="links")
    if not isinstance(chain, dpauto.MarkovChain):
        raise TypeError("an edge list is a Markov chain")
    return chain


def trips() -> list[list[str]]:
    """Return the trips as links, in the order of the file."""
    with gzip.open(DATA / "porto_routes.txt.gz", "rt", encoding="utf-8") as file:
        return [line.partition(":")[2].split() for line in file if not line.startswith("#")]


def neighbourhood(size: int = 43) -> dpauto.MarkovChain:
    """Return links around the busiest one, with turns as likely as in the trips.

    Every turn of the road network is possible, whether a trip took it or not: the support is public
    and only the weights are data. The links are those that a breadth-first search from the busiest
    one meets and that can reach each other, `size` of them. The busiest one is the public start.
    """
    with gzip.open(DATA / "porto_edges.csv.gz", "rt", encoding="utf-8") as file:
        ends = {row["link"]: (row["u"], row["v"]) for row in csv.DictReader(file)}
    graph: nx.DiGraph[str] = nx.DiGraph()
    leaving: dict[str, list[str]] = {}
    for link, (u, _) in ends.items():
        leaving.setdefault(u, []).append(link)
    for link, (_, v) in ends.items():
        graph.add_edges_from((link, after) for after in leaving.get(v, ()))
    taken = Counter(step for trip in trips() for step in pairwise(trip))
    busy = Counter(link for trip in trips() for link in trip)
    for centre, _ in busy.most_common():
        links = _around(graph, centre, size)
        if links is not None:
            break
    else:
        raise ValueError(f"no link has {size} around it that can reach each other")
    order = sorted(links, key=int)
    transitions = {}
    for link in order:
        # One more trip at every turn, so that none is impossible.
        counts = {after: 1 + taken[link, after] for after in order if after in graph[link]}
        total = sum(counts.values())
        transitions[link] = {after: count / total for after, count in counts.items()}
    return dpauto.MarkovChain(states=order, transitions=transitions, initial=centre)


def _around(graph: nx.DiGraph[str], centre: str, size: int) -> set[str] | None:
    """Return `size` links near `centre` that can reach each other, if the search meets them."""
    found, seen = [], {centre}
    waiting = deque([centre])
    while waiting:
        link = waiting.popleft()
        found.append(link)
        # In the order of the file: a set's order changes from run to run.
        for near in (*graph.successors(link), *graph.predecessors(link)):
            if near not in seen:
                seen.add(near)
                waiting.append(near)
        if len(found) >= size:
            parts = nx.strongly_connected_components(graph.subgraph(found))
            part = next(part for part in parts if centre in part)
            if len(part) >= size:
                return part if len(part) == size else None
    return None
