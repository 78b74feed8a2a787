"""The messages to workers: batches of executions, bounded in count and size.

Dispatch encodes them and workers decode them. Times are on Redis' clock, the one that workers can
see; all secrets are still encrypted.
"""

from __future__ import annotations

import math
from binascii import b2a_base64
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple, NotRequired, TypedDict, TypeVar
from uuid import UUID

import orjson

from shared.conf import conf
from wire.destination_key import limits_text

T = TypeVar("T")
#: Bytes that an execution takes in a message beside its texts and blobs.
_FRAME_BYTES = 768
#: Bytes that a named secret takes in a message: the longest value with the longest binding.
NAMED_SECRET_BYTES = 24 * 1024
#: The key of a target's named secrets, as the text of a jsonb column has it.
_NAMED = '"named_secrets"'
#: Fields of every entry, in their order in the message, after its tenant, its definition and its
#: rare fields.
_FIELDS = (
    "id",
    "task",
    "revision",
    "token",
    "attempt",
    "max_attempts",
    "priority",
    "due",
    "start_by",
    "scheduled_for",
    "sealed",
    "destination",
    "url",
)


class Entry(TypedDict):
    """One execution of a message, as a worker has it. Blobs are sealed, in base64.

    ``attempt`` is the number of the attempt that it asks for; ``due`` and ``scheduled_for`` are
    seconds since 1970, ``start_by`` milliseconds. ``url`` is that of a webhook whose version has it
    in clear; of others it is null, and ``sealed`` has it. ``target``, which many entries share, is
    without it.
    """

    id: str
    task: str
    tenant: str
    revision: int
    token: int
    attempt: int
    max_attempts: int
    priority: int
    due: float
    start_by: int
    scheduled_for: float
    sealed: str
    destination: str
    url: str | None
    target: dict[str, Any]
    retry_policy: dict[str, Any]
    #: Limits of the destination, as the start guard reads them.
    limits: NotRequired[str]
    #: Those of the tenant, where it has limits of its executions.
    tenant_limits: NotRequired[str]
    payload: NotRequired[str]
    progress: NotRequired[str]
    #: What templates name: the task's name, labels and last success.
    named: NotRequired[dict[str, Any]]
    #: How many of its workers were lost.
    lost: NotRequired[int]
    trace: NotRequired[str]
    #: The weight of its tenant, where that is not 1.
    weight: NotRequired[int]


class Shared(TypedDict):
    """What the entries of a message share and an attempt needs.

    ``offset`` is Redis time minus database time, in seconds; ``secrets`` are the sealed signing
    secrets of each tenant, in base64. ``keys`` are the wrapped data keys of each tenant, the one
    that seals first: 16 bytes of its id and the key, in base64; older schedulers send none.
    ``named_secrets`` are the sealed named secrets of each tenant that entries use, by their names;
    it is missing where none does.
    """

    offset: float
    secrets: dict[str, list[str]]
    keys: NotRequired[dict[str, list[str]]]
    named_secrets: NotRequired[dict[str, dict[str, str]]]


class Message(Shared):
    """A message as a worker has it; ``incarnation`` is that of Redis when it was sent."""

    incarnation: str
    bytes: int
    executions: list[Entry]


class Sent(Shared):
    """A message as it travels: entries as arrays that name tenant and definition by their place."""

    incarnation: str
    bytes: int
    definitions: list[list[Any]]
    executions: list[list[Any]]
    #: Limits of each tenant that has any, and the weights that are not 1.
    limits: NotRequired[dict[str, str]]
    weights: NotRequired[dict[str, int]]


class Lone(TypedDict):
    """The message to a process that runs one webhook alone; ``started`` is on Redis' clock."""

    entry: Entry
    batch: Shared
    started: float


class OfTenants(NamedTuple):
    """What messages tell of tenants: wrapped data keys, and the sealed secrets that work names.

    Limits and weights are those of tenants that have a limit, or a weight other than 1.
    """

    keys: Mapping[UUID, list[str]]
    named_secrets: Mapping[UUID, Mapping[str, bytes]]
    limits: Mapping[UUID, str]
    weights: Mapping[UUID, int]


