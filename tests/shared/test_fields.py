from __future__ import annotations

import pytest
from django.db import connection

from shared.encryption import seal
from shared.fields import SealedField


def test_plain_text_cannot_be_stored_by_mistake():
    field = SealedField(name="sealed")

    with pytest.raises(ValueError, match="sealed bytes only"):
        field.get_db_prep_value(b"in the clear", connection)


def test_sealed_bytes_and_null_can_be_stored():
    field = SealedField(name="sealed")

    assert field.get_db_prep_value(seal(b"x", b"c"), connection) is not None
    assert field.get_db_prep_value(None, connection) is None


def test_the_field_is_not_editable_and_migrations_do_not_say_so():
    *_, options = SealedField(null=True).deconstruct()

    assert options == {"null": True}
    assert not SealedField().editable


def test_values_come_back_as_bytes():
    assert SealedField().from_db_value(memoryview(b"abc"), None, None) == b"abc"
    assert SealedField().from_db_value(None, None, None) is None
