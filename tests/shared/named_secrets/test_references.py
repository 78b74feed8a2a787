"""Where references stand, and that a value is inserted once."""

from __future__ import annotations

import pytest

from shared.named_secrets import references

TARGET = {
    "kind": "webhook",
    "url": "https://api.example.com/{{ secrets.never }}",
    "auth": {"type": "bearer", "token": "{{ secrets.token }}"},
    "headers": {"X-Key": "{{secrets.key}}", "X-Other": "{{ labels.team }} {{ secrets.token }}"},
}


def test_the_names_of_a_target_are_those_in_auth_headers_and_environment():
    assert references.names_of(TARGET) == ["key", "token"]
    command = {"kind": "command", "environment": {"A": "{{ secrets.a }}"}, "arguments": []}
    assert references.names_of(command) == ["a"]
    assert references.names_of({"kind": "handler", "handler": "x"}) == []


@pytest.mark.parametrize("name", ["a", "billing-token", "k9_x", "a" * 63])
def test_a_name_is_lower_case_and_begins_with_a_letter(name):
    assert references.is_name(name)


@pytest.mark.parametrize("name", ["", "A", "9a", "-a", "a.b", "a b", "ä", "a" * 64, "a\n"])
def test_other_names_are_none(name):
    assert not references.is_name(name)


def test_a_value_that_looks_like_a_reference_is_not_read_again():
    values = {"a": "{{ secrets.b }}", "b": "never"}

    assert references.fill("x {{ secrets.a }}", values.__getitem__) == "x {{ secrets.b }}"


def test_other_templates_stay():
    assert references.fill("{{ attempt }} {{ secrets.a }}", lambda name: "v") == "{{ attempt }} v"


def test_a_text_is_split_at_its_references_only():
    parts = references.split("Bearer {{ secrets.a }}{{ attempt }}")

    assert parts == ["Bearer ", {"secret": "a"}, "{{ attempt }}"]
    assert references.split("{{ attempt }}") == "{{ attempt }}"


def test_a_part_that_looks_like_a_reference_gets_no_value():
    parts: references.Parts = ["{{ secrets.b }}", {"secret": "a"}, ""]

    assert references.joined(parts, lambda name: f"<{name}>") == "{{ secrets.b }}<a>"


@pytest.mark.parametrize("text", ["{{ secrets.a }}", "Bearer {{ secrets.a }}", "{{secrets.a}} "])
def test_a_reference_with_the_name_of_a_scheme_may_be_shown(text):
    assert references.shows_no_secret(text)


@pytest.mark.parametrize("text", ["", "hunter2", "hunter2{{ secrets.a }}", "{{ attempt }}"])
def test_a_text_with_anything_else_may_not(text):
    assert not references.shows_no_secret(text)
