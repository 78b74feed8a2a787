"""Selects and shows dead letters for ``manage.py dlq``: filters, ids, tables, one letter.

Called by the command only. Payloads are masked unless the command line asks for them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from uuid import UUID

from executions.models import DeadLetter
from executions.querysets import DeadLetterQuerySet
from insight.presentation.dead_letters import present_letter, present_letters
from operations.finding import ID_TAIL, find_row
from operations.payload_readings import note_shown
from shared.commands import shown, table
from shared.duration_words import duration_text
from shared.redaction import MASK
from tasks.models import Task
from tenants.services import get_tenant

_NAME_WIDTH = 24
_ERROR_WIDTH = 24
_ANSWER_CHARACTERS = 2000
_EXPORT_PAGE = 200


def matching(options: Mapping[str, Any]) -> DeadLetterQuerySet:
    """Return the letters that the command's filters choose, of one tenant or of all."""
    tenant = options["tenant"]
    task = None if options["task"] is None else find_task(options["task"], tenant).id
    return letters_of(tenant).filtered(
        {
            "resolved": options["resolved"],
            "resolution": options["resolved_as"],
            "task": task,
            "error_signature": options["signature"],
            "q": options["q"],
        }
    )


def letters_of(tenant: str | None) -> DeadLetterQuerySet:
    """Return the letters of the tenant of this name or id, or of all tenants."""
    if tenant is None:
        return DeadLetter.objects.all()
    return DeadLetter.objects.for_tenant(get_tenant(tenant).id)


def find_letter(text: str, tenant: str | None = None) -> DeadLetter:
    """Return the letter of this id, or of the only id that ends so; raise NotFound."""
    found: DeadLetter = find_row(letters_of(tenant), text, "dead letter")
    return found


def find_task(text: str, tenant: str | None = None) -> Task:
    """Return the task of this id, or of the only id that ends so; deleted ones too."""
    rows = Task.objects.all()
    if tenant is not None:
        rows = rows.filter(tenant_id=get_tenant(tenant).id)
    found: Task = find_row(rows, text, "task")
    return found


def documents(letters: Sequence[DeadLetter], *, payload: bool) -> list[dict[str, Any]]:
    """Return the letters as the API lists them, each with its tenant."""
    found = [
        _masked({**document, "tenant_id": str(letter.tenant_id)}, payload=payload)
        for letter, document in zip(letters, present_letters(letters), strict=True)
    ]
    if payload:
        note_shown("dead_letter", found)
    return found


def document(letter: DeadLetter, *, payload: bool) -> dict[str, Any]:
    """Return the single view of a letter with its tenant."""
    found = _masked({**present_letter(letter), "tenant_id": str(letter.tenant_id)}, payload=payload)
    if found["edit"] is not None and not payload:
        found["edit"] = {"payload": MASK}
    # The answers of its attempts are there in any case.
    note_shown("dead_letter", [found])
    return found


def export(found: DeadLetterQuerySet, *, payload: bool) -> Iterator[dict[str, Any]]:
    """Yield every letter, oldest first, a page of them in memory at a time."""
    after: UUID | None = None
    ordered = found.order_by("id")
    while True:
        page = list((ordered.filter(id__gt=after) if after else ordered)[:_EXPORT_PAGE])
        if not page:
            return
        yield from documents(page, payload=payload)
        after = page[-1].id


def _masked(found: dict[str, Any], *, payload: bool) -> dict[str, Any]:
    if not payload and found["payload"] is not None:
        found["payload"] = MASK
    return found


def list_lines(letters: Sequence[DeadLetter], *, wide: bool) -> list[str]:
    """Return the letters as a table, at most 80 columns unless wide."""
    names = task_names(letters)
    rows = []
    for letter in letters:
        identity, name = str(letter.id), names.get(letter.task_id, "-")
        cause = letter.error_signature
        if not wide:
            identity = identity[-ID_TAIL:]
            name, cause = shown(name, _NAME_WIDTH), shown(cause, _ERROR_WIDTH)
        moment = f"{letter.created_at:%m-%d %H:%M:%S}"
        rows.append((identity, moment, letter.resolution or "open", cause, name))
    return table(("id", "failed (UTC)", "state", "cause", "task"), rows)


def task_names(letters: Sequence[DeadLetter]) -> dict[UUID, str]:
    """Return the names of the letters' tasks by id, in one query."""
    wanted = {letter.task_id for letter in letters}
    return dict(Task.objects.filter(id__in=wanted).values_list("id", "name"))


def group_lines(groups: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the causes as a table, most frequent first."""
    rows = [
        (
            group["count"],
            group["tasks"],
            f"{group['first_seen']:%m-%d %H:%M}",
            f"{group['last_seen']:%m-%d %H:%M}",
            shown(group["error_signature"], 40),
        )
        for group in groups
    ]
    return table(("count", "tasks", "first (UTC)", "last (UTC)", "cause"), rows)


def show_lines(found: Mapping[str, Any]) -> Iterator[str]:
    """Return one letter as people read it: facts, attempts, the last answer."""
    error = found["error"] or {"code": "-", "message": ""}
    state = f"resolved as {found['resolution']}" if found["resolved"] else "open"
    facts = (
        ("id", found["id"]),
        ("tenant", found["tenant_id"]),
        ("task", found["task_id"]),
        ("execution", found["execution_id"]),
        ("failed", found["created_at"]),
        ("cause", found["error_signature"]),
        ("error", f"{error['code']}: {error['message']}"),
        ("state", f"{state} {found['note']}".rstrip()),
        ("payload", _brief(found["payload"])),
    )
    for name, value in facts:
        yield f"{name:<10} {shown(str(value))}"
    for attempt in found["attempts"]:
        yield f"{'attempt':<10} {_attempt(attempt)}"
    yield from _answer_lines(found["last_response"])


def _brief(payload: Any) -> str:
    return f"{MASK} (see it with --payload)" if payload == MASK else str(payload)


def _attempt(attempt: Mapping[str, Any]) -> str:
    status = attempt["response_status"] or (attempt["error"] or {}).get("code") or "-"
    took = duration_text(attempt["duration_ms"])
    return f"{attempt['number']}: {attempt['outcome']} {status} at {attempt['finished_at']}, {took}"


def _answer_lines(answer: Mapping[str, Any] | None) -> Iterator[str]:
    if answer is None:
        yield f"{'answer':<10} none was captured"
        return
    yield f"{'answer':<10} {answer['status']}"
    for name, value in answer["headers"].items():
        yield f"{'':<10} {shown(f'{name}: {value}', 68)}"
    yield f"{'':<10} {shown(answer['body'], _ANSWER_CHARACTERS)}"