#: Of tenants that have none of it.
OF_TENANTS = OfTenants({}, {}, {}, {})


class Claimed(NamedTuple):
    """A row of the claim statement, with all data for the message."""

    id: UUID
    tenant_id: UUID
    task_id: UUID
    revision: int
    scheduled_for: datetime
    due_at: datetime
    attempt: int
    max_attempts: int
    token: int
    lease_expires_at: datetime
    priority: int
    sealed_payload: bytes | None
    #: None, like the two below, where the claim does not see the row's version yet.
    #: Without the URL of a webhook, which is ``url`` or in ``sealed``.
    target: dict[str, Any]
    retry_policy: dict[str, Any]
    sealed: bytes
    destination: str
    lost_count: int
    sealed_progress: bytes | None
    #: Task's name, labels and last success (as text) where the target has templates, else None.
    named: dict[str, Any] | None
    #: The limits of its destination; None also where it has none of its own.
    max_in_flight: int | None = None
    rate_per_second: float | None = None
    breaker: bool | None = None
    #: The trace that it continues, None for one of its own.
    trace_context: str | None = None
    url: str | None = None


def split(batch: Sequence[Claimed]) -> Iterator[tuple[list[Claimed], int]]:
    """Cut a batch into messages of bounded count and size, in order; return each with its bytes.

    It never cuts an execution.
    """
    part: list[Claimed] = []
    size, named = 0, set[tuple[UUID, str]]()
    for row in batch:
        own = weight(row)
        used = {(row.tenant_id, name) for name in names_of(row)}
        # Entries of a message share the named secrets.
        more = own + len(used - named) * NAMED_SECRET_BYTES
        if part and (len(part) >= conf().message_executions or size + more > conf().message_bytes):
            yield part, size
            part, size, named = [], 0, set()
            more = own + len(used) * NAMED_SECRET_BYTES
        part.append(row)
        named |= used
        size += more
    if part:
        yield part, size


def weight(row: Claimed) -> int:
    """Return how many bytes the row takes in a message, at most."""
    blobs = len(row.sealed) + len(row.sealed_payload or b"") + len(row.sealed_progress or b"")
    texts = _length(row.target) + _length(row.retry_policy) + _bytes_of(row.url or "")
    if row.named is not None:
        texts += _length(row.named)
    return blobs * 4 // 3 + texts + _FRAME_BYTES


def _length(part: Any) -> int:
    """Return the bytes of a jsonb column."""
    return 0 if part is None else _bytes_of(_json(part))


def _bytes_of(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())


def encode(
    part: Sequence[Claimed],
    size: int,
    incarnation: str,
    secrets: dict[UUID, list[bytes]],
    offset: float,
    known: OfTenants = OF_TENANTS,
) -> Sent:
    """Return the message of these executions; ``offset`` is Redis time minus database time.

    ``known`` may hold what is of other tenants, too. For orjson, which writes ids and documents as
    they are: text of the database stays text.
    """
    tenants: dict[UUID, int] = {}
    definitions: dict[tuple[str, str], int] = {}
    entries = [_entry(row, offset, tenants, definitions) for row in part]
    sent: Sent = {
        "incarnation": incarnation,
        "offset": offset,
        "bytes": size,
        "secrets": {
            str(tenant): [_text(blob) for blob in secrets.get(tenant, ())] for tenant in tenants
        },
        "keys": {str(tenant): found for tenant in tenants if (found := known.keys.get(tenant))},
        "definitions": [[orjson.Fragment(text) for text in texts] for texts in definitions],
        "executions": entries,
    }
    if known.named_secrets and (used := _used_by(part, known.named_secrets)):
        sent["named_secrets"] = used
    if limits := _of(tenants, known.limits):
        sent["limits"] = limits
    if weights := _of(tenants, known.weights):
        sent["weights"] = weights
    return sent


def _of(tenants: Iterable[UUID], known: Mapping[UUID, T]) -> dict[str, T]:
    return {str(one): known[one] for one in tenants if one in known} if known else {}


