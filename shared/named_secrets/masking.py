"""Mask named secrets in what a receiver or a program reports about its run.

``secrets`` is None where no key opens them: then nothing of a report can be kept.
"""

from __future__ import annotations

from typing import Any

import orjson

from shared.named_secrets.opened import Secrets
from shared.redaction import MASK


def masked_text(text: str, secrets: Secrets | None) -> str:
    """Return a text without the values of the secrets."""
    return MASK if secrets is None else secrets.mask_text(text)


def masked_document(document: bytes, secrets: Secrets | None) -> bytes:
    """Return a JSON document without the values of the secrets, in texts, names and numbers.

    Also in the forms in which calls and answers write them. One that holds none stays as it is; one
    whose numbers hold a value, or that is nested very deeply, becomes one text.
    """
    if secrets is None:
        return orjson.dumps(MASK)
    if not secrets:
        return document
    try:
        # Needless escapes could hide a value.
        value = orjson.loads(document)
        plain = orjson.dumps(value)
        if secrets.mask(document) == document and secrets.mask(plain) == plain:
            return document
        masked = orjson.dumps(_masked(value, secrets))
    except (orjson.JSONEncodeError, RecursionError):
        masked = document
    if secrets.mask(masked) != masked:
        # The mask is a text; in place of digits of a number it makes the JSON invalid.
        return orjson.dumps(secrets.mask_text(masked.decode()))
    return masked


def _masked(value: Any, secrets: Secrets) -> Any:
    if isinstance(value, str):
        return secrets.mask_text(value)
    if isinstance(value, list):
        return [_masked(one, secrets) for one in value]
    if isinstance(value, dict):
        return {secrets.mask_text(name): _masked(one, secrets) for name, one in value.items()}
    return value
