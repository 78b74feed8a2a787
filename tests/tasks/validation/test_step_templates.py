from __future__ import annotations

from typing import Any

import pytest

from tests.tasks.steps import HOOK, problems, read, sentences, step

OUTPUT = "{{ steps.a.output }}"


@pytest.mark.parametrize(
    "parts",
    [
        {"payload": {"deep": ["{{ steps.a.output.files[0] }}"]}},
        {"payload": "{{ input }}"},
        {"payload": "{{ run.id }} of {{ run.scheduled_for }}"},
        {"for_each": "{{ steps.a.output.files }}", "payload": "{{ item.name }} {{ index }}"},
        {"target": {**HOOK, "url": "https://api.example.com/{{ input.path }}?x={{ run.id }}"}},
        {"target": {**HOOK, "headers": {"X-Run": "{{ run.id }}"}}},
        {"when": "steps.a.output.n > 0 && steps.a.status == 'SUCCEEDED'"},
        {"for_each": [1], "when": "item > 0"},
        {"compensate": {"target": HOOK, "payload": "{{ input }}"}},
    ],
)
def test_a_template_is_kept_as_it_was_written(parts: dict[str, Any]):
    [_, second] = read([step("a"), step("b", "a", **parts)])

    for key, value in parts.items():
        if key == "target":
            assert {name: second["target"][name] for name in value} == value
        elif key == "compensate":
            assert second[key]["payload"] == value["payload"]
        else:
            assert second[key] == value


def test_outputs_of_all_steps_before_may_be_named_not_only_of_the_last():
    steps = [step("a"), step("b", "a"), step("c", "b", payload=OUTPUT)]

    assert problems(steps) == []


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        (
            {"payload": {"x": ["{{ steps.b.output }}"]}},
            ("#/steps/1/payload/x/0", "step_not_before"),
        ),
        ({"payload": "{{ steps.c.output }}"}, ("#/steps/1/payload", "step_not_before")),
        ({"payload": "{{ steps.nope.output }}"}, ("#/steps/1/payload", "step_unknown")),
        ({"payload": "{{ steps.a.result }}"}, ("#/steps/1/payload", "template_unknown_name")),
        ({"payload": "{{ secrets.key }}"}, ("#/steps/1/payload", "secret_not_here")),
        ({"payload": "{{ item }}"}, ("#/steps/1/payload", "template_unknown_name")),
        (
            {"target": {"url": "https://a.example.com/{{ step.a.output }}"}},
            ("#/steps/1/target/url", "template_unknown_name"),
        ),
        ({"when": "steps.c.status == 'FAILED'"}, ("#/steps/1/when", "step_not_before")),
        ({"when": "has(steps.nope.output)"}, ("#/steps/1/when", "step_unknown")),
        ({"when": "index > 5"}, ("#/steps/1/when", "template_unknown_name")),
        ({"for_each": "{{ item }}"}, ("#/steps/1/for_each", "template_unknown_name")),
        ({"for_each": "{{ steps.c.output }}"}, ("#/steps/1/for_each", "step_not_before")),
        (
            {"target": {"url": "https://{{ input.host }}/x"}},
            ("#/steps/1/target/url", "template_in_origin"),
        ),
        (
            {"target": {**HOOK, "headers": {"X-A": "{{ steps.c.output }}"}}},
            ("#/steps/1/target/headers/X-A", "step_not_before"),
        ),
        (
            {"compensate": {"target": HOOK, "payload": {"id": "{{ steps.c.output }}"}}},
            ("#/steps/1/compensate/payload/id", "step_not_before"),
        ),
    ],
)
def test_what_a_step_cannot_know_is_told_where_it_stands(
    parts: dict[str, Any], expected: tuple[str, str]
):
    assert problems([step("a"), step("b", "a", **parts), step("c", "a")]) == [expected]


def test_a_step_that_is_not_before_is_told_what_to_do():
    [said] = sentences([step("a"), step("b", payload=OUTPUT)])

    assert said == "Step 'a' does not end before this one: name it in depends_on."


def test_what_undoes_a_step_has_its_output():
    undo = {"target": HOOK, "payload": {"charge": "{{ steps.a.output.id }}"}}

    assert problems([step("a", compensate=undo)]) == []


@pytest.mark.parametrize(
    ("parts", "pointer"),
    [
        (
            {"target": {**HOOK, "auth": {"type": "bearer", "token": "{{ input.t }}"}}},
            "target/auth/token",
        ),
        (
            {"target": {"kind": "pool", "pool": "batch-etl", "handler": "{{ input.h }}"}},
            "target/handler",
        ),
        ({"target": None, "kind": "wait_for_event", "event": "{{ run.id }}"}, "event"),
    ],
)
def test_where_braces_would_be_sent_as_they_are_they_are_refused(
    parts: dict[str, Any], pointer: str
):
    body = {key: value for key, value in step("a", **parts).items() if value is not None}

    assert problems([body]) == [(f"#/steps/0/{pointer}", "template_not_here")]


@pytest.mark.parametrize("items", ["{{ run.id }}", "{{ steps.a.status }}"])
def test_what_is_never_a_list_has_no_items(items: str):
    assert problems([step("a"), step("b", "a", for_each=items)]) == [
        ("#/steps/1/for_each", "invalid_type")
    ]


@pytest.mark.parametrize(
    ("target", "field"),
    [
        ({"url": "https://api.example.com/{{" + " " * 3000 + "run.id }}"}, "url"),
        ({**HOOK, "headers": {"X-A": "{{" + " " * 20_000 + "run.id }}"}}, "headers"),
    ],
)
def test_bounds_hold_for_what_was_written(target: dict[str, Any], field: str):
    assert problems([step("a", target=target)]) == [(f"#/steps/0/target/{field}", "too_long")]


def test_what_a_template_stands_beside_is_checked_as_ever():
    bad_header = {**HOOK, "headers": {"X A": "{{ run.id }}"}}

    [(pointer, _)] = problems([step("a", target=bad_header)])

    assert pointer.startswith("#/steps/0/target/headers")
