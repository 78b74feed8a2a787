from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared import templates
from shared.addresses import AllowList, parse_target_url

VALUES = {"attempt": "2", "task.name": "Daily {{ attempt }}", "labels.team": "a b/c?d#e&f=@:%"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("run {{ attempt }} of {{attempt}}", "run 2 of 2"),
        ("{{ task.name }}", "Daily {{ attempt }}"),
        ("[{{ labels.absent }}{{ last_success_at }}]", "[]"),
        ("{ attempt } {{ a {{ attempt }} }}", "{ attempt } {{ a 2 }}"),
        ("{{ attempt", "{{ attempt"),
        ("{{\tattempt\t}}", "2"),
        ("{{ attempt + 1 }} {{ ''.__class__ }}", " "),
    ],
)
def test_names_are_replaced_once_and_nothing_is_evaluated(text: str, expected: str):
    assert templates.render(text, VALUES) == expected


@pytest.mark.parametrize(
    ("value", "unknown"),
    [
        ("{{ scheduled_for }} {{ last_success_at }} {{ labels.any-key }}", []),
        ("{{ now }} {{ now }} {{ labels. }} {{ }}", ["now", "labels.", ""]),
        ({"a": ["{{ x }}", 1, None], "{{ key }}": {"b": "{{ task.owner }}"}}, ["x", "task.owner"]),
        (7, []),
        ("{{ Attempt }}", ["Attempt"]),
    ],
)
def test_unknown_names_are_found_in_texts_at_any_depth(value: object, unknown: list[str]):
    assert templates.unknown_names(value) == unknown


def test_keys_hold_no_templates():
    assert templates.unknown_names({"{{ nonsense }}": ["a", 1]}) == []


@pytest.mark.parametrize(
    ("url", "fixed"),
    [
        ("https://a.example/{{ attempt }}", True),
        ("https://a.example?at={{ attempt }}", True),
        ("https://a.example:8443/x", True),
        ("https://{{ labels.host }}/", False),
        ("https://a.example{{ attempt }}/", False),
        ("https://a.example:{{ attempt }}/", False),
        ("{{ labels.scheme }}://a.example/", False),
        ("https://{{ attempt }}@a.example/", False),
        ("//a.example/{{ attempt }}", False),
    ],
)
def test_the_origin_of_a_url_is_free_of_templates_or_said_not_to_be(url: str, fixed: bool):
    assert templates.origin_is_fixed(url) is fixed


@given(st.text(max_size=60), st.sampled_from(["/{}", "/p/{}/x", "/?q={}", "?{}=1", "/a{}#f"]))
def test_no_value_moves_a_url_to_another_place(value: str, form: str):
    url = "https://a.example:8443" + form.format("{{ labels.x }}")

    rendered = parse_target_url(templates.render_url(url, {"labels.x": value}), AllowList())

    assert (rendered.scheme, rendered.host, rendered.port) == ("https", "a.example", 8443)
    assert rendered.authority == "a.example:8443"
    assert not set(rendered.path_and_query) & set("\r\n #")


def test_a_value_never_ends_its_part_of_a_url():
    url = templates.render_url("https://a.example/{{ labels.team }}?x=1", VALUES)

    assert url == "https://a.example/a%20b%2Fc%3Fd%23e%26f%3D%40%3A%25?x=1"


def test_a_value_never_ends_a_header():
    values = {"labels.x": "a\r\nX-Evil: 1\0\x7fz"}

    assert templates.render_header("v {{ labels.x }}", values) == "v a  X-Evil: 1  z"


def test_texts_of_a_payload_are_rendered_and_nothing_else():
    payload = {"{{ attempt }}": ["{{ attempt }}", 1, None, {"deep": "no. {{ attempt }}"}]}

    assert templates.render_json(payload, VALUES) == {
        "{{ attempt }}": ["2", 1, None, {"deep": "no. 2"}]
    }


@pytest.mark.parametrize("text", ["{{" + " " * 200_000, "{{ x" * 50_000, "{{" + " x " * 100_000])
def test_braces_that_are_never_closed_are_read_once(text: str):
    """Reading them in every way that they could be read would take hours."""
    assert templates.names_in(text) == []
    assert templates.origin_is_fixed(text)
    assert templates.render(text, {"x": "1"}) == text


def test_blanks_around_a_name_are_no_part_of_it():
    assert templates.names_in("{{\t a b \t}}") == ["a b"]
    assert templates.render("{{  x\t}}", {"x": "1"}) == "1"
