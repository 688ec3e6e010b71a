"""Drawings as values of the graphviz package."""

from __future__ import annotations

from dpauto import NFA
from dpauto.drawing import diagram


def test_the_package_gets_the_same_text_and_engine():
    drawing = diagram(NFA.from_regex("a(b|c)*", alphabet="abc"))
    source = drawing.to_graphviz()
    assert source.source.rstrip("\n") == drawing.dot.rstrip("\n")
    assert source.engine == drawing.engine


def test_the_package_renders_it():
    drawing = diagram(NFA.from_regex("a(b|c)*", alphabet="abc"))
    assert drawing.to_graphviz().pipe("svg", encoding="utf-8").count("<svg") == 1
