from __future__ import annotations

from dataclasses import replace

import pytest

from tasks.workflow.references import (
    Budget,
    Reference,
    Scope,
    TemplateInvalid,
    TemplateTooLarge,
    describe,
    is_alone,
    names_in,
    parse_reference,
    render,
    sample_of,
)

SCOPE = Scope(
    input={"day": "2026-11-29", "tags": ["a", "b"], "none": None},
    statuses={"load": "SUCCEEDED", "skipped": "SKIPPED"},
    outputs={"load": {"failed": 0, "files": ["x.csv", "ü.csv"]}, "skipped": None},
    run={"id": "01a2", "scheduled_for": "2026-11-29T02:00:00.000Z"},
    item={"n": 7},
    index=3,
)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("input", Reference("input")),
        ("input.tags[0]", Reference("input", path=("tags", 0))),
        ("steps.load.output", Reference("steps", "load", "output")),
        ("steps['a-b'].output.x", Reference("steps", "a-b", "output", ("x",))),
        ("steps.a-b.output[-1]", Reference("steps", "a-b", "output", (-1,))),
        ("steps.load.status", Reference("steps", "load", "status")),
        ("item.n", Reference("item", path=("n",))),
        ("index", Reference("index")),
        ("run.id", Reference("run", path=("id",))),
    ],
)
def test_a_name_is_a_root_and_a_place(name: str, expected: Reference):
    assert parse_reference(name) == expected


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("", "steps.load.output"),
        ("secrets.x", "none of input"),
        ("steps", "steps.<key>.output and"),
        ("steps.load", "steps.<key>.output and"),
        ("steps.load.result", "steps.<key>.output and"),
        ("steps[0].output", "steps.<key>.output and"),
        ("steps.load.status.x", "no places"),
        ("index.x", "no places"),
        ("run", "run.id"),
        ("run.tenant", "run.id"),
        ("run.id.x", "run.id"),
        ("input..a", "steps.load.output"),
        ("input.a + 1", "steps.load.output"),
        ("input." + "a" * 495, "more than 500"),
    ],
)
def test_what_is_no_name_is_refused_with_the_reason(name: str, problem: str):
    with pytest.raises(ValueError, match=problem):
        parse_reference(name)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{ input.tags }}", ["a", "b"]),
        ("{{index}}", 3),
        ("{{ steps.skipped.output }}", None),
        ("{{ steps.skipped.status }}", "SKIPPED"),
        ("{{ steps.skipped.output.x.y }}", None),
        ("{{ input.none[3] }}", None),
        ("on {{ input.day }} by {{ run.id }}", "on 2026-11-29 by 01a2"),
        ("{{ index }}/{{ item.n }}", "3/7"),
        ("{{ steps.load.output.files }}!", '["x.csv", "ü.csv"]!'),
        ("[{{ input.none }}]", "[]"),
        ("{ {input} }", "{ {input} }"),
        ("{{ }", "{{ }"),
    ],
)
def test_a_template_alone_keeps_the_type_and_others_become_text(text: str, expected: object):
    assert render(text, SCOPE, Budget(1000)) == expected


def test_texts_within_values_are_rendered_and_keys_are_not():
    value = {"{{ index }}": ["{{ index }}", 5, {"deep": "{{ item }}"}], "flag": True}

    assert render(value, SCOPE, Budget(1000)) == {
        "{{ index }}": [3, 5, {"deep": {"n": 7}}],
        "flag": True,
    }


def test_what_is_inserted_is_not_read_again():
    scope = Scope(
        input="{{ run.id }}", outputs={}, statuses={}, run={"id": "secret", "scheduled_for": ""}
    )

    assert render("{{ input }}", scope, Budget(1000)) == "{{ run.id }}"
    assert render("got {{ input }}", scope, Budget(1000)) == "got {{ run.id }}"


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("{{ input.nothing }}", "input.nothing"),
        ("{{ input.tags[9] }}", r"input.tags\[9\]"),
        ("{{ input.day.x }}", "input.day.x"),
        ("{{ steps.load.output.nope }}", "steps.load.output.nope"),
    ],
)
def test_a_place_that_does_not_exist_is_told_and_not_sent_as_nothing(text: str, place: str):
    with pytest.raises(TemplateInvalid, match=f"{place} does not exist"):
        render(text, SCOPE, Budget(1000))


def test_outside_of_a_fan_out_there_is_no_item():
    scope = Scope(input=None, outputs={}, statuses={}, run={})

    with pytest.raises(TemplateInvalid, match="item does not exist"):
        render("{{ item }}", scope, Budget(1000))


def test_a_template_that_no_definition_may_have_ends_in_an_error_that_is_told():
    with pytest.raises(TemplateInvalid, match="There is no template 'attempt'"):
        render("{{ attempt }} {{ run.id }}", SCOPE, Budget(1000))


@pytest.mark.parametrize("text", ["{{" + " " * 200_000, "{{ x" * 50_000, "{{}" * 50_000])
def test_braces_that_are_never_closed_are_read_once(text: str):
    """Reading them in every way that they could be read would take hours."""
    assert list(names_in(text)) == []
    assert not is_alone(text)
    assert sample_of(text) == text


def test_a_sample_is_as_long_as_the_text():
    assert sample_of("a{{ input.b }}c") == "a" + "x" * 13 + "c"


def test_names_come_with_the_way_to_their_text():
    value = {"a": ["x", "{{ index }} {{ run.id }}"], "b": "{{ input }}"}

    assert sorted(names_in(value)) == [
        ("index", ("a", 1)),
        ("input", ("b",)),
        ("run.id", ("a", 1)),
    ]


@pytest.mark.parametrize(
    "name",
    [
        "steps.load.output.files[0]",
        "steps.load.status",
        "steps['a.b'].output['it\\'s'][0]",
        "input['']",
        "input.a",
        "index",
        "item",
    ],
)
def test_a_reference_is_described_as_it_is_written(name: str):
    assert describe(parse_reference(name)) == name


@pytest.mark.parametrize("text", ["{{ input }}", "got {{ input }}"])
def test_what_templates_insert_is_counted_before_it_is_written_out(text: str):
    # As JSON it has quotes, too.
    scope = replace(SCOPE, input="x" * (98 if is_alone(text) else 100))

    assert len(render([text] * 10, scope, Budget(1000))) == 10
    with pytest.raises(TemplateTooLarge, match="1000 bytes"):
        render([text] * 11, scope, Budget(1000))
