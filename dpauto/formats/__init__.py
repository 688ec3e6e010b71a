"""Files: models in and out, trips in and out, one module for each outside format.

Files hold text. A symbol that a format does not type is a string, and trips match a model's symbols
by their text (`dpauto.formats.symbols`). Readers are imported when they are needed.

Examples
--------
>>> read_model("all:abc").language(2).count()
9
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from dpauto.errors import DpautoError, InvalidArgument
from dpauto.formats.files import suffix_of
from dpauto.formats.options import Model, ModelOptions
from dpauto.formats.symbols import SymbolTexts, text_of
from dpauto.formats.tripfiles import TRIP_FORMATS, open_trips
from dpauto.outputs import writing

if TYPE_CHECKING:
    from dpauto.models import MDP, NFA, MarkovChain

__all__ = [
    "MODEL_FORMATS",
    "TRIP_FORMATS",
    "WRITABLE_FORMATS",
    "Model",
    "SymbolTexts",
    "model_format",
    "open_trips",
    "read_model",
    "text_of",
    "write_model",
]

#: Format to its reader (module, function).
_READERS = {
    "graphml": ("graphml", "read_graphml"),
    "json": ("jsonmodel", "read_json"),
    "csv": ("csvmodel", "read_csv"),
    "edges": ("csvmodel", "read_edges"),
    "matrix": ("csvmodel", "read_matrix"),
    "adjacency": ("csvmodel", "read_adjacency"),
    "events": ("eventlog", "read_events"),
    "xes": ("eventlog", "read_xes"),
    "sequences": ("eventlog", "read_sequences"),
    "words": ("wordsets", "read_words"),
    "dot": ("dot", "read_dot"),
    "prism": ("prism", "read_prism"),
    "drn": ("drn", "read_drn"),
    "numpy": ("matrices", "read_matrix_file"),
}

#: Names of the formats that models are read from.
MODEL_FORMATS = tuple(_READERS)

_WRITERS = {
    "graphml": ("graphml", "write_graphml"),
    "json": ("jsonmodel", "write_json"),
    "dot": ("dot", "write_dot"),
}

#: Names of the formats that models are written to.
WRITABLE_FORMATS = (*_WRITERS, "prism")

_SUFFIXES = {
    ".graphml": "graphml",
    ".json": "json",
    ".csv": "csv",
    ".tsv": "csv",
    ".xes": "xes",
    ".seq": "sequences",
    ".dot": "dot",
    ".gv": "dot",
    ".tra": "prism",
    ".drn": "drn",
    ".npy": "numpy",
    ".npz": "numpy",
}

#: Formats in which edges can be taken as states.
_WITH_LINKS = ("graphml", "csv", "edges")

#: Formats whose alphabet can be larger than what they name.
_WITH_ALPHABET = ("graphml", "dot")


def model_format(source: str, chosen: str | None = None) -> str:
    """Return the format of a model file: what was chosen, or what its suffix tells.

    Raises
    ------
    InvalidArgument
        If the format is unknown.

    Examples
    --------
    >>> model_format("roads.graphml.gz"), model_format("roads.xml", "graphml")
    ('graphml', 'graphml')
    """
    known = f"one of {', '.join(MODEL_FORMATS)}"
    if chosen is not None:
        if chosen not in _READERS:
            raise InvalidArgument(f"format: {chosen!r} is unknown; it is {known}")
        return chosen
    suffix = suffix_of(source)
    if suffix not in _SUFFIXES:
        if os.path.isdir(source):
            raise InvalidArgument(f"{source}: a folder, not a file; name the file of a model")
        told = f"the suffix {suffix!r} tells" if suffix else "a name without a suffix tells"
        raise InvalidArgument(f"{source}: {told} no model format; name it with --format: {known}")
    return _SUFFIXES[suffix]


def read_model(
    source: str,
    *,
    format: str | None = None,  # noqa: A002
    states: str = "nodes",
    initial: str | None = None,
    alphabet: Iterable[str] | None = None,
    after: str | None = None,
    separator: str | None = None,
) -> Model:
    """Read a model from a file, or from ``regex:…`` or ``all:…``.

    Parameters
    ----------
    source : str or path
        A file whose suffix tells its format (``.gz`` is transparent), ``regex:`` and a pattern of
        automata-lib's syntax, or ``all:`` and the symbols, as in ``all:abc`` or ``all:a,b,c``.
    format : str, optional
        One of `MODEL_FORMATS`, whatever the suffix says.
    states : {"nodes", "links"}, optional
        Whether a road graph's nodes or its edges are the states.
    initial : str, optional
        Text of the public start state, which is not part of the words. It overrides the file's.
    alphabet : iterable of str, optional
        Further symbols for ``regex:`` and for automata without their own alphabet.
    after, separator : str, optional
        How the lines of ``sequences`` and ``words`` are read: see `dpauto.formats.open_trips`.

    Returns
    -------
    MarkovChain, NFA, MDP, or a model of all or listed words
        All have ``language(length)``.

    Raises
    ------
    InvalidArgument
        If the format or an option does not fit.
    InvalidFile
        If the file cannot be read as its format.
    InvalidModel
        If what it says is no model.
    MissingDependency
        If the format needs a package that is not installed.
    OSError
        If the file cannot be opened.
    """
    source = str(source)
    if states not in ("nodes", "links"):
        raise InvalidArgument(f"states must be 'nodes' or 'links', not {states!r}")
    options = ModelOptions(
        links=states == "links",
        initial=initial,
        alphabet=None if alphabet is None else list(alphabet),
        after=after,
        separator=separator,
    )
    if format is None and source.startswith(("all:", "regex:")):
        return _from_text(source, options)
    if format is None and suffix_of(source) not in _SUFFIXES and source != "-":
        # That a file is missing says more than what its name does not tell.
        os.stat(source)
    kind = model_format(source, format)
    if options.links and kind not in _WITH_LINKS:
        raise InvalidArgument(f"states: {kind} has no links to take as states; use nodes")
    if alphabet is not None and kind not in _WITH_ALPHABET:
        raise InvalidArgument(f"alphabet: {kind} says itself which symbols there are; leave it out")
    if initial is not None and kind == "words":
        raise InvalidArgument("initial: a list of words has no states")
    module, function = _READERS[kind]
    reader = getattr(import_module(f"dpauto.formats.{module}"), function)
    try:
        model: Model = reader(source, options)
    except DpautoError as error:
        raise _naming(error, source) from None
    return model


def _from_text(source: str, options: ModelOptions) -> Model:
    from dpauto.formats import wordsets

    kind, _, text = source.partition(":")
    if options.links or options.initial is not None:
        raise InvalidArgument(f"{kind}: has neither links nor an initial state to choose")
    if kind == "all" and options.alphabet is not None:
        raise InvalidArgument("alphabet: list all symbols behind all: instead")
    if kind == "all":
        return wordsets.parse_all(text)
    return wordsets.parse_regex(text, options)


def _naming(error: DpautoError, source: str) -> DpautoError:
    """Return the error with the file's name in front, unless it has it already."""
    text = str(error)
    if text.startswith(source):
        return error
    return type(error)(f"{source}: {text}")


