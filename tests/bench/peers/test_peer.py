from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.installation import CHECKOUT
from bench.peers.peer import Peer, environment
from bench.peers.plan import READY
from bench.processes import alive


class Lone(Peer):
    """A peer without servers, whose worker only waits."""

    name = "lone"

    def workers(self) -> dict[str, list[str]]:
        code = f"import signal; print({READY!r}, flush=True); signal.pause()"
        return {"worker": [sys.executable, "-c", code]}

    def scheduling(self) -> list[str]:
        return []

    def versions(self) -> dict[str, str]:
        return {}


@pytest.fixture
def lone(tmp_path: Path) -> Iterator[Lone]:
    peer = Lone()
    peer.start(tmp_path)
    yield peer
    peer.stop()


def test_a_peer_that_was_killed_starts_again_with_new_processes(lone: Lone):
    [before] = lone.kinds()

    lone.kill()

    assert alive([before]) == []
    assert lone.kinds() == {}
    lone.restart()

    [after] = lone.kinds()
    assert alive([after]) == [after]
    assert after != before


def test_a_worker_that_has_ended_is_not_signalled_again(
    lone: Lone, monkeypatch: pytest.MonkeyPatch
):
    lone.kill()
    signalled: list[int] = []
    monkeypatch.setattr(os, "killpg", lambda group, number: signalled.append(group))

    lone.stop()

    assert signalled == []


def test_programs_of_peers_do_not_find_an_installation(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("DJANGO_SETTINGS_MODULE", "scheduler_site.settings")
    monkeypatch.setenv("DATABASE_URL", "postgresql://elsewhere")
    monkeypatch.setenv("KEPT", "yes")

    found = environment({"PGHOST": "here"})

    assert "DJANGO_SETTINGS_MODULE" not in found
    assert "DATABASE_URL" not in found
    assert (found["KEPT"], found["PGHOST"]) == ("yes", "here")


def test_programs_of_peers_find_the_modules_of_this_checkout():
    assert environment({})["PYTHONPATH"] == str(CHECKOUT)


@pytest.mark.parametrize("name", ["PGPORT", "PGSSLMODE", "CELERY_BROKER_URL"])
def test_what_drivers_read_by_themselves_is_kept_from_them(
    monkeypatch: pytest.MonkeyPatch, name: str
):
    monkeypatch.setenv(name, "elsewhere")

    assert name not in environment({})


def test_what_a_peer_adds_comes_before_what_was_there(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("DATABASE_URL", "postgresql://elsewhere")

    assert environment({"DATABASE_URL": "postgresql://here"})["DATABASE_URL"].endswith("//here")
