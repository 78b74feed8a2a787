"""Operators make workers quiet, drain them and let them work again, by id, pool or host."""

from __future__ import annotations

import pytest

from tests.support.beats import beat
from tests.support.command_calls import call
from tests.support.command_documents import read_document

pytestmark = pytest.mark.django_db


def _list() -> list[dict[str, object]]:
    found = read_document("workers-list", call("workers", "list", "--json").out)
    workers: list[dict[str, object]] = found["workers"]
    return workers


def _changed(verb: str, *words: str) -> tuple[list[str], list[str]]:
    found = read_document(f"workers-{verb}", call("workers", verb, *words, "--json").out)
    return found["changed"], found["unchanged"]


def test_workers_are_made_quiet_drained_and_resumed():
    beat("w1@a:1-9f3c1a", quiet=False, host="alpha")
    beat("w2@a:2-77aa00", quiet=False, host="alpha")

    assert _changed("quiet", "9f3c1a") == (["w1@a:1-9f3c1a"], [])
    assert [one["state"] for one in _list()] == ["quiet", "live"]
    assert [one["settled"] for one in _list()] == [False, True]
    assert _changed("drain", "--host", "alpha", "--yes") == (["w1@a:1-9f3c1a", "w2@a:2-77aa00"], [])
    assert [one["state"] for one in _list()] == ["draining", "draining"]
    assert call("workers", "list").code == 1
    said = call("workers", "resume", "--pool", "default")
    assert said.out.count("takes work again") == 2
    assert "nothing to change" in call("workers", "resume", "9f3c1a").out
    assert call("workers", "list").code == 0


def test_a_drain_is_asked_for_and_other_words_are_wrong_use():
    beat("w1", quiet=False)

    assert call("workers", "drain", "w1").code == 2
    assert call("workers", "quiet").code == 2
    assert call("workers", "quiet", "w1", "--pool", "default").code == 2
    assert call("workers", "quiet", "w9").code == 3
    assert [one["state"] for one in _list()] == ["live"]
