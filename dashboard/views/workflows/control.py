"""What people do to runs and their steps: cancel, pause, resume, retry, decide."""

from __future__ import annotations

from uuid import UUID

from dashboard.access import ConsoleRequest, Done, action
from dashboard.fields import read_text
from dashboard.payload_form import read_field
from executions.triggering.triggers import Override
from shared.exceptions import FieldError, InvalidInput
from tasks.limits import STEP_KEY_LENGTH
from tenants.choices import Role
from workflows import control
from workflows.retry_requests import request_retry
from workflows.retrying import MOST_TAKES, Retry

_SCOPES = ("all", "not_started", "downstream")
_VERSIONS = ("original", "latest")


@action(Role.OPERATOR)
def cancel(request: ConsoleRequest, run_id: UUID) -> Done:
    """Cancel a run or a part of it: what has not begun never does, what runs is told to end."""
    visitor = request.visitor
    name = _one_of(request, "scope", _SCOPES, default="all")
    key = read_text(request, "key", longest=STEP_KEY_LENGTH)
    if name == "downstream" and not key:
        raise InvalidInput([FieldError("#/key", "required", "Choose the step to cancel from.")])
    scope = control.Scope(name, key if name == "downstream" else "")
    control.cancel_run(visitor.tenant.pk, run_id, scope, actor=visitor.actor)
    return Done("Cancel requested. Running steps are told to end.", settled=False)


@action(Role.OPERATOR)
def pause(request: ConsoleRequest, run_id: UUID) -> Done:
    """Pause: no further step begins; what runs continues, and so do deadlines."""
    visitor = request.visitor
    control.pause_run(visitor.tenant.pk, run_id, actor=visitor.actor)
    return Done("Paused. No further step begins; running ones continue.")


@action(Role.OPERATOR)
def resume(request: ConsoleRequest, run_id: UUID) -> Done:
    """Resume a paused run."""
    visitor = request.visitor
    control.resume_run(visitor.tenant.pk, run_id, actor=visitor.actor)
    return Done("Resumed.")


@action(Role.OPERATOR)
def retry(request: ConsoleRequest, run_id: UUID) -> Done:
    """Begin the next take of a run, from what has failed or from one step; cancel it if asked."""
    visitor = request.visitor
    begin = read_text(request, "from", longest=STEP_KEY_LENGTH)
    wanted = Retry(
        key=begin or None,
        latest=_one_of(request, "version", _VERSIONS, default="original") == "latest",
        override=_override(request),
        cancel_running=bool(request.POST.get("cancel_running")),
    )
    take = request_retry(visitor.tenant.pk, run_id, wanted, actor=visitor.actor)
    where = "begins when what runs has ended" if wanted.cancel_running else "is below"
    return Done(f"Retry requested. Take {take} {where}.", settled=False)


@action(Role.OPERATOR)
def skip(request: ConsoleRequest, run_id: UUID, key: str) -> Done:
    """End a step that waits as skipped; of an ended run, one that has failed."""
    visitor = request.visitor
    item = _item(request)
    control.skip_step(visitor.tenant.pk, run_id, key, item, actor=visitor.actor)
    return Done(f"{_what(key, item)} is skipped.")


@action(Role.OPERATOR)
def succeed(request: ConsoleRequest, run_id: UUID, key: str) -> Done:
    """End a step that waits as succeeded, with the output of the form; an empty one is none.

    Of an ended run, one that has failed; with an item, one of a fan-out that has not begun.
    """
    visitor, item = request.visitor, _item(request)
    text = request.POST.get("output", "").strip()
    output = read_field(text, "#/output", "Output") if text else None
    control.succeed_step(visitor.tenant.pk, run_id, key, output, item, actor=visitor.actor)
    return Done(f"{_what(key, item)} is marked as succeeded.")


@action(Role.OPERATOR)
def decide(request: ConsoleRequest, run_id: UUID, key: str) -> Done:
    """Approve or refuse a step that waits for it, for the take that the page has shown."""
    visitor = request.visitor
    approved = _one_of(request, "decision", ("approve", "refuse")) == "approve"
    control.approve_step(
        visitor.tenant.pk,
        run_id,
        key,
        approved=approved,
        take=_take(request),
        note=read_text(request, "note", longest=1000),
        actor=visitor.actor,
    )
    return Done(f"Step {key} is {'approved' if approved else 'refused'}.")


def _one_of(request: ConsoleRequest, name: str, known: tuple[str, ...], default: str = "") -> str:
    given = request.POST.get(name, "") or default
    if given not in known:
        message = f"Choose one of {', '.join(known)}."
        raise InvalidInput([FieldError(f"#/{name}", "invalid", message)])
    return given


def _what(key: str, item: int | None) -> str:
    return f"Step {key}" if item is None else f"Item {item} of step {key}"


def _item(request: ConsoleRequest) -> int | None:
    given = request.POST.get("item", "")
    if not given:
        return None
    if not (given.isascii() and given.isdecimal() and len(given) < 6):
        message = "The form names no item. Load the page again."
        raise InvalidInput([FieldError("#/item", "invalid", message)])
    return int(given)


def _take(request: ConsoleRequest) -> int:
    given = request.POST.get("take", "")
    number = int(given) if given.isascii() and given.isdecimal() and len(given) < 4 else 0
    if not 1 <= number <= MOST_TAKES:
        message = "The form names no take. Load the page again."
        raise InvalidInput([FieldError("#/take", "invalid", message)])
    return number


def _override(request: ConsoleRequest) -> Override | None:
    """Return the edited input of the form, None where it was left as it is."""
    given, before = request.POST.get("input"), request.POST.get("input_before", "")
    if given is None or given.strip() == before.strip():
        return None
    return Override(read_field(given, "#/input", "Input"))
