"""What a run over tables does to each word: one picklable value, the same on every machine."""

from __future__ import annotations

import hashlib
import os
from collections import OrderedDict
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any

from dpauto.arguments import one_of
from dpauto.batch.choice import MechanismChoice
from dpauto.batch.engine import Engine
from dpauto.batch.observed import ObservedModel
from dpauto.errors import InvalidArgument
from dpauto.formats.trips import Separator
from dpauto.names import PERMUTE_AND_FLIP
from dpauto.privacy import Epsilon, Privacy
from dpauto.randomness import BitSource, KeyedBits, Random, SeededBits, as_source, encode

__all__ = ["ReleasePlan", "require_plan"]

#: Engines kept in a process: a cluster's worker may serve several plans in turn.
KEPT_ENGINES = 4

_engines: OrderedDict[bytes, Engine] = OrderedDict()


class _SeededRows:
    """Reproducible bits from a seed and a row: they depend neither on blocks nor on workers."""

    private = False

    def __init__(self, seed: bytes) -> None:
        self._seed = seed

    def seeds(
        self, contexts: Sequence[bytes], records: Sequence[Hashable] | None
    ) -> list[bytes | None]:
        """Return the seed of each release; records are ids or row numbers."""
        return [
            hashlib.sha256(encode("seeded rows", self._seed, record, context)).digest()
            for record, context in zip(records or [None] * len(contexts), contexts, strict=True)
        ]


