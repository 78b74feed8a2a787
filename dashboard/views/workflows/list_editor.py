"""The list editor of a workflow: a change in the list is applied here to the whole definition.

The page sends its definition with each change, and gets back the definition, the list and the
check. Nothing is stored: saving sends the definition, as the text form does.
"""

from __future__ import annotations

from typing import Any, cast
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_POST

from dashboard.access import ConsoleRequest, page
from dashboard.payload_form import pretty
from dashboard.views.workflows.checking import errors_of, judged, preview, shown_of, task_of
from dashboard.workflow_list.cards import field_id, list_view, place_of
from dashboard.workflow_list.changes import apply
from dashboard.workflow_list.draft import WORKFLOW, Draft, draft_of, refused
from dashboard.workflow_text import LONGEST, read_text, write_text
from shared.exceptions import FieldError, InvalidInput, TooLarge
from tasks.definition import WORKFLOW_POOL
from tasks.models import Task
from tenants.choices import Role

#: Workflows that a step is offered to run; others are named by their ids.
_MOST_OFFERED = 200
_TEMPLATE = "dashboard/_workflow_list_answer.html"


@require_POST
@page(Role.ADMIN)
def workflow_list(request: ConsoleRequest) -> HttpResponse:
    """Apply a change to the definition; show it as a list, or as text, with its check.

    A fragment. A definition that cannot be shown as a list stays text, with the reason.
    """
    sent = {name: cast(str, value) for name, value in request.POST.items()}
    body: Any = None
    try:
        body = read_text(sent.get("definition", ""))
        draft = draft_of(body, sent)
    except InvalidInput as error:
        errors = errors_of(error, body)
        return render(request, _TEMPLATE, {"is_text": True, "refused": errors[0]["message"]})
    if sent.get("do") == "text":
        text = pretty(draft.body) if sent.get("format") == "json" else write_text(draft.body)
        return render(request, _TEMPLATE, {"is_text": True, "text": text})
    try:
        apply(draft, sent, cast(list[str], request.POST.getlist("value")))
        if draft.changed and len(draft.text) > LONGEST:
            draft = draft_of(read_text(sent["definition"]), sent)
            raise refused(f"The definition would have more than {LONGEST:,} letters.")
    except InvalidInput as error:
        draft.said, draft.has_failed = error.message, True
    return render(request, _TEMPLATE, _context(request, draft, task_of(request)))


def list_context(request: ConsoleRequest, body: Any, *, task: Task | None) -> dict[str, Any]:
    """Return what the form shows of a definition as a list; nothing where it must be text."""
    try:
        draft = draft_of(body)
    except InvalidInput:
        return {}
    return _context(request, draft, task)


def _context(request: ConsoleRequest, draft: Draft, task: Task | None) -> dict[str, Any]:
    links = [f"#step-{card}" for card in draft.cards]
    errors: list[FieldError] = []
    try:
        check = shown_of(judged(request, draft.body, task), draft.body, links)
    except (InvalidInput, TooLarge) as error:
        fallback = [FieldError("#", error.code, error.message)]
        errors = error.errors if isinstance(error, InvalidInput) else fallback
        check = {
            "errors": _linked(draft, errors, errors_of(error, draft.body)),
            "dag": preview(draft.body, links),
        }
    focus = draft.focus
    return {
        "list": list_view(draft, errors),
        "draft": draft,
        "check": check,
        "opened": " ".join(str(card) for card in sorted(draft.opened)),
        "cards": " ".join(str(card) for card in draft.cards),
        "focus": _focus(*focus) if focus else "",
        "workflows": _offered(request) if _names_workflows(draft) else [],
    }


def _linked(
    draft: Draft, errors: list[FieldError], shown: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Return the errors of the check, each with the card and the field that it leads to."""
    found = []
    for error, one in zip(errors, shown, strict=False):
        card, name = place_of(draft, error.pointer)
        found.append({**one, "card": card, "field": name})
    return found


def _focus(card: int, name: str) -> str:
    """Return the id of what gets the focus; a card without a field is its heading."""
    if card == WORKFLOW and name in ("add", "page"):
        return f"list-{name}"
    if card == WORKFLOW:
        name = name or "name"
    return field_id(card, name) if name else f"step-{card}-head"


def _names_workflows(draft: Draft) -> bool:
    return any(isinstance(one, dict) and one.get("kind") == "workflow" for one in draft.steps)


def _offered(request: ConsoleRequest) -> list[tuple[UUID, str]]:
    found = Task.objects.for_tenant(request.visitor.tenant.pk).filter(pool=WORKFLOW_POOL)
    return list(found.order_by("name").values_list("pk", "name")[:_MOST_OFFERED])
