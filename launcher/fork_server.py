"""The program that has loaded the libraries and forks the product's processes, which share them.

``manage.py up`` starts it first and asks it over a socket for each process (``spawning``). It reads
no setting, makes no connection and has one thread, so a forked process is as good as a new one: it
gets its own environment, directory and output, and runs its script from the first line. The
libraries are nine tenths of what a process loads; forked, all processes have them once.
"""

from __future__ import annotations

import gc
import importlib
import os
import runpy
import select
import signal
import socket
import struct
import sys
from dataclasses import dataclass
from typing import Any, NoReturn

import orjson
from setproctitle import setproctitle

from worker.children import die_with_parent

#: Libraries that several kinds of process load, without the settings. A process loads any other
#: library itself.
LIBRARIES = tuple(
    "celery.apps.beat celery.apps.worker celery.bin.beat celery.bin.celery celery.bin.worker"
    " celery.concurrency.thread celery.fixups.django celery.worker.components"
    " celery.worker.consumer celery.backends.base kombu.transport.redis channels.auth"
    " channels.generic.websocket channels.routing channels.security.websocket croniter cronsim"
    " cryptography.fernet cryptography.hazmat.primitives.ciphers.aead"
    " django.contrib.postgres.fields django.contrib.staticfiles.finders"
    " django.core.handlers.asgi django.core.management"
    " django.db.backends.postgresql.base django.db.migrations.executor django.db.models"
    " django.forms django.http django.middleware.csrf django.template.backends.django"
    " django.views httptools orjson psycopg_pool re2 redis.asyncio structlog uvicorn"
    " uvicorn.protocols.http.httptools_impl uvloop websockets whitenoise.middleware".split()
)
#: Descriptors: standard output, standard error, and the pipe for the server's reports.
PASSED = 3
#: The length of the request.
HEADER = struct.Struct("!I")


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A requested process: the content of the request, and the descriptors sent with it."""

    said: dict[str, Any]
    descriptors: list[int]


def main() -> None:
    """Load, then serve fork requests on the socket whose descriptor is the argument."""
    control = socket.socket(fileno=int(sys.argv[1]))
    setproctitle("punctual: fork server")
    for library in LIBRARIES:
        importlib.import_module(library)
    # Collections do not write to frozen objects, so their memory stays shared.
    gc.collect()
    gc.freeze()
    _Server(control).run_until_forked()


class _Server:
    """Forks processes; reports the pid of each, and at its end the exit code."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._heard, self._woken = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._reports: dict[int, int] = {}
        signal.set_wakeup_fd(self._woken, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)

    def run_until_forked(self) -> None:
        """Serve; in a process that was forked, run its script and end as that ends."""
        sources: list[Any] = [self._control, self._heard]
        while True:
            readable, _, _ = select.select(sources, [], [])
            if self._heard in readable:
                os.read(self._heard, 4096)
                self._reap()
            if self._control in readable:
                self._fork(self._receive())

    def _fork(self, wanted: _Wanted) -> None:
        server = os.getpid()
        try:
            pid = os.fork()
        except OSError as error:
            # The supervisor sees the closed pipe and tries again; other processes continue.
            sys.stderr.write(f"{wanted.said['name']} cannot be forked: {error}\n")
            for descriptor in wanted.descriptors:
                os.close(descriptor)
            return
        if pid == 0:
            self._leave()
            _become(wanted, server)
        self._begun(pid, wanted)

    def _receive(self) -> _Wanted:
        """Return the next request; exit once the supervisor has closed the socket."""
        head, descriptors, _, _ = socket.recv_fds(self._control, HEADER.size, PASSED)
        if not head:
            sys.exit(0)
        said = b""
        [length] = HEADER.unpack(head)
        while len(said) < length:
            part = self._control.recv(length - len(said))
            if not part:
                sys.exit(0)
            said += part
        return _Wanted(orjson.loads(said), descriptors)

    def _begun(self, pid: int, wanted: _Wanted) -> None:
        output, errors, report = wanted.descriptors
        os.close(output)
        os.close(errors)
        self._reports[pid] = report
        _say(report, pid)

    def _reap(self) -> None:
        while self._reports:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            report = self._reports.pop(pid)
            _say(report, os.waitstatus_to_exitcode(status))
            os.close(report)

    def _leave(self) -> None:
        """Give up, in a new process, the server's descriptors and signal handlers."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        self._control.close()
        for descriptor in (self._heard, self._woken, *self._reports.values()):
            os.close(descriptor)


def _say(report: int, number: int) -> None:
    try:
        os.write(report, b"%d\n" % number)
    except BrokenPipeError:
        # The supervisor has gone, and this server goes with it.
        return


def _become(wanted: _Wanted, server: int) -> NoReturn:
    """Run the script of the request as if this process had been started with it."""
    said = wanted.said
    output, errors, report = wanted.descriptors
    os.close(report)
    os.setpgid(0, 0)
    die_with_parent(server)
    for descriptor, place in ((output, 1), (errors, 2)):
        os.dup2(descriptor, place)
        os.close(descriptor)
    os.nice(said["niceness"])
    os.environ.clear()
    os.environ.update(said["environment"])
    os.chdir(said["directory"])
    setproctitle(f"punctual: {said['name']}")
    # The first word is the interpreter, which this process is already.
    sys.orig_argv, sys.argv = list(said["argv"]), said["argv"][1:]
    sys.path[0] = os.path.dirname(sys.argv[0])
    runpy.run_path(sys.argv[0], run_name="__main__")
    sys.exit(0)


if __name__ == "__main__":
    main()