class ReleasePlan:
    """What is done to the words of a table, whoever does it: the plan of a release.

    The plan pickles, and the words it releases depend on the plan, the word and the row's id alone,
    not on how rows are batched or which process works on them (with `KeyedBits` or a seed; without,
    every release has fresh bits).

    Parameters
    ----------
    model : NFA, MarkovChain, MDP, Language or str
        What is feasible (public). A string is read as a file or ``all:…``, ``regex:…``.
    epsilon : int, float, Fraction or str
        What each word spends; positive. A float is read as written.
    adjacency : int, optional
        b, at least 1: words within b substitutions are protected from one another.
    mechanism : {"permute-and-flip", "exponential", "online", "calibrated"}, optional
    costs : str, Costs, mapping or integer matrix, optional
        Public symbol costs, or a CSV file of them.
    certificate : str or Certificate, optional
        A certificate or its file.
    rng : None, int, numpy Generator or bit source, optional
        None is the system's generator. With `KeyedBits` each row needs an id.
    column : str, optional
        Column of the words: text, or lists of strings or integers.
    record_column : str, optional
        Column of the ids, one for each word.
    row_column : str, optional
        Column of row numbers, for errors, where a table is a part of another.
    separator : str, optional
        What stands between the symbols of text: by default white space; "" where every character is
        a symbol.
    on_error : {"stop", "skip"}, optional
        Whether a word that cannot be released ends the run or is left out.
    observe : {"states", "actions", "both"}, optional
        What a symbol is in an MDP.
    name : str, optional
        What to call the model in errors.

    Raises
    ------
    InvalidArgument
        If a parameter is out of range, the options do not go together, or `KeyedBits` comes without
        a `record_column`.
    InvalidCertificate, InvalidFile, OSError
        If a file cannot be read.

    Notes
    -----
    A pickle of the plan holds the key, if there is one: it goes to the workers and to nobody else.
    What a process compiles for a plan is kept there for the next batch.

    Examples
    --------
    >>> import dpauto
    >>> key = dpauto.KeyedBits(bytes(range(32)))  # in earnest: secrets.token_bytes(32)
    >>> dpauto.ReleasePlan("all:ab", epsilon=50, rng=key, record_column="id")
    ReleasePlan(permute-and-flip, epsilon='50', adjacency=1, column='trip')
    """

    def __init__(
        self,
        model: Any,
        *,
        epsilon: Epsilon,
        adjacency: int = 1,
        mechanism: str = PERMUTE_AND_FLIP,
        costs: Any = None,
        certificate: Any = None,
        rng: Random = None,
        column: str = "trip",
        record_column: str | None = None,
        row_column: str | None = None,
        separator: str | None = None,
        on_error: str = "stop",
        observe: str = "states",
        name: str = "model",
    ) -> None:
        self.skips = one_of(on_error, ["stop", "skip"], name="on_error") == "skip"
        if isinstance(model, str | Path):
            from dpauto.formats import read_model

            name, model = str(model), read_model(str(model))
        if not isinstance(model, ObservedModel):
            model = ObservedModel(model, observe=observe, name=name)
        source = as_source(rng)
        if isinstance(source, SeededBits):
            source = _SeededRows(source.seeds([b"rows"], None)[0] or b"")
        self._model: ObservedModel = model
        self._choice = MechanismChoice(
            mechanism,
            Privacy.of(epsilon=epsilon, adjacency=adjacency),
            costs=costs,
            certificate=certificate,
        )
        self._bits: BitSource = source
        self.column, self.record_column, self.row_column = column, record_column, row_column
        self.separator = Separator(separator)
        self._token = os.urandom(16)
        if self.keyed and record_column is None:
            raise InvalidArgument("record_column: with KeyedBits every word needs an id")

    @property
    def privacy(self) -> Privacy:
        """epsilon of each word, and adjacency."""
        return self._choice.privacy

    @property
    def private(self) -> bool:
        """Whether the releases are private: not with a seed."""
        return self._bits.private

    @property
    def keyed(self) -> bool:
        """Whether the bits come from a key and ids, so that asking twice repeats a release."""
        return isinstance(self._bits, KeyedBits)

    @property
    def seeded(self) -> bool:
        """Whether the bits come from a seed and the rows' ids or numbers."""
        return isinstance(self._bits, _SeededRows)

    @property
    def engine(self) -> Engine:
        """What this process has compiled for the plan."""
        if self._token in _engines:
            _engines.move_to_end(self._token)
        else:
            _engines[self._token] = Engine(
                self._model,
                self._choice,
                self._bits,
                by_row=self.seeded and self.record_column is None,
            )
            while len(_engines) > KEPT_ENGINES:
                _engines.popitem(last=False)
        return _engines[self._token]

    def digest(self) -> bytes:
        """Return a SHA-256 of all that the law of a release depends on besides its word.

        Raises
        ------
        InvalidArgument
            If the model or the costs are of a kind that cannot be told apart between processes.
        """
        content = encode("plan", 1, self._model.digest(), self._choice.digest())
        return hashlib.sha256(content).digest()

    def seal(self, *content: Any) -> bytes:
        """Return 32 bytes that stand for some content and tell nothing to who lacks the key.

        Parameters
        ----------
        *content : int, str, bytes, None or tuples of them

        Raises
        ------
        InvalidArgument
            If the plan has neither a key nor a seed.
        """
        if not (self.keyed or self.seeded):
            raise InvalidArgument("rng must be KeyedBits or a seed: only those can be asked again")
        context = hashlib.sha256(encode("seal", *content)).digest()
        # Another hash: the bits of a release come from values of this kind.
        (seed,) = self._bits.seeds([context], [("dpauto", "seal")])
        return hashlib.sha256(seed or b"").digest()

    def altered(
        self, *, column: str, record_column: str | None, row_column: str | None, on_error: str
    ) -> ReleasePlan:
        """Return the same plan for a table with other columns; both share what is compiled."""
        other = object.__new__(ReleasePlan)
        other.__dict__.update(self.__dict__)
        other.column, other.record_column, other.row_column = column, record_column, row_column
        other.skips = on_error == "skip"
        other.separator = Separator(None)
        return other

    def __repr__(self) -> str:
        privacy = self.privacy
        return (
            f"ReleasePlan({self._choice.name}, epsilon='{privacy.epsilon}',"
            f" adjacency={privacy.adjacency}, column={self.column!r})"
        )


def require_plan(plan: Any) -> ReleasePlan:
    """Return a plan as it is.

    Raises
    ------
    InvalidArgument
        If it is none.
    """
    if not isinstance(plan, ReleasePlan):
        raise InvalidArgument("plan must be a ReleasePlan")
    return plan
