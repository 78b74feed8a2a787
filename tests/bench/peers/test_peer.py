from __future__ import annotations

import pytest

from bench.installation import CHECKOUT
from bench.peers.peer import environment


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
