"""The columns that hold secrets, or what opens them, by the types of the models."""

from __future__ import annotations

from django.apps import apps
from django.db.models import BinaryField

from shared.fields import SealedField

#: Columns of text that are a right by themselves.
_BY_NAME = {"password", "session_key", "session_data", "endpoint", "key"}


def secret_columns() -> set[str]:
    """Return ``table.column`` of each column that is sealed, hashed, or a secret as such."""
    return {
        f"{model._meta.db_table}.{field.column}"
        for model in apps.get_models()
        for field in model._meta.local_concrete_fields
        if isinstance(field, BinaryField | SealedField) or field.column in _BY_NAME
    }
