"""What a run has released so far, so that a killed one goes on where it stopped.

A journal is a file beside the output: a line about the run, then a line for each block of rows, in
order, forced to the disk before anything else happens with the block. It holds released words and
seals (`ReleasePlan.seal`), never a key, an id or a word that was not released. The output itself is
written anew from the journal and the input, so it comes out the same however often the run died.

Asking twice must give the same release, so only keyed (or seeded) plans can be resumed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from dpauto.batch.engine import Block, Result
from dpauto.batch.plan import ReleasePlan
from dpauto.errors import InvalidArgument, InvalidFile, InvalidWord

__all__ = ["Journal"]

VERSION = 1

#: Stands in results for a trip that was left out by the run before.
_LEFT_OUT = "left out before the run was interrupted"


class Journal:
    """The journal of one output; a context manager that holds it for this process alone.

    Parameters
    ----------
    output : str
        The file that the run will write.
    plan : ReleasePlan

    Raises
    ------
    InvalidArgument
        If the output is no file, the plan has neither key nor seed, another process is at work on
        the output, or the journal there is another plan's.
    InvalidFile
        If what stands there is no journal.
    OSError
        If the journal cannot be written.
    """

    def __init__(self, output: str, plan: ReleasePlan) -> None:
        place = Path(os.path.realpath(output))
        if output == "-" or (place.exists() and not place.is_file()):
            raise InvalidArgument("resume: only a run that writes a file can be resumed")
        self.path = place.with_name(f".{place.name}.journal")
        #: Where the output waits until it is complete.
        self.beside = str(place.with_name(f".{place.name}.resumed.part"))
        self._plan = plan
        head = {
            "dpauto journal": VERSION,
            "plan": plan.seal("plan", plan.digest(), int(plan.skips)).hex(),
        }
        self._file = _open_alone(self.path)
        with ExitStack() as undo:
            undo.callback(self._file.close)
            self._read(head)
            undo.pop_all()
        self._head_size = self._file.tell()
        self._blocks: Iterator[dict[str, Any]] | None = self._entries()

    def _read(self, head: dict[str, Any]) -> None:
        """Check the first line, or write it."""
        first = self._file.readline()
        if not first.endswith(b"\n"):
            self._file.seek(0)
            self._file.truncate()
            self._append(head)
        elif self._parse(first, "dpauto journal") != head:
            raise InvalidArgument(
                f"{self.path}: the interrupted run had another model, key or option; repeat those,"
                " or delete this file to begin again"
            )

    def _parse(self, line: bytes, key: str) -> dict[str, Any]:
        try:
            entry = json.loads(line)
        except ValueError:
            entry = None
        if not isinstance(entry, dict) or key not in entry:
            raise InvalidFile(
                f"{self.path}: not a journal of an interrupted run; delete it to begin again"
            )
        return entry

    def _entries(self) -> Iterator[dict[str, Any]]:
        """Yield the blocks that are whole, and cut off what a dying process left behind them."""
        place = self._file.tell()
        for line in iter(self._file.readline, b""):
            if not line.endswith(b"\n"):
                break
            place += len(line)
            yield self._parse(line, "released")
        self._file.seek(place)
        self._file.truncate()

    def recall(self, block: Block) -> list[Result] | None:
        """Return what was released for the next block, or None when the journal ends here.

        Raises
        ------
        InvalidArgument
            If the block's rows were others in the interrupted run.
        """
        if self._blocks is None:
            return None
        entry = next(self._blocks, None)
        if entry is None:
            self._blocks = None
            return None
        if entry["seal"] != self._seal(block):
            raise InvalidArgument(
                f"{self.path}: the trips changed after the interrupted run, from row"
                f" {block.rows[0] if block.rows else 1} on; restore them, or delete this file to"
                " begin again"
            )
        return [
            InvalidWord(_LEFT_OUT) if word is None else list(word) for word in entry["released"]
        ]

    def remember(self, block: Block, results: list[Result]) -> None:
        """Write the results of the next block to the disk."""
        released = [result if isinstance(result, list) else None for result in results]
        self._append({"seal": self._seal(block), "released": released})

    def _seal(self, block: Block) -> str:
        content = (*map(tuple, block.words),)
        records = None if block.records is None else tuple(block.records)
        return self._plan.seal("block", tuple(block.rows), content, records).hex()

    def _append(self, entry: dict[str, Any]) -> None:
        self._file.write(json.dumps(entry, ensure_ascii=False, separators=(",", ":")).encode())
        self._file.write(b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())

    def finish(self) -> None:
        """Forget the run: its output is complete."""
        self.path.unlink()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        # A run that failed before its first block leaves nothing to go on from.
        if os.fstat(self._file.fileno()).st_size == self._head_size:
            self.path.unlink(missing_ok=True)
        self._file.close()


def _open_alone(path: Path) -> IO[bytes]:
    """Open a file for reading and writing, unless another process has done so."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    file = os.fdopen(handle, "r+b")
    try:
        import fcntl
    except ImportError:
        # Elsewhere nothing keeps two runs apart but their users.
        return file
    try:
        # Of this process alone: the processes that it forks must not hold the lock when it dies.
        fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        raise InvalidArgument(f"{path}: another process is at work on this output") from None
    return file
