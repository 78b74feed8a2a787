"""``manage.py workflows runs`` and ``status``: the same documents as those of the API."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django.core.management.base import CommandParser

from executions.choices import Status
from executions.loop.clocks import database_now
from executions.models import Execution
from insight import run_items, workflow_runs
from insight.presentation.workflow_runs import present_items, present_runs, present_take
from insight.run_waits import RunWait, waits_text
from insight.workflow_runs import Take
from operations.finding import ID_TAIL, moment_option
from operations.payload_readings import note_shown
from operations.workflows.finding import add_tenant, add_workflow, find_run, find_workflow
from shared.commands import PunctualCommand, shown, table
from shared.exceptions import NotFound
from shared.instants import format_instant
from tasks.models import Task

#: A run is not handed to a worker, and is not tried again as a whole.
RUN_STATUSES = tuple(one for one in Status.values if one not in ("QUEUED", "RETRYING"))
_WHY_WIDTH = 40


def add_runs_options(parser: CommandParser) -> None:
    """Add the options of ``runs``."""
    add_workflow(parser)
    parser.add_argument(
        "--status",
        action="extend",
        nargs="+",
        choices=RUN_STATUSES,
        metavar="STATE",
        help=f"only runs in these states: {', '.join(RUN_STATUSES)}",
    )
    parser.add_argument(
        "--since", metavar="TIME", help="only runs from then on: 2h, last friday 18:00, or RFC 3339"
    )
    parser.add_argument("--limit", type=int, default=50, help="at most this many (50)")
    parser.add_argument("--wide", action="store_true", help="full ids")


def add_status_options(parser: CommandParser) -> None:
    """Add the options of ``status``."""
    parser.add_argument(
        "id", metavar="ID", help="a workflow: its latest run; or a run; or the end of an id"
    )
    add_tenant(parser)
    parser.add_argument(
        "--items", metavar="KEY", help="also list the items of this step, which has for_each"
    )
    parser.add_argument("--limit", type=int, default=100, help="at most this many items (100)")


def list_runs(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    """List the runs of a workflow, newest first, each with its latest take."""
    task = find_workflow(options["id"], options["tenant"])
    since = moment_option("--since", options["since"])
    found = workflow_runs.runs_of(task.tenant_id, task.id).scheduled_between(since, None)
    if options["status"]:
        found = workflow_runs.with_status(found, options["status"])
    limit = max(0, options["limit"])
    firsts = list(found.order_by("-id")[: limit + 1])
    runs = [
        {**document, "tenant_id": str(task.tenant_id)}
        for document in present_runs(workflow_runs.latest_takes(firsts[:limit]))
    ]
    document = {
        "runs": runs,
        "since": None if since is None else format_instant(since),
        "more": len(firsts) > limit,
    }
    if options["json"]:
        note_shown("run", runs)
    command.emit(options, document, _list_lines(command, runs, wide=options["wide"]))
    if len(firsts) > limit:
        command.note(f"the newest {limit}; see more with --limit")


def show_status(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    """Show a run with every step: of a workflow the latest one, else the next one ahead."""
    take, task = _chosen(options["id"], options["tenant"])
    document = document_of(take)
    lines = list(status_lines(command, document, task.name))
    if options["items"] is not None:
        items = _items_of(take, options["items"], max(0, options["limit"]))
        document["items"] = items
        lines += ["", *_step_lines(command, items)]
    if options["json"]:
        note_shown("run", [document])
    command.emit(options, document, lines)


def document_of(take: Take) -> dict[str, Any]:
    """Return a run as the API shows it, with its tenant."""
    return {**present_take(take), "tenant_id": str(take.execution.tenant_id)}


def status_lines(
    command: PunctualCommand, found: Mapping[str, Any], workflow: str
) -> Iterator[str]:
    """Yield a run as people read it: its facts, and a line for each step."""
    facts = (
        ("run", found["id"]),
        ("workflow", f"{workflow}, version {found['workflow_version']}"),
        ("take", str(found["take"])),
        ("reason", found["reason"]),
        ("waiting", _waits_of_run(found["waiting_for"])),
        ("for", found["scheduled_for"]),
        ("started", found["started_at"]),
        ("finished", found["finished_at"]),
        ("deadline", _deadline(found["waiting_for"])),
        ("missing", found.get("missing")),
    )
    yield f"{'status':<9} {command.paint(found['status'])}"
    for name, value in facts:
        if value is not None:
            yield f"{name:<9} {shown(value)}"
    yield ""
    yield from _step_lines(command, found["steps"])


def _chosen(text: str, tenant: str | None) -> tuple[Take, Task]:
    """Return the take that is meant by the id of a workflow or of a run."""
    try:
        task = find_workflow(text, tenant)
    except NotFound:
        run = _run_or_nothing(text, tenant)
        return take_of(run), run.task
    first = workflow_runs.latest_run(task.tenant_id, task.id, database_now())
    if first is None:
        raise NotFound(f"The workflow has no run yet; `workflows run {text}` starts one.")
    [take] = workflow_runs.latest_takes([first])
    return take, task


def _run_or_nothing(text: str, tenant: str | None) -> Execution:
    try:
        return find_run(text, tenant)
    except NotFound:
        raise NotFound(f"There is no workflow and no run {shown(text, 40)!r}.") from None


def _items_of(take: Take, key: str, limit: int) -> list[dict[str, Any]]:
    [seen] = workflow_runs.see([take])
    number = workflow_runs.number_of(seen, key)
    if not seen.fans_out(number):
        raise NotFound(f"Step {key[:100]!r} has no items: it has no for_each.")
    total = run_items.item_total_of(seen, number)
    return present_items(seen, number, 0, min(total, limit))


def _list_lines(
    command: PunctualCommand, runs: Sequence[Mapping[str, Any]], *, wide: bool
) -> list[str]:
    rows = [
        (
            found["id"] if wide else found["id"][-ID_TAIL:],
            found["status"],
            found["take"],
            found["scheduled_for"][:19].replace("T", " "),
            found["reason"],
            counts_text(found["counts"]),
        )
        for found in runs
    ]
    return table(("id", "status", "take", "for (UTC)", "reason", "steps"), rows, command.paint)


def counts_text(counts: Mapping[str, int]) -> str:
    """Return how many have which status, such as ``3 SUCCEEDED, 1 RUNNING``."""
    return ", ".join(f"{count} {status}" for status, count in counts.items()) or "-"


def _step_lines(command: PunctualCommand, steps: Sequence[Mapping[str, Any]]) -> list[str]:
    rows = [
        (
            step["key"] if step["item"] is None else f"{step['key']}[{step['item']}]",
            step["status"],
            step["attempt"],
            (step["execution_id"] or "-")[-ID_TAIL:],
            shown(_why(step), _WHY_WIDTH),
        )
        for step in steps
    ]
    return table(("step", "status", "tries", "execution", "why"), rows, command.paint)


def _waits_of_run(waits: Sequence[Mapping[str, Any]]) -> str | None:
    """Return what a run waits for, such as ``approve, load 7/20``; None for nothing."""
    return waits_text([RunWait(**wait) for wait in waits]) or None


def _deadline(waits: Sequence[Mapping[str, Any]]) -> str | None:
    return next((wait["until"] for wait in waits if wait["kind"] == "deadline"), None)


def _undone(undo: Mapping[str, Any]) -> str:
    """Return how far the undoing of a step is."""
    if undo["status"] == "SUCCEEDED":
        return "undone"
    if undo["finished_at"] is None:
        return "is being undone"
    error = undo["error"]
    return f"not undone: {error['code']}: {error['message']}" if error else "not undone"


def _why(step: Mapping[str, Any]) -> str:
    if step["compensation"] is not None:
        return _undone(step["compensation"])
    if step["waiting_for"] is not None:
        return _waits(step["waiting_for"])
    if step["error"] is not None:
        return f"{step['error']['code']}: {step['error']['message']}"
    if step["counts"]:
        return counts_text(step["counts"])
    return step["reason"] or "-"


def _waits(wait: Mapping[str, Any]) -> str:
    kind = wait["kind"]
    said = f"waits for {kind}"
    if kind == "event":
        said = f"waits for event {wait['event']} {wait['correlation']}".rstrip()
    elif kind == "approval":
        said = f"waits for approval of take {wait['take']}"
    return said if wait["until"] is None else f"{said} until {wait['until'][:19]}Z"


def take_of(run: Execution) -> Take:
    """Return the latest take of a run, from the execution of its first."""
    return workflow_runs.find_take(run.tenant_id, run.id)
