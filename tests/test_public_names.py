"""The public names of the package: each there, each documented, none hiding another."""

from __future__ import annotations

import ast
import inspect
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

import dpauto
import dpauto.drawing
import dpauto.errors
import dpauto.formats

CHECKOUT = Path(__file__).resolve().parent.parent
HEAVY = ["automata", "flint", "graphviz", "matplotlib", "networkx", "pandas", "pyarrow", "scipy"]


def run_python(code: str) -> str:
    """What a fresh interpreter prints."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.mark.parametrize("name", dpauto.__all__)
def test_every_public_name_is_there_and_documented(name):
    assert getattr(dpauto, name).__doc__


def test_all_is_sorted_and_distinct():
    assert len(set(dpauto.__all__)) == len(dpauto.__all__)


def test_type_checkers_see_the_same_names():
    tree = ast.parse(Path(dpauto.__file__).read_text(encoding="utf-8"))
    (block,) = [
        node for node in tree.body if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node)
    ]
    seen = {
        alias.name: statement.module.removeprefix("dpauto.")
        for statement in block.body
        if isinstance(statement, ast.ImportFrom)
        for alias in statement.names
    }
    assert seen == dpauto._MODULE_OF
    assert sorted(seen) == sorted(dpauto.__all__)


def test_the_reference_lists_exactly_the_public_names():
    page = (CHECKOUT / "docs" / "reference" / "index.md").read_text(encoding="utf-8")
    blocks = re.findall(r"\.\. autosummary::\n(.*?)```", page, flags=re.DOTALL)
    listed = [name for block in blocks for name in re.findall(r"^   (\w+)$", block, re.MULTILINE)]
    # Errors have a page of their own, made from `dpauto.errors` whole.
    assert sorted(listed) == sorted(set(dpauto.__all__) - set(dpauto.errors.__all__))


@pytest.mark.parametrize("module", [dpauto.drawing, dpauto.formats])
def test_the_reference_lists_what_drawing_and_formats_offer(module):
    page = (CHECKOUT / "docs" / "reference" / f"{module.__name__.partition('.')[2]}.md").read_text()
    listed = re.findall(r"^   (\w+)$", page.partition("autosummary::")[2], re.MULTILINE)
    # Constants and types are explained where they are used.
    offered = [
        name
        for name in module.__all__
        if inspect.isroutine(getattr(module, name)) or inspect.isclass(getattr(module, name))
    ]
    assert sorted(listed) == sorted(offered)


def test_every_error_is_public():
    assert set(dpauto.errors.__all__) <= set(dpauto.__all__)


def test_no_submodule_is_named_like_a_public_name():
    modules = {module.name for module in pkgutil.iter_modules(dpauto.__path__)}
    assert not modules & set(dpauto.__all__)


def test_unknown_names_are_attribute_errors():
    with pytest.raises(AttributeError, match="no attribute 'permute'"):
        dpauto.permute  # noqa: B018 -- the access is the test


def test_dir_lists_names_that_were_not_used_yet():
    assert run_python("import dpauto; print(set(dpauto.__all__) <= set(dir(dpauto)))") == "True"


def test_importing_the_package_imports_nothing_heavy():
    code = f"import dpauto, sys; print([m for m in {HEAVY!r} + ['numpy'] if m in sys.modules])"
    assert run_python(code) == "[]"


def test_using_models_and_mechanisms_imports_no_optional_library():
    names = [
        "NFA",
        "MarkovChain",
        "MDP",
        "Language",
        "PermuteAndFlip",
        "Exponential",
        "Online",
        "SystemBits",
    ]
    optional = ["flint", "graphviz", "matplotlib", "pandas", "pyarrow", "automata"]
    code = (
        f"import dpauto, sys; [getattr(dpauto, n) for n in {names!r}];"
        f"print([m for m in {optional!r} if m in sys.modules])"
    )
    assert run_python(code) == "[]"


def test_a_first_release_imports_neither_sparse_matrices_nor_graphs():
    heavy = ["automata", "graphviz", "matplotlib", "networkx", "scipy.sparse"]
    code = (
        "import dpauto, sys;"
        "chain = dpauto.MarkovChain.from_matrix([[0.5, 0.5], [1, 0]]);"
        "dpauto.PermuteAndFlip(chain.language(8), epsilon=2).release([0] * 8);"
        f"print([m for m in {heavy!r} if m in sys.modules])"
    )
    assert run_python(code) == "[]"
