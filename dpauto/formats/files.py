"""Opening files: gzip where the name says so, "-" for the standard streams, all or nothing.

Output is written beside its place and renamed when it is complete, so that a reader never meets
half a file and a failed run leaves the old one as it was.
"""

from __future__ import annotations

import errno
import gzip
import io
import os
import stat
import sys
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, BinaryIO, cast

from dpauto.errors import InvalidFile

__all__ = ["open_bytes", "open_text", "read_bytes", "suffix_of", "writing"]


def suffix_of(name: str) -> str:
    """Return the suffix of a file name in lower case, looking through ``.gz``.

    Examples
    --------
    >>> suffix_of("data/Edges.CSV.gz"), suffix_of("roads")
    ('.csv', '')
    """
    path = Path(name)
    return Path(path.stem).suffix.lower() if path.suffix.lower() == ".gz" else path.suffix.lower()


@contextmanager
def open_bytes(name: str) -> Iterator[BinaryIO]:
    """Open a file for reading bytes, "-" being standard input.

    Raises
    ------
    InvalidFile
        If a gzip file is damaged, also later while it is read.
    OSError
        If the file cannot be opened.
    """
    if name == "-":
        yield sys.stdin.buffer
        return
    if os.path.isdir(name):
        raise IsADirectoryError(errno.EISDIR, "a folder, not a file", name)
    try:
        with open(name, "rb") as raw:
            if name.lower().endswith(".gz"):
                with gzip.GzipFile(fileobj=raw) as unpacked:
                    yield cast(BinaryIO, unpacked)
            else:
                yield raw
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise InvalidFile(f"{name}: not a whole gzip file, though its name ends in .gz") from None


@contextmanager
def open_text(name: str) -> Iterator[IO[str]]:
    """Open a file for reading UTF-8 text (a byte order mark is skipped), line ends untouched.

    Raises
    ------
    InvalidFile
        If the file is not UTF-8 or a damaged gzip file, also later while it is read.
    OSError
        If the file cannot be opened.
    """
    with open_bytes(name) as raw:
        text = io.TextIOWrapper(raw, encoding="utf-8-sig", newline="")
        try:
            yield text
        except UnicodeDecodeError:
            raise InvalidFile(f"{name}: not UTF-8 text") from None
        finally:
            # Standard input stays open, and the file itself is closed by whoever opened it.
            with suppress(ValueError):
                text.detach()


def read_bytes(name: str) -> bytes:
    """Return the content of a file.

    Raises
    ------
    InvalidFile
        If it is empty.
    """
    with open_bytes(name) as raw:
        content = raw.read()
    if not content.strip():
        raise InvalidFile(f"{name}: the file is empty")
    return content


@contextmanager
def writing(name: str, *, beside: str | None = None) -> Iterator[BinaryIO]:
    """Open a file for writing bytes that appears under its name only when all went well.

    With "-" or a device the bytes go there directly. A name that ends in ``.gz`` is compressed,
    without a time stamp, so that equal content gives equal files.

    Parameters
    ----------
    name : str
    beside : str, optional
        File that holds the bytes until they are complete; by default one with a new random name.

    Raises
    ------
    OSError
        If the file cannot be written.
    """
    if name == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    # Through a symbolic link the file it points to is replaced, not the link.
    place = os.path.realpath(name)
    if os.path.exists(place) and not stat.S_ISREG(os.stat(place).st_mode):
        if os.path.isdir(place):
            raise IsADirectoryError(errno.EISDIR, "a folder, not a file", name)
        with open(place, "wb") as device:
            yield device
        return
    folder, base = os.path.split(place)
    try:
        if beside is None:
            handle, beside = tempfile.mkstemp(prefix=f".{base}.", suffix=".part", dir=folder)
        else:
            handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    except OSError as error:
        raise type(error)(error.errno, error.strerror, name) from None
    with ExitStack() as undo:
        undo.callback(_remove, beside)
        with os.fdopen(handle, "wb") as raw:
            if name.lower().endswith(".gz"):
                with gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0) as packed:
                    yield cast(BinaryIO, packed)
            else:
                yield raw
        os.chmod(beside, _mode(place))
        os.replace(beside, place)
        undo.pop_all()


def _remove(path: str) -> None:
    with suppress(OSError):
        os.unlink(path)


def _mode(place: str) -> int:
    """Return the permissions of the file that is replaced, or those that a new file gets."""
    if os.path.exists(place):
        return stat.S_IMODE(os.stat(place).st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
