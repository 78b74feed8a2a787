"""Reading of secrets in a definition: text of bounded size, and never a mask in its place."""

from __future__ import annotations

from shared.redaction import MASK
from tasks.field_reader import FieldReader, text_problem
from tasks.limits import SECRET_BYTES

#: The remedy for a mask without a stored secret.
MASKED = "This is the mask of an answer; write the secret itself."


def read_secret(reader: FieldReader, key: str, *, required: bool = True) -> str | None:
    """Return a secret of 1 to SECRET_BYTES bytes without control characters, or None."""
    if required:
        reader.require(key, f"Give the {key.replace('_', ' ')}.")
    value: str | None = reader.text(key, None, longest=SECRET_BYTES, nullable=not required)
    problem = secret_problem(value) if value is not None else None
    if problem:
        reader.error(key, *problem)
        return None
    return value


def secret_problem(value: str, *, printable: bool = True) -> tuple[str, str] | None:
    """Return code and sentence of what is wrong with a secret text, or None."""
    if value == MASK:
        return "secret_masked", MASKED
    if len(value.encode(errors="surrogatepass")) > SECRET_BYTES:
        return "too_long", f"Must be at most {SECRET_BYTES} bytes."
    return text_problem(value, longest=SECRET_BYTES, printable=printable) if value else None
