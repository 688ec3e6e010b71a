"""Built-in examples, small enough to ship with the package."""

from __future__ import annotations

from typing import Any

__all__ = ["sioux_falls"]

# Junction: column and row in the schematic map that traffic research draws, then where it leads to.
_SIOUX_FALLS = {
    1: ((0, 7), (2, 3)),
    2: ((3, 7), (1, 6)),
    3: ((0, 6), (1, 4, 12)),
    4: ((1, 6), (3, 5, 11)),
    5: ((2, 6), (4, 6, 9)),
    6: ((3, 6), (2, 5, 8)),
    7: ((4, 5), (8, 18)),
    8: ((3, 5), (6, 7, 9, 16)),
    9: ((2, 5), (5, 8, 10)),
    10: ((2, 4), (9, 11, 15, 16, 17)),
    11: ((1, 4), (4, 10, 12, 14)),
    12: ((0, 4), (3, 11, 13)),
    13: ((0, 0), (12, 24)),
    14: ((1, 2), (11, 15, 23)),
    15: ((2, 2), (10, 14, 19, 22)),
    16: ((3, 4), (8, 10, 17, 18)),
    17: ((3, 3), (10, 16, 19)),
    18: ((4, 4), (7, 16, 20)),
    19: ((3, 2), (15, 17, 20)),
    20: ((3, 0), (18, 19, 21, 22)),
    21: ((2, 0), (20, 22, 24)),
    22: ((2, 1), (15, 20, 21, 23)),
    23: ((1, 1), (14, 22, 24)),
    24: ((1, 0), (13, 21, 23)),
}


def sioux_falls() -> Any:
    """Return the road network of Sioux Falls: 24 junctions, 76 directed links.

    Returns
    -------
    networkx.DiGraph
        Frozen. Nodes are the junctions 1 to 24, with their place (column, row) in the usual
        schematic map as the attribute "position".

    References
    ----------
    L. J. LeBlanc, E. K. Morlok and W. P. Pierskalla, "An efficient approach to solving the road
    network equilibrium traffic assignment problem", Transportation Research 9 (1975), 309-318.

    Examples
    --------
    >>> roads = sioux_falls()
    >>> roads.number_of_nodes(), roads.number_of_edges()
    (24, 76)
    >>> sorted(roads[10])
    [9, 11, 15, 16, 17]
    """
    import networkx as nx

    roads = nx.DiGraph(name="Sioux Falls")
    for junction, (position, _) in _SIOUX_FALLS.items():
        roads.add_node(junction, position=position)
    for junction, (_, leads_to) in _SIOUX_FALLS.items():
        roads.add_edges_from((junction, head) for head in leads_to)
    return nx.freeze(roads)
