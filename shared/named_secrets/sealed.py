"""The sealed form of a named secret: its value with its binding, for one tenant and name.

The binding is sealed with the value, so a worker judges by it at the last moment. So are values
that were replaced lately: a run under way may still report them, and they are masked, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from shared.encryption import open_json, seal_json
from shared.instants import format_instant, parse_instant
from shared.named_secrets.bindings import Binding
from shared.sealing_contexts import named_secret_context

#: How long a replaced value is kept to be masked, and how many of them at most.
FORMER_KEPT = timedelta(days=1)
_MOST_FORMER = 10


class Former(NamedTuple):
    """A value that another one has replaced."""

    value: str
    replaced_at: datetime

    def __repr__(self) -> str:
        """Return no value."""
        return f"Former({format_instant(self.replaced_at)})"


@dataclass(frozen=True, slots=True)
class NamedValue:
    """An opened secret: never shown, logged or stored."""

    value: str = field(repr=False)
    binding: Binding
    former: Sequence[Former] = field(default=(), repr=False)

    def replaced(self, now: datetime) -> list[Former]:
        """Return the former values of the one that replaces this one now."""
        kept = [one for one in self.former if now - one.replaced_at < FORMER_KEPT]
        return [Former(self.value, now), *kept][:_MOST_FORMER]


def seal_secret(
    tenant_id: UUID | str, name: str, value: str, binding: Binding, former: Sequence[Former] = ()
) -> bytes:
    """Seal a value with its binding so that they open under this tenant and name only."""
    document = {
        "value": value,
        "hosts": list(binding.hosts),
        "commands": list(binding.commands),
        "former": [[one.value, format_instant(one.replaced_at)] for one in former],
    }
    return seal_json(document, named_secret_context(tenant_id, name))


def open_secret(blob: bytes, tenant_id: UUID | str, name: str) -> NamedValue:
    """Return the secret; raise DecryptionFailed where it is not this tenant's, or has no key."""
    found = open_json(blob, named_secret_context(tenant_id, name))
    hosts: Sequence[str] = found["hosts"]
    # A process of the version before has written none.
    former = [Former(value, parse_instant(at)) for value, at in found.get("former", ())]
    return NamedValue(found["value"], Binding(tuple(hosts), tuple(found["commands"])), former)
