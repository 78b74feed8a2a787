from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from launcher.spawning import Child, ProcessSpec, Spawner
from tests.support.ending import has_ended

TELLING = """
import json, os, sys
print(json.dumps({
    "arguments": sys.argv,
    "words": sys.orig_argv,
    "environment": dict(os.environ),
    "directory": os.getcwd(),
    "name": __name__,
    "path": sys.path[0],
    "group": os.getpgid(0) == os.getpid(),
    "nice": os.nice(0),
    "title": open("/proc/self/cmdline").read().rstrip("\\0"),
}))
sys.exit(7)
"""
WAITING = "import signal\nprint('here', flush=True)\nsignal.pause()\n"


@asynccontextmanager
async def spawner(**environment: str) -> AsyncIterator[Spawner]:
    made = Spawner({"PATH": os.defpath, **environment})
    try:
        yield made
    finally:
        made.close()


def script(directory: Path, text: str) -> Path:
    path = directory / "script.py"
    path.write_text(text)
    return path


def forked(path: Path, *arguments: str, niceness: int = 0, **environment: str) -> ProcessSpec:
    argv = (sys.executable, str(path), *arguments)
    return ProcessSpec("fake", "fake-1", argv, environment, niceness=niceness, forked=True)


async def begin(made: Spawner, spec: ProcessSpec) -> tuple[Child, asyncio.StreamReader]:
    readable, writable = os.pipe()
    try:
        child = await made.spawn(spec, writable, writable)
    finally:
        os.close(writable)
    output = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(output), os.fdopen(readable, "rb")
    )
    return child, output


async def test_a_forked_script_is_as_if_it_had_been_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    async with spawner(OF_THE_SERVER="1") as made:
        spec = forked(script(tmp_path, TELLING), "a", "b", niceness=3, OWN="2")
        child, output = await begin(made, spec)
        said = json.loads(await output.read())
        code = await child.wait()

    assert code == 7
    assert said == {
        "arguments": [str(tmp_path / "script.py"), "a", "b"],
        "words": [sys.executable, str(tmp_path / "script.py"), "a", "b"],
        "environment": {"OWN": "2"},
        "directory": str(tmp_path),
        "name": "__main__",
        "path": str(tmp_path),
        "group": True,
        "nice": os.nice(0) + 3,
        "title": "punctual: fake-1",
    }


async def test_an_error_of_a_forked_script_is_told_and_ends_it(tmp_path: Path) -> None:
    async with spawner() as made:
        child, output = await begin(made, forked(script(tmp_path, "raise ValueError('oh')")))
        said = (await output.read()).decode()
        code = await child.wait()

    assert said.endswith("ValueError: oh\n")
    assert code == 1


async def test_a_signal_that_ends_a_forked_process_is_its_code(tmp_path: Path) -> None:
    async with spawner() as made:
        child, output = await begin(made, forked(script(tmp_path, WAITING)))
        await output.readline()
        os.kill(child.pid, signal.SIGTERM)
        code = await child.wait()
        await output.read()

    assert code == -signal.SIGTERM


async def test_the_end_of_one_forked_process_is_not_that_of_another(tmp_path: Path) -> None:
    async with spawner() as made:
        first, words = await begin(made, forked(script(tmp_path, WAITING)))
        second, others = await begin(made, forked(script(tmp_path, WAITING)))
        await asyncio.gather(words.readline(), others.readline())
        os.kill(first.pid, signal.SIGKILL)

        assert await first.wait() == -signal.SIGKILL
        assert not has_ended(second.pid, timeout=0.0)
    assert await second.wait() == -signal.SIGKILL
    assert await words.read() == await others.read() == b""


async def test_what_was_forked_dies_with_the_fork_server_and_the_next_has_another(
    tmp_path: Path,
) -> None:
    async with spawner() as made:
        path = script(tmp_path, WAITING)
        child, output = await begin(made, forked(path))
        await output.readline()
        server = _parent(child.pid)
        os.kill(server, signal.SIGKILL)

        assert await child.wait() == -signal.SIGKILL
        assert await output.read() == b""  # closed by its end
        other, words = await begin(made, forked(path))
        assert await words.readline() == b"here\n"
        assert _parent(other.pid) not in (server, os.getpid())
    assert await other.wait() == -signal.SIGKILL
    assert await words.read() == b""


FAILING_ONCE = """
import os
fork = os.fork
def refuse():
    os.fork = fork
    raise BlockingIOError("no process is left")
os.fork = refuse
"""


async def test_a_fork_that_fails_is_an_error_and_ends_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(FAILING_ONCE)
    async with spawner(PYTHONPATH=str(tmp_path)) as made:
        spec = forked(script(tmp_path, WAITING))
        with pytest.raises(ChildProcessError):
            await made.spawn(spec, 1, 2)
        child, output = await begin(made, spec)
        server = _parent(child.pid)
        other, words = await begin(made, spec)

        assert await output.readline() == await words.readline() == b"here\n"
        assert _parent(other.pid) == server
    assert await child.wait() == await other.wait() == -signal.SIGKILL
    assert await output.read() == await words.read() == b""


async def test_a_closed_spawner_leaves_nothing_behind(tmp_path: Path) -> None:
    async with spawner() as made:
        child, output = await begin(made, forked(script(tmp_path, WAITING)))
        await output.readline()

    assert await child.wait() == -signal.SIGKILL
    assert await output.read() == b""


def _parent(pid: int) -> int:
    status = Path(f"/proc/{pid}/stat").read_text()
    return int(status.rpartition(")")[2].split()[1])


async def test_what_the_fork_server_writes_itself_is_logged(tmp_path: Path):
    lines: list[tuple[str, str]] = []
    heard = asyncio.Event()
    loop = asyncio.get_running_loop()

    def log(name: str, line: str) -> None:
        lines.append((name, line))
        loop.call_soon_threadsafe(heard.set)

    made = Spawner({"PATH": os.defpath, "PYTHONVERBOSE": "1"}, log)
    try:
        made.start()
        async with asyncio.timeout(60):
            await heard.wait()
    finally:
        made.close()

    assert {name for name, _ in lines} == {"fork-server"}
