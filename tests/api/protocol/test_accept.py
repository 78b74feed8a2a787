from __future__ import annotations

import pytest

from api.protocol.accept import accepts, best, names, not_acceptable

JSON, YAML = "application/json", "application/yaml"


@pytest.mark.parametrize(
    ("accept", "allowed"),
    [
        ("", True),
        ("*/*", True),
        ("application/*", True),
        ("application/json", True),
        ("text/html, application/json;q=0.1", True),
        ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", True),
        ("Application/JSON; charset=utf-8", True),
        ("text/html", False),
        ("application/xml, text/*", False),
        ("application/json;q=0", False),
        ("application/json;q=0, */*", False),
        ("*/*;q=0, application/json", True),
        ("application/*;q=0, */*", False),
        ("application/json; q=0.000", False),
        ("application/json; Q=0", False),
        ("application/json;q=often", True),
        (";;;,,,", False),
    ],
)
def test_only_callers_that_rule_a_type_out_are_not_served(accept: str, allowed: bool):
    assert accepts(accept, JSON) is allowed


@pytest.mark.parametrize(
    ("accept", "preferred"),
    [
        ("", JSON),
        ("*/*", JSON),
        ("application/json, application/yaml", JSON),
        ("application/json;q=0.1, application/yaml", YAML),
        ("application/yaml;q=0.2, */*;q=0.1", YAML),
        ("application/yaml, text/plain, */*", YAML),
        ("application/json;q=0, */*", YAML),
        ("application/*;q=0.5, application/yaml;q=0.4", JSON),
        ("text/html", None),
    ],
)
def test_the_type_that_the_caller_prefers_is_chosen(accept: str, preferred: str | None):
    assert best(accept, [JSON, YAML]) == preferred


@pytest.mark.parametrize(
    ("header", "allowed"),
    [
        ("gzip", True),
        ("br, gzip;q=0.5", True),
        ("*", True),
        ("gzip;q=0, *", False),
        ("identity", False),
        ("x-gzip", False),
    ],
)
def test_encodings_are_accepted_like_types(header: str, allowed: bool):
    assert accepts(header, "gzip") is allowed


def test_a_header_names_only_what_it_says_and_does_not_rule_out():
    assert names("text/html, Application/JSON", JSON)
    assert not names("*/*", JSON)
    assert not names("application/json;q=0", JSON)


def test_the_refusal_names_all_that_is_offered():
    refusal = not_acceptable([JSON, YAML])

    assert refusal.status == 406
    assert f"{JSON} or {YAML}" in refusal.message
    assert [error.pointer for error in refusal.errors] == ["Accept"]
