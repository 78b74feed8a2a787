"""Calls made up from the API's document, with keys that may not do what most of them ask for.

The keys of a viewer and an operator of Alpha, and the key of Beta's owner, which names Alpha's
rows. Nothing is a server error or an answer that the document does not know; nothing is shown or
changed that the table of access does not let the key see or change.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from schemathesis.specs.openapi.schemas import OpenApiSchema

from events.models import AuditEntry
from tenants.choices import SCOPES
from tests.access.conftest import _quiet, _transaction  # noqa: F401 - fixtures
from tests.access.hidden import HIDDEN_TEXT, make_hidden_world
from tests.access.operations import BY_TOKEN, OPERATIONS, Operation
from tests.access.rights import CREDENTIALS, Rights
from tests.access.stored_rows import StoredRows
from tests.access.world import ALPHA, BETA, Caller, World, make_world, undone
from tests.factories import release
from tests.support.api import ApiClient, make_key
from tests.support.made_calls import Aims, Call, content_of, load_document, make_calls

pytestmark = pytest.mark.django_db

_FOREIGN = CREDENTIALS["a foreign owner's key"]
KEYS: dict[str, Rights] = {
    "a viewer's key": Rights(scopes=frozenset({"read"})),
    "an operator's key": Rights(scopes=frozenset({"read", "operate"}), blind=True),
    "a foreign owner's key": _FOREIGN,
}
ADMIN = {"an admin's key": Rights(scopes=frozenset(SCOPES))}
NAMES = sorted({one.name for one in (*OPERATIONS, *BY_TOKEN)})
#: What a call stores of itself: an answer under its key, and that a payload was read.
_OF_CALLS = {"tenants.IdempotencyRecord", "events.AuditEntry", "events.AuditChain"}
#: What no operator changes, whatever it runs, pauses or retries.
_OF_ADMINS = {
    *("tenants.Tenant", "tenants.ApiKey", "tenants.Membership", "tenants.Invitation"),
    *("tenants.SigningSecret", "tenants.DataKey", "tasks.NamedSecret", "tasks.Calendar"),
    *("notifications.NotificationPreference", "notifications.PushSubscription"),
    "executions.Erasure",
}


@dataclass(frozen=True)
class Worlds:
    """Alpha, at whose rows the calls are aimed, its neighbour, and the keys."""

    alpha: World
    clients: dict[str, ApiClient]
    aims: Aims
    rows: StoredRows
    #: How many entries the audit log has of what was done to Alpha.
    deeds: int


@pytest.fixture(scope="module")
def document() -> OpenApiSchema:
    return load_document()


@pytest.fixture(scope="module")
def worlds(_transaction: None, _quiet: None) -> Iterator[Worlds]:  # noqa: F811 - fixtures
    beta = make_world(words=BETA)
    release()  # Alpha's work is done alone
    alpha = make_hidden_world()
    clients = {}
    for kind, rights in {**KEYS, **ADMIN}.items():
        tenant = beta.tenant if rights.foreign else alpha.tenant
        parts = {"owner": rights.owner, "sees_payloads": not rights.blind}
        clients[kind] = ApiClient(make_key(tenant, sorted(rights.scopes), **parts)[1])
    rows = StoredRows(alpha.tenant)
    yield Worlds(alpha, clients, _aims(alpha), rows, _deeds(alpha))
    assert rows.missed() == []


def _deeds(world: World) -> int:
    entries = AuditEntry.objects.filter(tenant_id=world.tenant.id)
    return entries.exclude(action="payload.read").count()


def _aims(world: World) -> Aims:
    """Return the world's rows by what the document calls them."""
    ids: dict[str, list[Any]] = {
        name: [value] for name, value in world.ids.items() if isinstance(value, int)
    }
    ids |= {name: [str(value)] for name, value in world.ids.items() if name not in ids}

    def some(*names: str) -> list[Any]:
        return [ids[name][0] for name in names]

    tasks, members = some("task_id", "workflow_id"), some("member", "owner_member")
    executions = some("logged_id", "execution_id", "waiting_id", "running_id", "failed_run_id")
    paths = {
        **ids,
        "task_id": tasks,
        "workflow_id": tasks[::-1],
        "execution_id": executions,
        "run_id": some("run_id", "failed_run_id"),
        "letter_id": some("letter_id", "unsettled_id"),
        "key_id": some("key_id", "owner_key_id"),
        "member_id": members,
        "name": some("secret"),
        "key": ["each", "ok", "after", "load", "wait"],
    }
    fields = {
        **dict.fromkeys(("task", "depends_on", "muted_task_ids"), tasks),
        **dict.fromkeys(("member", "from"), members),
        "series": some("job_id"),
        "object_id": [*tasks, *executions],
        "pool": some("pool"),
        "destination": some("host"),
    }
    caller = Caller(ApiClient())
    bodies: dict[str, list[Any]] = {}
    for operation in OPERATIONS:
        if isinstance(operation.body, dict):
            bodies.setdefault(operation.name, []).append(operation.filled(world, caller))
    return Aims(paths, fields, bodies)


