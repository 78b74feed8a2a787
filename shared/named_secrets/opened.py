"""The named secrets that one attempt uses: opened, judged, and inserted at the last moment."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from shared.named_secrets.bindings import allows_url, refusals
from shared.named_secrets.forms import cut_at_begin, cut_at_end, forms_of
from shared.named_secrets.references import AUTH_FIELDS, WHOLE_PARTS, fill, joined, names_in
from shared.named_secrets.sealed import NamedValue, open_secret
from shared.redaction import MASK


class SecretUnavailable(ValueError):
    """An attempt cannot use a named secret; nothing was sent, and a retry would not help."""

    code = "secret_unavailable"

    def __init__(self, name: str, reason: str) -> None:
        self.message = f"The secret {name} cannot be used: {reason}."
        super().__init__(self.message)


class Secrets:
    """The opened secrets of an attempt by their names.

    ``used`` are the names that the definition refers to; another one has no value, even where the
    text of an answer that was inserted names it.
    """

    def __init__(self, values: Mapping[str, NamedValue], used: Iterable[str] = ()) -> None:
        self._values = dict(values)
        self.used = tuple(used)
        self._masked: tuple[bytes, ...] | None = None

    def __bool__(self) -> bool:
        return bool(self.used)

    def value_of(self, name: str) -> str:
        """Return the value of a secret; raise SecretUnavailable without one."""
        found = self._values.get(name) if name in self.used else None
        if found is None:
            raise SecretUnavailable(name[:100], "it does not exist")
        return found.value

    def require_target(self, target: Mapping[str, Any]) -> None:
        """Raise SecretUnavailable unless each secret exists and may go where the target goes."""
        for name in self.used:
            self.value_of(name)
            for _, reason in refusals(self._values[name].binding, target):
                raise SecretUnavailable(name, reason)

    def require_url(self, url: str) -> None:
        """Raise SecretUnavailable unless each secret may be sent to the URL."""
        for name in self.used:
            self.value_of(name)
            if not allows_url(self._values[name].binding, url):
                raise SecretUnavailable(name, "it may not be sent to this destination")

    def fill(self, text: str) -> str:
        """Return the text of a definition with the values in it."""
        return fill(text, self.value_of)

    def join(self, parts: str | Sequence[str | Mapping[str, str]]) -> str:
        """Return the text of parts that the run of a workflow has made, with the values in it."""
        return joined(parts, self.value_of)

    def fill_target(self, target: Mapping[str, Any], parts: Sequence[str]) -> dict[str, Any]:
        """Return the sealed parts of a target with the values in those parts of it."""
        filled = dict(target)
        for part in parts:
            inside = filled.get(part)
            if not isinstance(inside, Mapping):
                continue
            keys = inside if part in WHOLE_PARTS else AUTH_FIELDS
            changed = {
                key: self.fill(inside[key]) for key in keys if isinstance(inside.get(key), str)
            }
            filled[part] = {**inside, **changed}
            in_header = part == "headers" or (part == "auth" and inside.get("in") != "query")
            # A password and a client's secret are encoded on their way into a header.
            encoded = ("password", "client_secret") if part == "auth" else ()
            for key, text in changed.items():
                if in_header and key not in encoded:
                    self.require_fit(inside[key], text)
        return filled

    def require_fit(self, written: str | Sequence[Any], filled: str) -> None:
        """Raise SecretUnavailable for a header's value that no header can carry."""
        if isinstance(written, str) and not names_in(written):
            return
        if not filled.isascii() or not filled.isprintable():
            raise SecretUnavailable(self.used[0], "no header can carry its value")

    def header_names(self, headers: Mapping[str, Any]) -> frozenset[str]:
        """Return the lower-case names of the headers that hold a secret."""
        return frozenset(
            name.lower()
            for name, text in headers.items()
            if not isinstance(text, str) or names_in(text)
        )

    def mask(self, data: bytes, *, begins_cut: bool = False, ends_cut: bool = False) -> bytes:
        """Return bytes that a receiver or program has sent with the values in them masked.

        Also in the forms in which calls and answers write them. Where something was cut off, the
        part of a value that is left there is masked as well.
        """
        mask, forms = MASK.encode(), self._forms()
        for form in forms:
            data = data.replace(form, mask)
        if ends_cut and (left := max((cut_at_end(data, form) for form in forms), default=0)):
            data = data[:-left] + mask
        if begins_cut and (left := max((cut_at_begin(data, form) for form in forms), default=0)):
            data = mask + data[left:]
        return data

    def mask_text(self, text: str) -> str:
        """Return a text with the values in it masked."""
        for form in self._forms():
            text = text.replace(form.decode(), MASK)
        return text

    def _forms(self) -> tuple[bytes, ...]:
        """Return what is masked, the longest first: a shorter form may stand in a longer one."""
        if self._masked is None:
            opened = self._values.values()
            values = {one.value for one in opened}.union(
                former.value for one in opened for former in one.former
            )
            found = {form for value in values for form in forms_of(value)}
            self._masked = tuple(sorted(found, key=lambda form: (-len(form), form)))
        return self._masked


#: Those of a target that uses none.
NO_SECRETS = Secrets({})


def secrets_of(
    target: Mapping[str, Any], sent: Mapping[str, Mapping[str, str]], tenant: str
) -> Secrets:
    """Return the secrets that the plain part of a target names, opened.

    ``sent`` has the sealed ones of each tenant, in base64. Raise DecryptionFailed where no key
    opens one. A name without a secret is refused where it is used.
    """
    names = target.get("named_secrets")
    if not names:
        return NO_SECRETS
    blobs = sent.get(tenant, {})
    return Secrets(
        {
            name: open_secret(base64.b64decode(blobs[name]), tenant, name)
            for name in names
            if name in blobs
        },
        names,
    )
