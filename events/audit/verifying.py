"""Verifies a tenant's chain entry by entry, without changing anything.

Concurrent writers do not disturb it: the end of the chain is read first, and entries that follow
it meanwhile are verified like all others.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple
from uuid import UUID

import orjson

from events.audit import keys, links
from events.models import AuditChain, AuditEntry
from shared.sql import rows

_AT_ONCE = 2000
#: The action of a checkpoint: the begin of the chain was removed by the retention.
FORGOTTEN = "audit.forgotten"
#: The triggers that keep the log append-only.
GUARDS = (
    "audit_chains_are_not_truncated",
    "audit_entries_are_append_only",
    "audit_entries_are_not_removed",
    "audit_entries_are_not_truncated",
)


class Fault(StrEnum):
    """Why a chain does not verify."""

    MISSING = "missing"
    ALTERED = "altered"
    NOT_KEYED = "not_keyed"
    UNSEALED = "unsealed"
    UNKNOWN_KEY = "unknown_key"
    EARLIER_KEY = "earlier_key"
    CUT_OFF = "cut_off"
    END_DIFFERS = "end_differs"
    HEAD_DIFFERS = "head_differs"


#: Fault -> what it means, for people.
MEANINGS: Mapping[Fault, str] = {
    Fault.MISSING: "an entry is missing, or entries were moved",
    Fault.ALTERED: "this entry, or the one before it, was altered or written anew",
    Fault.NOT_KEYED: "this entry has no key, although the log has one",
    Fault.UNSEALED: "no entry of the chain has a key; `audit heads` seals chains of old versions",
    Fault.UNKNOWN_KEY: "AUDIT_KEYS lacks the key of this entry",
    Fault.EARLIER_KEY: "this entry has an older key than the one before it",
    Fault.CUT_OFF: "the chain has lost its last entries, from this one on",
    Fault.END_DIFFERS: "the stored end of the chain is not that of its entries",
    Fault.HEAD_DIFFERS: "a kept head names another code for this entry",
}


class Head(NamedTuple):
    """The end of a chain at some time: its number and its code."""

    sequence: int
    code: bytes


#: The place before the first entry of a chain.
BEGIN = Head(0, links.START)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result for one chain; ``fault`` is None for a chain that verifies.

    The entries from ``first`` on verify, ``count`` of them, ``plain`` of these without a key;
    ``breaks_at`` is the number of the first entry that does not. An entry of the wrong key, or of
    none, is told only where no other fault is behind it: one process with wrong settings must not
    hide what is altered later.
    """

    tenant_id: UUID
    count: int
    plain: int = 0
    first: int = 1
    fault: Fault | None = None
    breaks_at: int | None = None


def verify(tenant_id: UUID) -> tuple[int, int | None]:
    """Return how many entries are valid, and the sequence number of the first that is not."""
    found = examine(tenant_id)
    return found.count, found.breaks_at


def examine(tenant_id: UUID, heads: Sequence[Head] = ()) -> Verdict:
    """Verify a tenant's chain, also against heads that were kept outside of the database."""
    while True:
        begin = begin_of(tenant_id)
        verdict = _examined(tenant_id, heads, begin)
        # The retention may have removed entries meanwhile, which is no fault.
        if verdict.fault is None or begin_of(tenant_id) == begin:
            return verdict


def _examined(tenant_id: UUID, heads: Sequence[Head], begin: Head) -> Verdict:
    stored = _end_of(tenant_id)
    walk = _Walk(tenant_id, begin)
    fault = walk.along(_entries(tenant_id), heads, stored)
    if fault is None and walk.at < max(head.sequence for head in (*heads, stored)):
        fault = Fault.CUT_OFF
    if fault is None and _end_of(tenant_id).sequence < walk.at:
        fault = Fault.END_DIFFERS
    if fault is None and walk.is_unsealed:
        fault = Fault.UNSEALED
    return walk.verdict(fault)


def examine_entries(
    tenant_id: UUID,
    entries: Iterator[AuditEntry],
    before: Head,
    heads: Sequence[Head] = (),
    *,
    sealed: bool = False,
) -> Verdict:
    """Verify entries from elsewhere, such as an export; ``before`` is the head that they follow.

    With ``sealed``, entries of which none has a key do not verify: anybody can make such ones.
    """
    walk = _Walk(tenant_id, before)
    fault = walk.along(entries, heads)
    if fault is None and sealed and walk.is_unsealed:
        fault = Fault.UNSEALED
    return walk.verdict(fault)


