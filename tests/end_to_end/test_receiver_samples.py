"""Each sample of docs/examples/receivers takes what is genuine, once, and refuses the rest."""

from __future__ import annotations

import os
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import pytest

from tenants.signing import new_signing_secret
from tests.delivery.hostile.ground import Ending, Worker
from tests.support.languages import COMMANDS, is_installed, is_required
from tests.support.waiting import until

SAMPLES = Path("docs/examples/receivers")
MAX_LINES = 100


@dataclass(frozen=True)
class Sample:
    port: int
    secret: str
    output: Path

    async def gets(
        self, *secrets: str, execution: str | None = None, at: float | None = None
    ) -> Ending:
        """Deliver to it as a worker does, signed with the secrets."""
        worker = Worker(ssl.create_default_context(), secrets or [self.secret])
        target = {"url": f"http://127.0.0.1:{self.port}/hook", "timeout_seconds": 20}
        try:
            return await worker.deliver(target, {"n": "é"}, execution=execution, at=at)
        finally:
            await worker.close()

    def worked_on(self, execution: str) -> int:
        return self.output.read_text(errors="replace").count(f"work for {execution}")


@pytest.fixture(scope="module", params=COMMANDS)
def sample(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Sample]:
    language = request.param
    if not is_installed(language):
        if is_required(language):
            pytest.fail(f"{COMMANDS[language][0]} is not installed")
        pytest.skip(f"{COMMANDS[language][0]} is not installed; .ci/languages may install it")
    folder, secret, port = tmp_path_factory.mktemp(language), new_signing_secret(), _free_port()
    output = folder / "output"
    with output.open("wb") as stream:
        process = subprocess.Popen(
            [word.replace("PORT", str(port)) for word in COMMANDS[language]],
            cwd=SAMPLES / language,
            env={
                **os.environ,
                "WEBHOOK_SECRET": secret,
                "PORT": str(port),
                "SEEN_FILE": str(folder / "seen.json"),
            },
            stdout=stream,
            stderr=subprocess.STDOUT,
        )
        try:
            until(lambda: process.poll() is not None or _listens(port))
            assert process.poll() is None, output.read_text()
            yield Sample(port, secret, output)
        finally:
            process.kill()
            process.wait()


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def _listens(port: int) -> bool:
    with socket.socket() as caller:
        return caller.connect_ex(("127.0.0.1", port)) == 0


async def test_a_signed_delivery_is_worked_on_once_however_often_it_comes(sample: Sample) -> None:
    execution = str(uuid4())

    first, again = await sample.gets(execution=execution), await sample.gets(execution=execution)

    assert (first.verb, first.status) == ("succeeded", 200)
    assert (again.verb, again.status) == ("succeeded", 200)
    assert until(lambda: sample.worked_on(execution)) == 1


async def test_a_wrong_signature_is_refused_for_good(sample: Sample) -> None:
    execution = str(uuid4())

    ending = await sample.gets(new_signing_secret(), execution=execution)

    assert (ending.verb, ending.status, sample.worked_on(execution)) == ("failed", 401, 0)


@pytest.mark.parametrize("seconds", [-1000, 1000])
async def test_a_timestamp_that_is_far_from_now_is_refused(sample: Sample, seconds: int) -> None:
    execution = str(uuid4())

    ending = await sample.gets(execution=execution, at=time.time() + seconds)

    assert (ending.status, sample.worked_on(execution)) == (401, 0)


@pytest.mark.parametrize("position", [0, 1])
async def test_one_of_two_signatures_is_enough_during_a_rotation(
    sample: Sample, position: int
) -> None:
    secrets = [new_signing_secret()]
    secrets.insert(position, sample.secret)

    assert (await sample.gets(*secrets)).status == 200


async def test_what_was_refused_can_still_be_delivered(sample: Sample) -> None:
    execution = str(uuid4())

    refused = await sample.gets(new_signing_secret(), execution=execution)
    taken = await sample.gets(execution=execution)

    assert (refused.status, taken.status) == (401, 200)


def test_each_sample_is_short_enough_to_be_read() -> None:
    for language in COMMANDS:
        (found,) = (SAMPLES / language).iterdir()
        assert len(found.read_text(encoding="utf-8").splitlines()) <= MAX_LINES
