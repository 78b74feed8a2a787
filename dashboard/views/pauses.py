"""Standing pauses: the open ones with the tasks that they hold, a new one, and their end."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db.models import F, Window
from django.db.models.functions import RowNumber
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse

from dashboard.access import ConsoleRequest, Done, action, page
from dashboard.fields import read_text
from dashboard.listing import read_filters, read_page
from dashboard.pause_form import PAUSES, read_end
from executions.changes.pauses import Wanted, create_pause, end_pause, list_pauses, reach_of
from executions.loop.clocks import database_now
from insight.presentation.pauses import present_pauses, present_reach
from shared.exceptions import Conflict, FieldError, InvalidInput
from tasks.choices import OnResume, PauseScope
from tasks.models import Task
from tasks.standing_pauses import describe
from tenants.choices import Role

_SHOWN = 5
_ENDED = 5
_SCOPES = (
    (PauseScope.LABEL.value, "a label"),
    (PauseScope.DESTINATION.value, "a destination"),
    (PauseScope.POOL.value, "a worker pool"),
    (PauseScope.TENANT.value, "the whole tenant"),
)
_HOURS = (("", "until I end it"), *PAUSES[1:])
_ON_RESUME = (
    (OnResume.SKIP.value, "is skipped"),
    (OnResume.RUN_ONCE.value, "runs once, afterwards"),
    (OnResume.REPLAY.value, "runs for each missed time"),
)
_FORM = ("scope", "value", "hours", "until", "note", "on_resume")


@page(Role.VIEWER)
def pauses(request: ConsoleRequest) -> HttpResponse:
    """List open pauses, newest first; count the tasks that the one in the form would hold."""
    tenant = request.visitor.tenant.pk
    query = read_filters(request, {})
    found = list_pauses(tenant, is_open=True)
    listed = read_page(found, query, present=_presented, order=("-created_at", "-id"))
    ended = list_pauses(tenant, is_open=False).order_by("-ended_at")[:_ENDED]
    return render(
        request,
        "dashboard/pauses.html",
        {
            **listed,
            "query": query,
            "ended": _presented(list(ended)),
            "scopes": _SCOPES,
            "hours": _HOURS,
            "on_resume": _ON_RESUME,
            **_asked(request),
        },
    )


@action(Role.OPERATOR)
def create(request: ConsoleRequest) -> Done:
    """Pause every task that it covers, later ones too."""
    wanted = _wanted(
        request.POST,
        note=read_text(request, "note", longest=1000),
        value=read_text(request, "value", longest=520),
    )
    tenant, actor = request.visitor.tenant.pk, request.visitor.actor
    pause, count = create_pause(tenant, wanted, actor=actor)
    what = describe(pause.scope, pause.value)
    plural = "" if count == 1 else "s"
    url = reverse("dashboard:pauses")
    return Done(f"Paused {count} task{plural} of {what}. Running executions continue.", url)


@action(Role.OPERATOR)
def end(request: ConsoleRequest, pause_id: UUID) -> Done:
    """End the pause; its tasks resume, unless another pause covers them."""
    tenant, actor = request.visitor.tenant.pk, request.visitor.actor
    _, count = end_pause(tenant, pause_id, actor=actor)
    return Done(f"Ended. It held {count} task{'' if count == 1 else 's'}.")


def _asked(request: ConsoleRequest) -> dict[str, Any]:
    """Return the form as it was sent, and the tasks that the pause would hold, or its error."""
    form = {name: request.GET.get(name, "") for name in _FORM}
    asked: dict[str, Any] = {"form": form, "reach": None, "problem": ""}
    if not form["scope"]:
        return asked
    try:
        wanted = _wanted(form, note=form["note"], value=form["value"].strip())
        reach = reach_of(request.visitor.tenant.pk, wanted)
    except InvalidInput as error:
        asked["problem"] = " ".join(item.message for item in error.errors)
    except Conflict as error:
        asked["problem"] = error.message
    else:
        asked["reach"] = present_reach(wanted.scope, reach)
        asked["covers"] = describe(wanted.scope, reach.value)
        asked["ends_at"] = wanted.until
    return asked


def _wanted(form: Any, *, note: str, value: str) -> Wanted:
    return Wanted(
        scope=_one_of(form, "scope", _SCOPES),
        value=value,
        until=read_end(form, now=database_now()),
        note=note,
        on_resume=_one_of(form, "on_resume", _ON_RESUME),
    )


def _one_of(form: Any, name: str, known: tuple[tuple[str, str], ...]) -> str:
    """Return the choice, the first one for none; raise InvalidInput for an unknown one."""
    values = [value for value, _ in known]
    given = str(form.get(name) or values[0])
    if given not in values:
        label = name.replace("_", " ")
        raise InvalidInput([FieldError(f"#/{name}", "invalid", f"Choose the {label} anew.")])
    return given


def _presented(found: list[Any]) -> list[dict[str, Any]]:
    shown = present_pauses(found)
    first = _first_tasks([pause.id for pause in found])
    for one, pause in zip(shown, found, strict=True):
        one["covers"] = describe(pause.scope, pause.value)
        one["tasks"] = first.get(pause.id, [])
        one["more"] = one["task_count"] - len(one["tasks"])
    return shown


def _first_tasks(pause_ids: list[UUID]) -> dict[UUID, list[dict[str, Any]]]:
    """Return the first tasks that each pause holds, by name, in one query."""
    place = Window(RowNumber(), partition_by=F("pause_id"), order_by=("name", "id"))
    held = Task.objects.filter(pause_id__in=pause_ids).annotate(place=place)
    first: dict[Any, list[dict[str, Any]]] = {}
    rows = held.filter(place__lte=_SHOWN).order_by("place")
    for pause_id, task_id, name in rows.values_list("pause_id", "id", "name"):
        first.setdefault(pause_id, []).append({"id": task_id, "name": name})
    return first