def begin_of(tenant_id: UUID) -> Head:
    """Return the place before the first entry of a chain.

    That is behind what the newest checkpoint says was removed. The checkpoint is an entry of the
    chain and is verified with it; one that was forged does not verify.
    """
    chosen = AuditEntry.objects.filter(tenant_id=tenant_id, action=FORGOTTEN, object_kind="audit")
    newest = chosen.order_by("-sequence").values_list("after", flat=True).first()
    if newest is None:
        return BEGIN
    try:
        facts = orjson.loads(newest)
        return Head(int(facts["through"]), bytes.fromhex(facts["code"]))
    except (ValueError, KeyError, TypeError):
        return BEGIN


def missing_guards() -> list[str]:
    """Return the triggers of the log that are missing or switched off."""
    there = {name for (name,) in rows("audit/guards")}
    return sorted(set(GUARDS) - there)


class _Walk:
    """The way along the entries of a chain; ``at`` is the number of the last that verifies."""

    def __init__(self, tenant_id: UUID, before: Head = BEGIN) -> None:
        self._tenant_id = tenant_id
        self._before = before.sequence
        self.at, self._code = before
        self._plain = self._age = 0
        #: The first entry that verifies, but under the wrong key, or none; and what it is.
        self._wrong_key: tuple[Fault, int] | None = None
        self._keys = keys.keyring()
        # From the oldest key to the newest: an entry has the key of the one before, or a newer one.
        self._ages = {key_id: age for age, key_id in enumerate(reversed(list(self._keys)), start=1)}
        self._ages[keys.PLAIN] = 0

    def along(
        self, entries: Iterator[AuditEntry], heads: Sequence[Head], end: Head | None = None
    ) -> Fault | None:
        """Go along the entries up to the first fault; return it, or None."""
        kept: dict[int, set[bytes]] = {}
        for head in heads:
            kept.setdefault(head.sequence, set()).add(head.code)
        for entry in entries:
            fault = self._take(entry)
            if fault is None and kept.get(entry.sequence, {self._code}) != {self._code}:
                fault = Fault.HEAD_DIFFERS
            if fault is None and end and entry.sequence == end.sequence:
                fault = None if _agrees(end.code, self._code) else Fault.END_DIFFERS
            if fault is not None:
                return fault
            self.at, self._age = entry.sequence, max(self._age, self._ages[entry.key_id])
            self._plain += entry.key_id == keys.PLAIN
        return None

    def _take(self, entry: AuditEntry) -> Fault | None:
        """Compute the code of the next entry; return the fault of the entry, if it has one."""
        if entry.sequence != self.at + 1:
            return Fault.MISSING
        if entry.key_id not in self._ages:
            return Fault.UNKNOWN_KEY
        wrong = None
        if self._ages[entry.key_id] < self._age:
            wrong = Fault.EARLIER_KEY if entry.key_id else Fault.NOT_KEYED
        self._code = links.code(self._code, entry, self._keys.get(entry.key_id, b""))
        if not _agrees(bytes(entry.hash), self._code):
            return wrong or Fault.ALTERED
        if wrong is not None and self._wrong_key is None:
            self._wrong_key = wrong, entry.sequence
        return None

    @property
    def is_unsealed(self) -> bool:
        """Whether no entry has a key although there is one: the first with a key seals a chain."""
        return bool(self._keys) and bool(self.at) and self._age == 0

    def verdict(self, fault: Fault | None) -> Verdict:
        """Return the verdict at this place."""
        breaks_at = None if fault is None else self.at + 1
        if fault is None and self._wrong_key is not None:
            fault, breaks_at = self._wrong_key
        count = (breaks_at or self.at + 1) - 1 - self._before
        return Verdict(self._tenant_id, count, self._plain, self._before + 1, fault, breaks_at)


def _entries(tenant_id: UUID) -> Iterator[AuditEntry]:
    # By number, not by one long cursor: a session's statements have a time limit.
    last = -1
    while True:
        chosen = AuditEntry.objects.filter(tenant_id=tenant_id, sequence__gt=last)
        found = list(chosen.order_by("sequence")[:_AT_ONCE])
        yield from found
        if len(found) < _AT_ONCE:
            return
        last = found[-1].sequence


def _end_of(tenant_id: UUID) -> Head:
    found = AuditChain.objects.filter(tenant_id=tenant_id).order_by("-sequence").first()
    return Head(found.sequence, bytes(found.hash)) if found else BEGIN


def _agrees(known: bytes, code: bytes) -> bool:
    return hmac.compare_digest(known, code)