def names_of(row: Claimed) -> list[str]:
    """Return the names of the named secrets that the row's target uses."""
    # Few targets use any, and sessions return a jsonb column as text.
    text: Any = row.target
    if text is None or (isinstance(text, str) and _NAMED not in text):
        return []
    target = orjson.loads(text) if isinstance(text, str) else text
    return [name for name in target.get("named_secrets") or () if isinstance(name, str)]


def _used_by(
    part: Sequence[Claimed], known: Mapping[UUID, Mapping[str, bytes]]
) -> dict[str, dict[str, str]]:
    """Return the sealed named secrets that executions of a message use, in base64."""
    used: dict[str, dict[str, str]] = {}
    for row in part:
        for name in names_of(row) if row.tenant_id in known else ():
            if (blob := known[row.tenant_id].get(name)) is not None:
                used.setdefault(str(row.tenant_id), {})[name] = _text(blob)
    return used


def decode(sent: Mapping[str, Any]) -> Message:
    """Return an arrived message, its entries as records with their target and retry policy.

    Equal ones are one object. Raise LookupError, TypeError or ValueError for a message that no
    dispatch has sent.
    """
    tenants, definitions = list(sent["secrets"]), sent["definitions"]
    entries = [_record(row, tenants, definitions) for row in sent["executions"]]
    limits, weights = sent.get("limits"), sent.get("weights")
    if limits or weights:
        for entry in entries:
            if limits and (limit := limits.get(entry["tenant"])):
                entry["tenant_limits"] = limit
            if weights and (own := weights.get(entry["tenant"])):
                entry["weight"] = own
    message: Message = {
        "incarnation": sent["incarnation"],
        "offset": sent["offset"],
        "bytes": sent["bytes"],
        "secrets": sent["secrets"],
        "keys": sent.get("keys") or {},
        "executions": entries,
    }
    if "named_secrets" in sent:
        message["named_secrets"] = sent["named_secrets"]
    return message


def _record(row: list[Any], tenants: list[str], definitions: list[Any]) -> Entry:
    tenant, definition, more, *values = row
    record: Any = dict(zip(_FIELDS, values, strict=True))
    record["tenant"] = tenants[tenant]
    record["target"], record["retry_policy"] = definitions[definition]
    if more:
        record.update(more)
    found: Entry = record
    return found


def _entry(
    row: Claimed, offset: float, tenants: dict[UUID, int], definitions: dict[tuple[str, str], int]
) -> list[Any]:
    """Return the row's entry; add its tenant and definition to the message's."""
    definition = (_json(row.target), _json(row.retry_policy))
    start_by = row.lease_expires_at.timestamp() - 1.0 + offset
    return [
        tenants.setdefault(row.tenant_id, len(tenants)),
        definitions.setdefault(definition, len(definitions)),
        _rare(row),
        row.id,
        row.task_id,
        row.revision,
        row.token,
        row.attempt + 1,
        row.max_attempts,
        row.priority,
        row.due_at.timestamp() + offset,
        math.floor(start_by * 1000),
        row.scheduled_for.timestamp(),
        _text(row.sealed),
        row.destination,
        row.url,
    ]


def _rare(row: Claimed) -> dict[str, Any]:
    """Return the fields that few executions have."""
    found: dict[str, Any] = {}
    if limits := limits_text(row.max_in_flight, row.rate_per_second, row.breaker):
        found["limits"] = limits
    if row.sealed_payload is not None:
        found["payload"] = _text(row.sealed_payload)
    if row.sealed_progress is not None:
        found["progress"] = _text(row.sealed_progress)
    if row.named is not None:
        found["named"] = orjson.Fragment(_json(row.named))
    if row.lost_count:
        found["lost"] = row.lost_count
    if row.trace_context:
        found["trace"] = row.trace_context
    return found


def _json(part: Any) -> str:
    """Return the text of a jsonb column, which sessions return as text."""
    return part if isinstance(part, str) else orjson.dumps(part).decode()


def _text(blob: bytes) -> str:
    return b2a_base64(blob, newline=False).decode()
