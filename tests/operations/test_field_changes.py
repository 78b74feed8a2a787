from __future__ import annotations

from operations.field_changes import change_lines, changes


def test_each_field_that_differs_is_named_by_its_path():
    before = {"name": "A", "target": {"url": "x", "headers": {}}, "labels": {"a": "b"}}
    after = {"name": "A", "target": {"url": "y", "headers": {"k": "v"}}, "labels": {}}

    found = list(changes(before, after, before, after))

    assert found == [
        {"path": "labels.a", "before": "b", "after": None},
        {"path": "target.headers.k", "before": None, "after": "v"},
        {"path": "target.url", "before": "x", "after": "y"},
    ]
    assert list(change_lines(found))[-1] == "target.url: x → y"


def test_lists_are_compared_whole():
    [found] = changes({"a": [1, 2]}, {"a": [2, 1]}, {"a": [1, 2]}, {"a": [2, 1]})

    assert found == {"path": "a", "before": [1, 2], "after": [2, 1]}


def test_a_secret_is_compared_and_shown_masked():
    masked = {"token": "[redacted]"}

    [found] = changes({"token": "one"}, {"token": "two"}, masked, masked)

    assert list(change_lines([found])) == ["token: [redacted] → [redacted]"]


def test_no_difference_is_said():
    assert list(change_lines(list(changes({"a": 1}, {"a": 1}, {}, {})))) == ["no change"]


def test_a_long_value_is_cut_and_cannot_steer_the_terminal():
    [line] = change_lines([{"path": "a", "before": "\x1b[2J", "after": "x" * 100}])

    assert line == f"a: ?[2J → {'x' * 59}…"
