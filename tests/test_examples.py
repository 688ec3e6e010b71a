"""The built-in Sioux Falls network is the one of the literature."""

import networkx as nx

from dpauto.examples import sioux_falls


def test_every_link_has_its_opposite_and_no_junction_is_cut_off():
    roads = sioux_falls()
    assert all(roads.has_edge(head, tail) for tail, head in roads.edges)
    assert nx.is_strongly_connected(roads)


def test_degrees_of_the_published_network():
    degrees = [degree for _, degree in sorted(sioux_falls().out_degree)]
    published = [2, 2, 3, 3, 3, 3, 2, 4, 3, 5, 4, 3, 2, 3, 4, 4, 3, 3, 3, 4, 3, 4, 3, 3]
    assert degrees == published


def test_the_schematic_map_is_planar_with_distinct_places():
    roads = sioux_falls()
    places = nx.get_node_attributes(roads, "position")
    assert len(set(places.values())) == 24
    assert nx.check_planarity(roads.to_undirected())[0]


def test_it_cannot_be_changed_by_accident():
    assert nx.is_frozen(sioux_falls())
