from __future__ import annotations

from datetime import UTC, datetime
from uuid import uuid4

import pytest

from events.models import AuditEntry
from insight.presentation.audit import present_entry


def shown(before, after):
    at = datetime(2026, 11, 30, tzinfo=UTC)
    entry = AuditEntry(tenant_id=uuid4(), sequence=1, at=at, before=before, after=after)
    return [tuple(change.values()) for change in present_entry(entry)["changes"]]


@pytest.mark.parametrize(
    ("before", "after", "changes"),
    [
        (None, None, []),
        ('{"a":1,"b":2}', '{"a":1,"b":3}', [("b", 2, 3)]),
        (None, '{"a":1}', [("a", None, 1)]),
        ('{"a":1}', None, [("a", 1, None)]),
        ('{"a":{"b":1,"c":2}}', '{"a":{"b":1,"c":3}}', [("a.c", 2, 3)]),
        ('{"a":{}}', '{"a":{"b":1}}', [("a", {}, None), ("a.b", None, 1)]),
        ('{"definition":{"#/target/url":"x"}}', None, [("target/url", "x", None)]),
        ("[1]", "[2]", [("value", [1], [2])]),
    ],
)
def test_only_what_differs_is_shown(before, after, changes):
    assert shown(before, after) == changes
