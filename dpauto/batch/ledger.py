"""How much epsilon each data subject has spent, over all runs: an SQLite file.

A release is charged before it is made, in one transaction with the check that the subject can
afford it. So a run that dies may have charged for releases that nobody saw, and never the other way
round. Sums are exact: epsilon is kept as the text of a fraction.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from fractions import Fraction
from types import TracebackType
from typing import Self

from dpauto.errors import InvalidFile
from dpauto.privacy import Epsilon, parse_epsilon

__all__ = ["Ledger"]

VERSION = 1

#: Seconds to wait for another process that is writing.
PATIENCE = 600

_SCHEMA = (
    """CREATE TABLE IF NOT EXISTS spent (
        subject TEXT PRIMARY KEY,
        epsilon TEXT NOT NULL
    ) WITHOUT ROWID""",
    """CREATE TABLE IF NOT EXISTS charges (
        id INTEGER PRIMARY KEY,
        run BLOB NOT NULL,
        subject TEXT NOT NULL,
        epsilon TEXT NOT NULL,
        release BLOB UNIQUE
    )""",
    "CREATE INDEX IF NOT EXISTS charges_of_run ON charges (run)",
)


class Ledger:
    """A book of what data subjects have spent; refuses what is beyond their budget.

    The file names the subjects: keep it as safe as the table it is about. Several processes may
    use it at a time.

    Parameters
    ----------
    path : str
        An SQLite file, created when there is none.
    budget : int, float, Fraction or str
        What each subject may spend in all, over everything that was ever charged to this file.

    Raises
    ------
    InvalidArgument
        If `budget` is not positive.
    InvalidFile
        If the file is no ledger.

    Examples
    --------
    >>> with Ledger(":memory:", budget=1) as ledger:
    ...     ledger.charge(["ann", "ann", "bob"], "0.6")
    ...     ledger.spent("ann")
    [True, False, True]
    Fraction(3, 5)
    """

    def __init__(self, path: str, *, budget: Epsilon) -> None:
        self.path = path
        self.budget = parse_epsilon(budget, name="budget")
        self._run = os.urandom(16)
        try:
            self._base = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None)
            with self._transaction():
                (version,) = self._base.execute("PRAGMA user_version").fetchone()
                tables = self._base.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
                if version != VERSION and (version or tables):
                    raise InvalidFile(f"{path}: not a ledger of this version")
                for statement in _SCHEMA:
                    self._base.execute(statement)
                self._base.execute(f"PRAGMA user_version = {VERSION}")
        except sqlite3.DatabaseError as error:
            raise InvalidFile(f"{path}: not a ledger that can be opened ({error})") from None

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """Do all or nothing, with no other writer in between."""
        self._base.execute("BEGIN IMMEDIATE")
        # The connection commits, or rolls back what failed.
        with self._base:
            yield

    def spent(self, subject: str) -> Fraction:
        """Return what a subject has spent."""
        row = self._base.execute(
            "SELECT epsilon FROM spent WHERE subject = ?", (subject,)
        ).fetchone()
        return Fraction(row[0]) if row else Fraction(0)

    def charge(
        self,
        subjects: Sequence[str],
        epsilon: Epsilon,
        releases: Sequence[bytes] | None = None,
    ) -> list[bool]:
        """Charge releases to their subjects, each as far as the budget allows.

        Parameters
        ----------
        subjects : sequence of str
            The subject of each release.
        epsilon : int, float, Fraction or str
            What each release spends.
        releases : sequence of bytes, optional
            What identifies each release: one that was charged before costs nothing. Without, every
            release counts.

        Returns
        -------
        list of bool
            Whether each release may be made.
        """
        price = parse_epsilon(epsilon)
        known: Sequence[bytes | None] = releases or [None] * len(subjects)
        allowed = []
        with self._transaction():
            for subject, release in zip(subjects, known, strict=True):
                if release is not None and self._charged(release):
                    allowed.append(True)
                    continue
                total = self.spent(subject) + price
                allowed.append(total <= self.budget)
                if allowed[-1]:
                    self._set(subject, total)
                    self._base.execute(
                        "INSERT INTO charges (run, subject, epsilon, release) VALUES (?, ?, ?, ?)",
                        (self._run, subject, str(price), release),
                    )
        return allowed

    def _charged(self, release: bytes) -> bool:
        found = self._base.execute("SELECT 1 FROM charges WHERE release = ?", (release,))
        return found.fetchone() is not None

    def _set(self, subject: str, total: Fraction) -> None:
        self._base.execute(
            "INSERT INTO spent VALUES (?, ?)"
            " ON CONFLICT (subject) DO UPDATE SET epsilon = excluded.epsilon",
            (subject, str(total)),
        )

    @contextmanager
    def all_or_nothing(self) -> Iterator[None]:
        """Give back what was charged inside when it fails and none of its releases came out.

        Identified releases stay charged: another process may have relied on them, and asked for
        again they cost nothing.
        """
        with ExitStack() as undo:
            undo.callback(self._give_back)
            yield
            undo.pop_all()

    def _give_back(self) -> None:
        with self._transaction():
            rows = self._base.execute(
                "SELECT subject, epsilon FROM charges WHERE run = ? AND release IS NULL",
                (self._run,),
            ).fetchall()
            for subject, price in rows:
                self._set(subject, self.spent(subject) - Fraction(price))
            self._base.execute(
                "DELETE FROM charges WHERE run = ? AND release IS NULL", (self._run,)
            )

    def close(self) -> None:
        """Close the file."""
        self._base.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
