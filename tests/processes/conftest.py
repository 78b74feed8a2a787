"""What the tests of processes share: a database that commits, and an end of all they start."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from pytest_django import Settings

from shared.conf import conf
from tests.support.processes import ALLOWED_NETWORKS, Processes, processes


@pytest.fixture(autouse=True)
def _loopback_may_be_called(settings: Settings) -> None:
    """Let this process create tasks that call the receiver, as its processes may do."""
    settings.PUNCTUAL = replace(conf(), webhook_allowed_networks=(ALLOWED_NETWORKS,))


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """Give a directory that processes of another account reach, whatever else root tests here.

    Those of pytest are in one that each session of root's closes to others again.
    """
    with TemporaryDirectory(prefix="punctual-processes-") as directory:
        yield Path(directory)


@pytest.fixture
def run(transactional_db: None, tmp_path: Path) -> Iterator[Processes]:
    """Start processes of Punctual; ended before the database is emptied."""
    with processes(tmp_path) as running:
        yield running
