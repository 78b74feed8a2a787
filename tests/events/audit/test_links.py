from __future__ import annotations

import json

import pytest

from events.audit import links
from tests.events.audit.tampering import entries_of, make_chain

pytestmark = pytest.mark.django_db


def test_the_form_of_an_entry_has_all_its_columns_in_order():
    [entry] = entries_of(make_chain(1))
    document = json.loads(links.content(entry))

    assert list(document) == sorted(document)
    columns = {field.name for field in entry._meta.concrete_fields}
    # The id and the key's id decide on the key; the code is what is computed.
    assert set(document) == columns - {"id", "hash", "key_id"}


def test_the_code_depends_on_the_entry_before_and_on_the_key():
    [entry] = entries_of(make_chain(1))
    codes = {
        links.code(previous, entry, key)
        for previous in (links.START, b"p" * 32)
        for key in (b"", b"k" * 32)
    }

    assert len(codes) == 4
