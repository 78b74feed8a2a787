"""Validation of a task's external references: the payload's reference, and its owner."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import ValidationError
from django.core.validators import validate_email

from shared.http_methods import BODILESS
from tasks.field_reader import FieldReader, suggest
from tasks.limits import OWNER_LENGTH, URL_LENGTH, Limits
from tasks.validation.templates import check_templates


def read_payload_ref(reader: FieldReader, target: dict[str, Any]) -> str | None:
    """Return the reference that the receiver gets in place of a payload, or None.

    Punctual never fetches it, so any URL and any key of an object store is valid.
    """
    reference: str | None = reader.text("payload_ref", None, longest=URL_LENGTH, nullable=True)
    if reference is None:
        return None
    if reader.given("payload"):
        message = "Give payload or payload_ref, not both: the one takes the place of the other."
        reader.error("payload_ref", "exclusive", message)
    if target.get("template"):
        check_templates(reference, "#/payload_ref", reader.errors)
    if target.get("kind") == "webhook" and target["method"] in BODILESS:
        message = f"A {target['method']} request carries no body, so the receiver would not get it."
        reader.error("payload_ref", "not_applicable", message)
    return reference


def read_owner(reader: FieldReader) -> str | None:
    """Return the owner as written, or None."""
    owner: str | None = reader.text("owner", None, longest=OWNER_LENGTH, nullable=True)
    return owner


def check_owner(owner: str, reader: FieldReader, limits: Limits) -> None:
    """Note an owner that is neither an e-mail address nor the name of a key of the tenant.

    Call it only for a new owner: an unchanged one may have outlived its key.
    """
    if "@" in owner:
        try:
            validate_email(owner)
        except ValidationError:
            reader.error("owner", "email_invalid", "This is no e-mail address.")
    elif owner not in (known := limits.key_names()):
        message = "Give an e-mail address, or the name of an API key of this tenant."
        reader.error("owner", "owner_unknown", message + suggest(owner, known))
