from __future__ import annotations

from dataclasses import replace

import pytest

from tasks import definition_changes
from tests.tasks.bodies import LONG, MINIMAL, create

BASE = create(LONG)
SECRET = "s3cret-value"


def changes_of(before, after, context="task 2"):
    return definition_changes.changes_of(before, after, context)


def with_target(**parts):
    return replace(BASE, target={**BASE.target, **parts})


def test_nothing_is_kept_of_what_stays():
    assert changes_of(BASE, BASE) == ({}, {})


def test_a_changed_address_is_shown():
    before, after = changes_of(
        with_target(url="https://a.example/in"), with_target(url="https://b.example/in")
    )

    assert before["#/target/url"].startswith("https://a.example (fingerprint:")
    assert after["#/target/url"].startswith("https://b.example (fingerprint:")


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        (f"https://a.example/in?token={SECRET}", "https://a.example "),
        (f"https://a.example/{SECRET}", "https://a.example "),
        # No task has it; what is no address has no origin.
        (f"https://u:{SECRET}@a.example/in", ""),
    ],
)
def test_what_may_be_secret_in_an_address_is_a_fingerprint(url, origin):
    before, after = changes_of(with_target(url="https://a.example/in"), with_target(url=url))

    assert before["#/target/url"].startswith("https://a.example (fingerprint:")
    assert "fingerprint:" in after["#/target/url"]
    assert after["#/target/url"].startswith(origin)
    assert before["#/target/url"] != after["#/target/url"]
    assert SECRET not in str(after)


@pytest.mark.parametrize(
    "changed",
    [
        replace(BASE, payload={"card": SECRET}),
        replace(BASE, payload=None, payload_ref=f"https://a.example/x?sig={SECRET}"),
        with_target(headers={"X-Api-Key": SECRET}),
        with_target(auth={"type": "bearer", "token": SECRET}),
        with_target(proxy={"url": f"http://u:{SECRET}@proxy.example:1/", "password": SECRET}),
        with_target(tls={"client_key": SECRET}),
        with_target(environment={"TOKEN": SECRET}),
        with_target(arguments=["--password", SECRET]),
        with_target(steps=[{"payload": SECRET}]),
    ],
)
def test_no_secret_and_no_payload_is_kept_though_the_change_is_seen(changed):
    for one, other in ((BASE, changed), (changed, BASE)):
        before, after = changes_of(one, other)
        assert before != after
        assert SECRET not in str((before, after))


def test_two_secrets_have_two_fingerprints():
    before, after = changes_of(
        with_target(headers={"X-Api-Key": "one"}), with_target(headers={"X-Api-Key": "two"})
    )

    [was], [now] = before.values(), after.values()
    assert was != now
    assert was.startswith("fingerprint:")


def test_a_fingerprint_says_nothing_in_another_entry_or_at_another_place():
    edit = with_target(headers={}), with_target(headers={"X-Api-Key": SECRET, "X-Other": SECRET})

    found = [
        value
        for context in ("task 2", "task 3")
        for value in changes_of(*edit, context)[1].values()
    ]

    assert len(found) == len(set(found)) == 4


def test_another_kind_of_target_shows_what_came_and_went():
    before, after = changes_of(
        create(MINIMAL), replace(BASE, target={"kind": "pool", "pool": "etl"})
    )

    assert before["#/target/kind"] == "webhook"
    assert after["#/target/kind"] == "pool"
    assert after["#/target/pool"] == "etl"


def test_a_definition_with_very_many_changes_is_cut():
    many = {f"X-{number}": "v" for number in range(500)}

    edited = with_target(headers=many, url="https://b.example/in", completion="callback")
    _, after = changes_of(with_target(headers={}), edited)

    assert len(after) == 101
    assert after["#/further_changes"] == 402
    assert after["#/target/url"].startswith("https://b.example (fingerprint:")
    assert after["#/target/completion"] == "callback"
