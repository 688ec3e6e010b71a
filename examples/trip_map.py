"""Draw a trip before and after its release on the map of its road network.

    python examples/trip_map.py EDGES NODES BEFORE AFTER [--row 1] [--after :] [-o trip.svg]

EDGES is a table with the columns u and v and, where the trips are made of links, `link`; NODES one
with node, lon and lat. BEFORE and AFTER are files of trips in text. The picture shows the secret.
Needs ``pip install 'dpauto[plots]'``.
"""

from __future__ import annotations

import argparse
import csv
from typing import Any

import networkx as nx

from dpauto.drawing import plot_trip, save_plot
from dpauto.formats import open_trips
from dpauto.formats.files import open_text


def rows(name: str) -> list[dict[str, str]]:
    """Return the rows of a CSV table."""
    with open_text(name) as lines:
        return list(csv.DictReader(lines))


def road_graph(edges: str, nodes: str) -> nx.MultiDiGraph[str]:
    """Return a network whose nodes have positions and whose edges have the table's columns."""
    graph: nx.MultiDiGraph[str] = nx.MultiDiGraph()
    for row in rows(nodes):
        graph.add_node(row["node"], x=float(row["lon"]), y=float(row["lat"]))
    for row in rows(edges):
        graph.add_edge(row["u"], row["v"], **row)
    return graph


def trip_of(name: str, number: int, after: str | None) -> list[str]:
    """Return one of the trips of a file, counted from 1."""
    with open_trips(name, after=after) as trips:
        words = (trip.texts for trip in trips if trip.texts is not None)
        for k, word in enumerate(words, 1):
            if k == number:
                return word
    raise SystemExit(f"{name}: there is no trip {number}")


def main(arguments: list[str] | None = None) -> None:
    """Draw the picture."""
    parser: Any = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    for name in ("edges", "nodes", "before", "after_release"):
        parser.add_argument(name)
    parser.add_argument("--row", type=int, default=1)
    parser.add_argument("--after")
    parser.add_argument("-o", "--output", default="trip.svg")
    given = parser.parse_args(arguments)
    graph = road_graph(given.edges, given.nodes)
    links = any("link" in data for _, _, data in graph.edges(data=True))
    before, after = (
        trip_of(name, given.row, given.after) for name in (given.before, given.after_release)
    )
    axes = plot_trip(graph, before, after, degrees=True, link="link" if links else None)
    save_plot(axes, given.output)


if __name__ == "__main__":
    main()
