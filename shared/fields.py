"""The model field that holds sealed values, and refuses anything in the clear.

A field cannot know the context that a blob is bound to (the row's id), so services seal and
open with ``shared.encryption``; this field only refuses a value that was not sealed.
"""

from __future__ import annotations

from typing import Any

from django.db import models

from shared.encryption import VERSIONS


class SealedField(models.BinaryField):  # type: ignore[type-arg]  # generic in the stubs only
    """Bytes made by ``shared.encryption.seal``; storing anything else is a programming error."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs["editable"] = False
        super().__init__(*args, **kwargs)

    def deconstruct(self) -> Any:
        """Leave out ``editable``, which the caller cannot choose."""
        name, path, args, kwargs = super().deconstruct()
        kwargs.pop("editable", None)
        return name, path, args, kwargs

    def get_db_prep_value(self, value: Any, connection: Any, prepared: bool = False) -> Any:
        """Refuse a value that is visibly not sealed."""
        if value is not None and (not value or bytes(value[:1])[0] not in VERSIONS):
            raise ValueError(f"{self.name} takes sealed bytes only")
        return super().get_db_prep_value(value, connection, prepared)

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> bytes | None:
        """Return plain bytes for every type that the driver returns."""
        return None if value is None else bytes(value)
