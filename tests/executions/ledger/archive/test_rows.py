from __future__ import annotations

import pytest

from executions.ledger.archive.rows import fields, records, values


def test_a_record_ends_where_no_value_is_open():
    lines = [b'"1","a\n', b'b""\n', b'"\n', b'"2","c"\n']

    assert list(records(lines)) == [b'"1","a\nb""\n"', b'"2","c"']


def test_a_record_that_is_cut_off_is_refused():
    with pytest.raises(ValueError, match="cut off"):
        list(records([b'"1","a"\n', b'"2","b\n']))


@pytest.mark.parametrize(
    ("record", "found"),
    [
        ('"a","b"', ["a", "b"]),
        ('"a",', ["a", None]),
        (',"a"', [None, "a"]),
        ('"",', ["", None]),
        (",,", [None, None, None]),
        ('"say ""yes""","a,b"', ['say "yes"', "a,b"]),
        ('"\\N","\\x00ff"', ["\\N", "\\x00ff"]),
        ('"two\nlines\r\n"', ["two\nlines\r\n"]),
        ('"ä → 日本"', ["ä → 日本"]),
        ('""""', ['"']),
    ],
)
def test_null_and_an_empty_text_are_two_things(record: str, found: list[str | None]):
    assert fields(record) == found


@pytest.mark.parametrize("record", ["a", '"a"b', '"a" ,"b"', 'NULL,"a"', '"a","b'])
def test_what_no_server_wrote_is_refused(record: str):
    with pytest.raises(ValueError, match="no value"):
        fields(record)


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("smallint", "3", 3),
        ("bigint", "9007199254740993", 9007199254740993),
        ("xid8", "12", 12),
        ("double precision", "1.5", 1.5),
        ("boolean", "t", True),
        ("boolean", "f", False),
        ("jsonb", '{"total": 1.5}', {"total": 1.5}),
        ("timestamp with time zone", "2026-01-05 10:00:00+00", "2026-01-05T10:00:00.000000Z"),
        ("timestamp with time zone", "2026-01-05 10:00:00.12+00", "2026-01-05T10:00:00.120000Z"),
        ("character varying", "", ""),
        ("bytea", "\\x6b31", "\\x6b31"),
        ("uuid", "019b8a00-0000-8000-8000-000000000001", "019b8a00-0000-8000-8000-000000000001"),
    ],
)
def test_values_are_read_by_their_types(kind: str, text: str, value: object):
    record = '"{}"'.format(text.replace('"', '""')).encode()

    assert values({"it": kind}, record) == {"it": value}
    assert values({"it": kind, "none": kind}, record + b",") == {"it": value, "none": None}


def test_a_record_of_another_width_is_refused():
    with pytest.raises(ValueError, match="2 values for 1 columns"):
        values({"id": "uuid"}, b'"a","b"')
