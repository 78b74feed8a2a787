"""The programs of a peer: workers that run beside the report, and scripts that it waits for."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from bench.installation import CHECKOUT, stop
from bench.peers.contender import CouldNotRunError
from launcher.spawning import ProcessSpec, spawn_options

START_SECONDS = 60.0
SCRIPT_SECONDS = 600.0
_STOP_SECONDS = 20.0
_LOOK_SECONDS = 0.05
_TAIL = 2000


class Worker:
    """A process that runs until it is stopped; its output goes to a file."""

    def __init__(
        self, command: Sequence[str], environment: dict[str, str], log: Path, **options: Any
    ) -> None:
        self._log = log
        self._stopped = False
        spec = ProcessSpec("peer", log.stem, tuple(command), environment)
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                spec.argv,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=CHECKOUT,
                **{**spawn_options(spec), **options},
            )

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def wait_for(self, text: str, seconds: float = START_SECONDS) -> None:
        """Return when its output holds the text; CouldNotRunError when it ends or takes longer."""
        pause = threading.Event()
        deadline = time.monotonic() + seconds
        while text not in self._output():
            ended = self._process.poll()
            if ended is not None or time.monotonic() > deadline:
                how = "is still silent" if ended is None else f"ended with {ended}"
                raise CouldNotRunError(f"{self._log.stem} {how}: {self._output()[-_TAIL:]}")
            pause.wait(_LOOK_SECONDS)

    def tell(self, line: str) -> None:
        """Write a line to its standard input, which has to be a pipe."""
        if self._process.stdin is None:
            raise CouldNotRunError(f"{self._log.stem} has no standard input")
        with suppress(BrokenPipeError):  # the wait for its answer tells why it ended
            self._process.stdin.write(f"{line}\n".encode())
            self._process.stdin.flush()

    def stop(self) -> None:
        """End it by SIGTERM, after a while by SIGKILL; its children end with it."""
        if self._stopped:
            # Its id may be that of another process by now.
            return
        self._stopped = True
        stop(self._process, _STOP_SECONDS)
        # A killed worker leaves the processes of its pool behind, in the group that it led.
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        if self._process.stdin is not None:
            with suppress(BrokenPipeError):
                self._process.stdin.close()

    def _output(self) -> str:
        return self._log.read_text(encoding="utf-8", errors="replace")


def run_script(command: Sequence[str], environment: dict[str, str], said: str = "") -> None:
    """Run a program to its end; CouldNotRunError with what it said when it fails."""
    try:
        done = subprocess.run(
            command,
            cwd=CHECKOUT,
            env=environment,
            input=said,
            capture_output=True,
            text=True,
            timeout=SCRIPT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CouldNotRunError(f"{command[0]}: {error}") from error
    if done.returncode != 0:
        raise CouldNotRunError(
            f"{' '.join(command)} failed: {(done.stdout + done.stderr)[-_TAIL:]}"
        )
