"""Targets in words: each kind says what is called, on which terms, and no secret."""

from __future__ import annotations

import pytest

from dashboard.target_words import describe_target
from tasks.definition import TARGET_DEFAULTS
from tests.tasks.bodies import AUTHS, COMMAND, HANDLER, POOL, TARGETS, WEBHOOK


@pytest.mark.parametrize("kind", [*TARGETS])
def test_no_secret_is_among_the_words(kind):
    words = describe_target(TARGETS[kind], "api.example.com")

    assert "s3cret" not in str(words)
    assert words.name
    assert words.kind


def test_a_webhook_says_how_it_is_called():
    words = describe_target(WEBHOOK, "api.example.com")

    facts = dict(words.facts)
    assert (words.verb, words.place) == ("PUT", ("destination", "api.example.com"))
    assert facts["Authenticates with"] == "a user name and password"
    assert facts["Success"].startswith("status 200, 202; header X-Done matches")
    assert facts["Longest run"] == "2 h"
    assert "given up after 1 m" in facts["Long job"]


@pytest.mark.parametrize("auth", [*AUTHS.values()], ids=lambda auth: auth["type"])
def test_every_kind_of_authentication_has_its_words(auth):
    words = describe_target({**TARGET_DEFAULTS, "auth": auth})

    assert dict(words.facts)["Authenticates with"]


def test_what_is_as_usual_is_not_said():
    words = describe_target({**TARGET_DEFAULTS, "url": "https://api.example.com/"})

    assert [label for label, _ in words.facts] == ["Time limit", "Success"]
    assert words.place is None


def test_other_targets_say_who_runs_what():
    pool, handler, command = (describe_target(one) for one in (POOL, HANDLER, COMMAND))

    assert (pool.name, pool.place) == ("generate_invoices", ("pool", "batch-etl"))
    assert dict(pool.facts)["Only workers with"] == "gpu=yes"
    assert (handler.kind, handler.name) == ("handler in Python", "reports.daily")
    assert command.name == "backup --full ''"
    assert dict(command.facts)["Environment"] == "TOKEN, MODE"
    assert dict(command.facts)["Success"] == "exit code 0, 3"


def test_arguments_are_told_apart():
    words = describe_target({**COMMAND, "arguments": ["a b", "x\u202ey", "--flag"]})

    assert words.name == "backup 'a b' 'x\\u202ey' --flag"
