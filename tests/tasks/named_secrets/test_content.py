"""Bodies of named secrets: names, values and bindings."""

from __future__ import annotations

import pytest

from shared.exceptions import InvalidInput
from tasks.named_secrets.content import read_changes, read_new

NEW = {"name": "token", "value": "s3cret", "hosts": ["api.example.com"]}


def test_a_new_secret_has_its_hosts_in_normal_form_each_once():
    hosts = ["API.example.com", "api.example.com:443"]
    content = read_new({**NEW, "hosts": hosts, "commands": ["deploy"]})

    assert (content.name, content.value) == ("token", "s3cret")
    assert (content.hosts, content.commands) == (("api.example.com",), ("deploy",))


def test_a_star_stands_for_all():
    assert read_new({**NEW, "hosts": ["a.example", "*"]}).hosts == ("*",)


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"name": "Token"}, "#/name"),
        ({"name": 5}, "#/name"),
        ({"value": ""}, "#/value"),
        ({"value": None}, "#/value"),
        ({"value": "[redacted]"}, "#/value"),
        ({"value": "a\0b"}, "#/value"),
        ({"value": "a\x1bb"}, "#/value"),
        ({"value": "x" * 4097}, "#/value"),
        ({"value": "ä" * 2049}, "#/value"),
        ({"hosts": []}, "#/hosts"),
        ({"hosts": "a.example"}, "#/hosts"),
        ({"hosts": ["a.example/x"]}, "#/hosts/0"),
        ({"hosts": [5]}, "#/hosts/0"),
        ({"hosts": [f"h{n}.example" for n in range(21)]}, "#/hosts"),
        ({"commands": ["x" * 201]}, "#/commands/0"),
        ({"oops": 1}, "#/oops"),
    ],
)
def test_what_is_wrong_is_named(change, pointer):
    with pytest.raises(InvalidInput) as refused:
        read_new({**NEW, **change})
    assert pointer in [error.pointer for error in refused.value.errors]


@pytest.mark.parametrize("missing", ["name", "value", "hosts"])
def test_a_new_secret_needs_its_name_its_value_and_a_place(missing):
    with pytest.raises(InvalidInput) as refused:
        read_new({key: value for key, value in NEW.items() if key != missing})
    assert [error.pointer for error in refused.value.errors] == [f"#/{missing}"]


def test_a_value_may_have_lines():
    assert read_new({**NEW, "value": "-----BEGIN\n\tx\n"}).value == "-----BEGIN\n\tx\n"


def test_a_change_leaves_out_what_stays_and_has_no_name():
    assert read_changes({"value": "new"}).hosts is None
    with pytest.raises(InvalidInput):
        read_changes({"name": "other"})


def test_a_content_does_not_print_its_value():
    assert "s3cret" not in repr(read_new(NEW))