def write_model(
    model: MarkovChain | NFA | MDP,
    target: str,
    *,
    format: str | None = None,  # noqa: A002
) -> None:
    """Write a model to a file, complete or not at all.

    Parameters
    ----------
    model : MarkovChain, NFA or MDP
    target : str or path
        The suffix tells the format (``.gz`` compresses). ``.tra`` gets a ``.lab`` beside it.
    format : {"graphml", "json", "dot", "prism"}, optional
        Whatever the suffix says.

    Raises
    ------
    InvalidArgument
        If models cannot be written in that format.
    InvalidModel
        If the format cannot hold the model's names.
    OSError
        If the file cannot be written.
    """
    target = str(target)
    kind = model_format(target, format)
    if kind == "prism":
        _write_prism(model, target)
        return
    if kind not in _WRITERS:
        raise InvalidArgument(
            f"format: models are written as {', '.join(WRITABLE_FORMATS)}, not as {kind}"
        )
    module, function = _WRITERS[kind]
    content: bytes = getattr(import_module(f"dpauto.formats.{module}"), function)(model, target)
    with writing(target) as out:
        out.write(content)


def _write_prism(model: Any, target: str) -> None:
    from pathlib import Path

    from dpauto.formats.prism import write_prism

    transitions, labels = write_prism(model, target)
    with writing(target) as out:
        out.write(transitions)
    if target != "-":
        path = Path(target)
        stem = Path(path.stem).stem if path.suffix == ".gz" else path.stem
        with writing(str(path.with_name(f"{stem}.lab"))) as out:
            out.write(labels)