@pytest.mark.parametrize("name", NAMES)
def test_made_up_calls_find_no_fault_in_the_answers_to_keys_with_few_rights(
    document: OpenApiSchema, worlds: Worlds, name: str
) -> None:
    calls = make_calls(document, name, worlds.aims, drawn=1, covering=3)

    _expect_no_fault(name, calls, worlds, KEYS)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_calls_at_every_boundary_find_no_fault_in_the_answers(
    document: OpenApiSchema, worlds: Worlds, name: str
) -> None:
    calls = make_calls(document, name, worlds.aims, drawn=3, covering=20)

    _expect_no_fault(name, calls, worlds, {**KEYS, **ADMIN})


def _expect_no_fault(name: str, calls: list[Call], worlds: Worlds, keys: dict[str, Rights]) -> None:
    assert not _names_rows(name) or any(call.is_aimed for call in calls)
    faults, done = [], set()
    for kind, rights in keys.items():
        judge = Judge(name, kind, rights, worlds)
        for call in calls:
            status, found = judge.judged(call)
            faults += [f"{kind}: {fault}" for fault in found]
            if status < 300:
                done.add(kind)
    assert not faults, f"{len(faults)} faults:\n" + "\n".join(faults[:20])
    # Calls that are all refused find nothing.
    assert not _reads(name) or "a viewer's key" in done


def _reads(name: str) -> bool:
    of_members = not any(one.of_operators for one in _variants(name))
    return of_members and all(
        one.needs <= {"read"} and one.method == "GET" for one in _variants(name)
    )


def _variants(name: str) -> list[Operation]:
    return [one for one in (*OPERATIONS, *BY_TOKEN) if one.name == name]


def _names_rows(name: str) -> bool:
    return any("{" in one.call for one in _variants(name))


@dataclass(frozen=True)
class Judge:
    """What the table of access says about an operation and a key, held against the answers."""

    name: str
    kind: str
    rights: Rights
    worlds: Worlds

    @property
    def allowed(self) -> list[Operation]:
        """The forms of the call that the key may make; a key makes none of an execution's token."""
        of_keys = [one for one in OPERATIONS if one.name == self.name]
        return [one for one in of_keys if one.permits(self.rights)]

    @property
    def changes(self) -> bool:
        """Whether the key may change rows of Alpha by the call."""
        changing = any(one.method != "GET" and one.needs != {"read"} for one in self.allowed)
        return changing and not self.rights.foreign

    @property
    def finds(self) -> bool:
        """Whether the key finds the rows that the paths name."""
        return not self.rights.foreign or any(one.foreign != 404 for one in _variants(self.name))

    def judged(self, call: Call) -> tuple[int, list[str]]:
        """Make the call, take back what it changed, and return its status and what was wrong."""
        self.worlds.rows.remember()
        with undone():
            # Each call finds the rows as they were.
            answer = call.ask(self.worlds.clients[self.kind])
            changed = self._changed()
        faults = self._faults(call, answer)
        if self.changes and answer.status_code < 400:
            changed &= set() if "admin" in self.rights.scopes else _OF_ADMINS
        if changed:
            faults.append(f"{call} -> {answer.status_code}: has changed {sorted(changed)}")
        return answer.status_code, faults

    def _changed(self) -> set[str]:
        changed = set(self.worlds.rows.changed())
        if self.rights.foreign:
            return changed
        is_done = (
            AuditEntry._meta.label in changed and _deeds(self.worlds.alpha) != self.worlds.deeds
        )
        known = {"what was done"} if is_done and not self.changes else set()
        return changed - _OF_CALLS | known

    def _faults(self, call: Call, answer: Any) -> list[str]:
        content = content_of(answer)
        shown = f"{content.decode(errors='replace')} {dict(answer.items())}"
        said = f"{call} -> {answer.status_code} {shown[:300]}"
        faults = [f"shows {word!r}" for word in self._unseen() if word in shown]
        if answer.status_code >= 500:
            faults.append("server error")
        elif differs := call.differs(answer):
            faults.append(differs)
        if answer.status_code < 300 and not self._may_succeed(call):
            faults.append("is done without the right")
        return [f"{said}: {fault}" for fault in faults]

    def _may_succeed(self, call: Call) -> bool:
        return bool(self.allowed) and (self.finds or not call.is_aimed)

    def _unseen(self) -> list[str]:
        """Return the words that no answer to the key may hold."""
        own, other = (BETA, ALPHA) if self.rights.foreign else (ALPHA, BETA)
        words = [own.none, other.none, other.readers, other.admins]
        if self.rights.foreign or self.rights.blind:
            words.append(HIDDEN_TEXT)
        if "admin" not in self.rights.scopes:
            words.append(own.admins)
        if not self.rights.owner:
            words.append("whsec_")
        return words
