"""The check beside the form of a workflow: the graph that a definition makes, and what is wrong."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_POST

from dashboard.access import ConsoleRequest, page
from dashboard.pictures.dag import DagStep
from dashboard.workflow_text import read_text
from executions.loop.clocks import database_now
from shared.exceptions import FieldError, InvalidInput, PunctualError, TooLarge
from tasks.calendars import limits_of
from tasks.definition import Definition
from tasks.limits import STEP_DEPENDENCIES, STEPS
from tasks.models import Task
from tasks.presentation import describe_schedule
from tasks.revisions import read_definition
from tasks.validation.workflow import parse_workflow, parse_workflow_replace
from tasks.workflow.graph import Cycle, Graph, Step
from tenants.choices import Role
from workflows.launching import get_workflow

_SHOWN_ERRORS = 20
_STEP = re.compile(r"#/steps/([0-9]{1,4})(?=/|$)")


@require_POST
@page(Role.VIEWER)
def workflow_check(request: ConsoleRequest) -> HttpResponse:
    """Show what is wrong with the text, or the graph and the schedule that it makes; a fragment."""
    text = request.POST.get("definition", "")
    if not text.strip():
        return render(request, "dashboard/_workflow_check.html", {"is_empty": True})
    body: Any = None
    try:
        body = read_text(text)
        definition = judged(request, body, task_of(request))
    except (InvalidInput, TooLarge) as refused:
        shown: dict[str, Any] = {"errors": errors_of(refused, body), "dag": preview(body)}
    else:
        shown = shown_of(definition, body)
    return render(request, "dashboard/_workflow_check.html", shown)


def judged(request: ConsoleRequest, body: Any, task: Task | None) -> Definition:
    """Return the definition that the body makes, of a new workflow or of this one's next version.

    Raise InvalidInput or TooLarge.
    """
    now, limits = database_now(), limits_of(request.visitor.tenant.pk)
    if task is None:
        return parse_workflow(body, now=now, limits=limits)
    return parse_workflow_replace(body, now=now, limits=limits, current=read_definition(task))


def task_of(request: ConsoleRequest) -> Task | None:
    """Return the workflow that the form edits, None for a new one."""
    try:
        wanted = UUID(request.POST.get("workflow", ""))
    except ValueError:
        return None
    return get_workflow(request.visitor.tenant.pk, wanted)


def shown_of(definition: Definition, body: Any, links: Sequence[str | None] = ()) -> dict[str, Any]:
    """Return what the check shows of a definition without errors."""
    return {
        "name": definition.name,
        "dag": preview(body, links),
        "schedule_text": describe_schedule(definition, seed="", anchor=database_now()),
    }


def preview(body: Any, links: Sequence[str | None] = ()) -> list[DagStep]:
    """Return the graph of the steps, as far as it can be drawn; ``links`` has one for each step.

    Steps without a key of their own, and names of steps that are not there, are left out. More
    steps or prerequisites than a workflow may have are not drawn: the text may be of any size.
    """
    steps = body.get("steps") if isinstance(body, Mapping) else None
    if not isinstance(steps, list) or not _is_bounded(steps):
        return []
    given: dict[str, tuple[int, Mapping[str, Any]]] = {}
    for number, step in enumerate(steps, start=1):
        key = step.get("key") if isinstance(step, Mapping) else None
        if isinstance(key, str) and key:
            given.setdefault(key, (number, step))
    try:
        graph = Graph(
            Step(number, key, tuple(given[one][0] for one in _prerequisites(step) if one in given))
            for key, (number, step) in given.items()
        )
    except Cycle:
        return []
    return [
        DagStep(
            number,
            graph.steps[number].key,
            graph.steps[number].depends_on,
            note="for each item" if given[graph.steps[number].key][1].get("for_each") else "",
            href=links[number - 1] if number <= len(links) else None,
        )
        for number in graph.order
    ]


def _is_bounded(steps: Sequence[Any]) -> bool:
    return len(steps) <= STEPS and all(
        len(_prerequisites(step)) <= STEP_DEPENDENCIES
        for step in steps
        if isinstance(step, Mapping)
    )


def _prerequisites(step: Mapping[str, Any]) -> list[str]:
    given = step.get("depends_on")
    keys = given if isinstance(given, list) else []
    return list(dict.fromkeys(key for key in keys if isinstance(key, str)))


def errors_of(refused: PunctualError, body: Any) -> list[dict[str, Any]]:
    """Return what is wrong, each with its pointer and the key of the step that it is in."""
    if not isinstance(refused, InvalidInput):
        return [{"pointer": "", "step": "", "message": refused.message}]
    return [_error(one, body) for one in refused.errors[:_SHOWN_ERRORS]]


def _error(error: FieldError, body: Any) -> dict[str, Any]:
    found = _STEP.match(error.pointer)
    steps: Sequence[Any] = body.get("steps") or () if isinstance(body, Mapping) else ()
    place = int(found[1]) if found else -1
    inside = isinstance(steps, list) and 0 <= place < len(steps)
    step = steps[place] if inside else None
    key = str(step.get("key", ""))[:80] if isinstance(step, Mapping) else ""
    pointer = "" if error.pointer == "#" else error.pointer
    return {"pointer": pointer, "step": key, "message": error.message}
