from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.workflow.expressions import (
    LONGEST,
    ExpressionInvalid,
    parse_expression,
    same,
)
from tasks.workflow.references import Reference, Scope, TemplateInvalid

SCOPE = Scope(
    input={
        "n": 5,
        "price": 2.5,
        "day": "2026-11-29",
        "tags": ["a", "b"],
        "on": True,
        "gone": None,
        "größe": 3,
        "it's": 1,
    },
    outputs={"load": {"failed": 0, "by": {"x": 1}}, "a-b": [1]},
    statuses={"load": "SUCCEEDED", "a-b": "FAILED"},
    run={"id": "r", "scheduled_for": "2026-11-29T02:00:00.000Z"},
    item={"size": 3},
    index=2,
)


@pytest.mark.parametrize(
    "text",
    [
        "steps.load.output.failed == 0",
        "steps.load.output.failed == 0.0",
        "steps.load.status == 'SUCCEEDED' && steps.a-b.status == \"FAILED\"",
        "steps['a-b'].output[0] == 1",
        "input.n > 4 && input.n >= 5 && input.n < 6 && input.n <= 5",
        "input.price >= -2.5e0",
        "input.day < '2026-12-01'",
        "'a' in input.tags && !('c' in input.tags)",
        "'x' in steps.load.output.by",
        "input.n in [1, 2, 5]",
        "input.n in[5]",
        "size(input.tags) == 2 && size(input.day) == 10 && size([]) == 0",
        "has(input.gone) && input.gone == null && !has(input.nothing)",
        "!has(input.gone.deeper) && !has(steps.skipped.output.files)",
        "input['größe'] == 3 && input.größe == 3",
        "input['it\\'s'] == 1",
        "steps.load.status in ['SUCCEEDED', 'SKIPPED']",
        "input.gone.deeper == null",
        "input.on",
        "!!input.on",
        "false || true && true",
        "(false || true) && (true)",
        "index == 2 && item.size == 3",
        "steps.load.output.by == steps.load.output.by",
        "input.tags == ['a', 'b']",
        "'it\\'s' != \"its\"",
        "true || input.nothing == 1",
        "!(false && input.nothing == 1)",
        "1 != true && 0 != false && '1' != 1 && null != false",
        "  true  ",
    ],
)
def test_an_expression_holds_by_its_values(text: str):
    assert parse_expression(text).holds(SCOPE)


@pytest.mark.parametrize(
    "text", ["false", "!input.on", "input.n == 6", "steps.load.output == null", "'n' in []"]
)
def test_an_expression_that_is_false_does_not_hold(text: str):
    assert not parse_expression(text).holds(SCOPE)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "its end"),
        ("   ", "its end"),
        ("1", "neither true nor false"),
        ("'yes'", "neither true nor false"),
        ("[true]", "neither true nor false"),
        ("size(input)", "neither true nor false"),
        ("1 && true", "&& stands beside"),
        ("true || null", r"\|\| stands beside"),
        ("!5", "! stands beside"),
        ("true true", "at character 6 there is 'true' in place of an operator"),
        ("true &&", "its end in place of a value"),
        ("(true", r"its end in place of '\)'"),
        ("input.n ==", "its end in place of a value"),
        ("1 < 2 < 3", "a comparison has two sides"),
        ("input.n  = 5", "at character 10 there is nothing that it knows"),
        ("input.n + 1 == 6", "at character 9"),
        ("index == 1x", "at character 10"),
        ("index == 1e999", "beyond the numbers"),
        ("index == 1e-999", "beyond the numbers"),
        ("input.day == '\\q'", "nothing that it knows"),
        ("input.day == '\\u0041'", "nothing that it knows"),
        ("run.id", "neither true nor false"),
        ("steps.a.status && true", "&& stands beside"),
        ("steps.a.status > 5", "between a number and a text"),
        ("1 < 'x'", "between a number and a text"),
        ("null < 1", "< compares numbers, or texts"),
        ("[1] < input.n", "< compares numbers, or texts"),
        ("size(5) == 1", "asked of what has none"),
        ("'a' in 'abc'", "no list and no object"),
        ("'a' in run.id", "no list and no object"),
        ("steps.a.status == 'SUCESS'", "a status is never 'SUCESS'"),
        ("'OPEN' != steps.a.status", "a status is never 'OPEN'"),
        ("secrets.key == 1", "names nothing"),
        ("steps.load == 1", "names nothing"),
        ("matches(input.day, '.*')", "names nothing"),
        ("input.tags.map(t, t)", "'\\('"),
        ("has(5)", "in place of a name"),
        ("has(true)", "in place of a name"),
        ("'open", "nothing that it knows"),
        ("size(", "its end"),
        ("[1, 2", "its end"),
        ("[1 2]", "in place of ','"),
        ("{'a': 1} == input", "nothing that it knows"),
        ("(" * 31 + "true" + ")" * 31, "nested more than 30"),
        ("!" * 31 + "true", "nested more than 30"),
        ("true" + " " * LONGEST, "more than 1000"),
        ("true\x00", "nothing that it knows"),
    ],
)
def test_what_is_no_expression_is_refused_with_the_place(text: str, problem: str):
    with pytest.raises(ExpressionInvalid, match=problem):
        parse_expression(text)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("input.nothing == 1", "input.nothing does not exist"),
        ("input.n", "It is a number, neither"),
        ("input.gone", "It is null, neither"),
        ("input.n && true", "It is a number, neither"),
        ("input.n < 'x'", "< cannot compare a number with a text"),
        ("input.on < 1", "< cannot compare true or false with a number"),
        ("input.tags > 1", "> cannot compare a list with a number"),
        ("1 in input.n", "in asks for a list or an object, not a number"),
        ("size(input.n) == 1", "It is a number, which has no size"),
        ("size(input.gone) == 0", "It is null, which has no size"),
    ],
)
def test_what_cannot_be_judged_is_told_and_not_taken_for_false(text: str, problem: str):
    expression = parse_expression(text)

    with pytest.raises(TemplateInvalid, match=problem):
        expression.holds(SCOPE)


def test_an_expression_tells_what_it_names():
    found = parse_expression("has(input.a) && (steps.x.output.n > 1 || item == 1)")

    assert found.references == (
        Reference("input", path=("a",)),
        Reference("steps", "x", "output", ("n",)),
        Reference("item"),
    )


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([1.0, 0.0]) | st.text("ab"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab"), inner),
    max_leaves=6,
)


@given(VALUES, VALUES)
def test_values_are_the_same_when_their_json_is(left: object, right: object):
    def plain(value: object) -> object:
        if isinstance(value, list):
            return tuple(map(plain, value))
        if isinstance(value, dict):
            return frozenset((key, plain(one)) for key, one in value.items()), "object"
        return (type(value) is bool, value)

    assert same(left, right) == (plain(left) == plain(right))


@given(st.text(st.sampled_from("()[]!&|=<> '\"ain.0_-,"), max_size=40))
def test_any_text_is_an_expression_or_refused(text: str):
    told = ""
    try:
        parse_expression(text)
    except ExpressionInvalid as refused:
        told = str(refused)

    assert not told or told.startswith(("at character ", "it is ", "'", "&&", "||", "!"))
