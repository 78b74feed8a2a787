from __future__ import annotations

import json

import pytest

from tasks.definition import from_stored, to_long, to_stored
from tests.tasks.bodies import LONG, MINIMAL, ONCE, SHORT, create


@pytest.mark.parametrize("body", [LONG, SHORT, MINIMAL, ONCE])
def test_a_definition_comes_back_from_storage_as_it_was(body):
    definition = create(body)

    assert from_stored(json.loads(json.dumps(to_stored(definition)))) == definition


def test_what_is_stored_shares_nothing_with_the_definition():
    definition = create(LONG)
    stored = to_stored(definition)

    stored["target"]["headers"]["X-Late"] = "1"

    assert definition.target["headers"] == {"X-Team": "billing"}


def test_a_key_that_an_older_version_did_not_store_reads_as_its_default():
    stored = to_stored(create(LONG))
    del stored["target"]["follow_redirects"], stored["schedule"]["calendars"], stored["labels"]

    definition = from_stored(stored)

    assert definition.target["follow_redirects"] is False
    assert definition.schedule["calendars"] == []
    assert definition.labels == {}


def test_the_long_form_leaves_out_the_alternatives_that_are_not_used():
    cron, once = to_long(create(MINIMAL)), to_long(create(ONCE))
    every = to_long(create(MINIMAL | {"schedule": {"every": "PT5M"}}))

    assert "every" not in cron["schedule"]
    assert "cron_expression" not in every["schedule"]
    assert "cron_expression" not in once["schedule"]
    assert "delays_seconds" not in cron["retry_policy"]


def test_listed_delays_are_answered():
    policy = {"backoff": "listed", "delays_seconds": [1, 2.5]}

    long = to_long(create(MINIMAL | {"retry_policy": policy}))

    assert long["retry_policy"]["delays_seconds"] == [1, 2.5]
