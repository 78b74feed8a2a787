"""The tables of the reference page of workflows have what the code has."""

from __future__ import annotations

import re
from collections.abc import Iterator

from api.workflows.serializers import COMPENSATION_STATUSES
from executions.choices import Status
from insight.run_waits import KINDS
from tasks.choices import ON_FAILURE, STEP_CONDITIONS, STEP_KINDS
from tasks.validation import steps as validation
from tasks.validation.input_schema import _REFUSED
from tasks.validation.workflow import FIELDS
from tasks.workflow.expressions import STATUSES
from tests.architecture import tree
from workflows.deadlocks import RUNS_WAIT

PAGE = tree.REPOSITORY / "docs" / "reference" / "workflows.md"
TEXT = PAGE.read_text(encoding="utf-8")


def table(heading: str) -> dict[str, str]:
    """Return the rows of the table that begins with a heading: first cell -> the others."""
    lines = TEXT.splitlines()
    [start] = [at for at, line in enumerate(lines) if line.startswith(f"| {heading} |")]
    found = {}
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        first, *others = [cell.strip() for cell in line.strip("|").split(" | ")]
        found[first] = " | ".join(others)
    return found


def codes(heading: str) -> set[str]:
    """Return the words in backquotes in the first column of a table."""
    return {word for cell in table(heading) for word in quoted(cell)}


def quoted(text: str) -> list[str]:
    return re.findall(r"`([^`]+)`", text)


def sources(*folders: str) -> Iterator[str]:
    for module in tree.production():
        if module.path.startswith(folders):
            yield module.source


def found_in(pattern: str, *folders: str) -> set[str]:
    return {word for source in sources(*folders) for word in re.findall(pattern, source)}


def test_the_fields_of_a_workflow_and_of_each_kind_of_step_are_those_of_the_code():
    _, first_table = TEXT.split("## Workflow\n", 1)
    workflow = {word for cell in _first_cells(first_table) for word in quoted(cell)}

    assert workflow == set(FIELDS)
    kinds = {quoted(kind)[0]: row for kind, row in table("`kind`").items()}
    assert tuple(kinds) == STEP_KINDS
    for kind, row in kinds.items():
        assert tuple(quoted(row.split(" | ")[0])) == validation.FIELDS_BY_KIND[kind], kind
    common = {"key", "kind", *_common()}
    assert common == set(validation.COMMON_FIELDS)


def _first_cells(text: str) -> list[str]:
    rows = []
    for line in text.strip().splitlines()[2:]:
        if not line.startswith("|"):
            break
        rows.append(line.strip("|").split(" | ")[0])
    return rows


def _common() -> set[str]:
    _, text = TEXT.split("and may have:\n", 1)
    return {word for cell in _first_cells(text) for word in quoted(cell)}


def test_choices_are_those_of_the_code():
    assert {quoted(cell)[0] for cell in table("`on_failure` | After the first failure")} == set(
        ON_FAILURE
    )
    assert {quoted(cell)[0] for cell in table("`condition` | Starts when")} == set(STEP_CONDITIONS)
    status = table("Name")["`steps.<key>.status`"]
    assert tuple(quoted(status)) == STATUSES
    assert codes("Status of a step") == {"WAITING", *Status.values}
    [schema] = [row for cell, row in table_of_workflow() if "input_schema" in cell]
    assert set(quoted(schema)) == set(_REFUSED)


def table_of_workflow() -> list[tuple[str, str]]:
    _, text = TEXT.split("## Workflow\n", 1)
    rows = [line.strip("|").split(" | ", 1) for line in text.splitlines() if line.startswith("| `")]
    return [(first, rest) for first, rest in rows]


def test_a_failed_step_has_one_of_the_codes_of_the_page():
    written = found_in(r"Failure\(\s*\"([a-z_]+)\"", "workflows/")

    assert codes("Code of a failed step") == {*written, "deadline_exceeded", RUNS_WAIT}


def test_a_refused_call_has_one_of_the_codes_of_the_page():
    assert codes("Code of a refused call") == found_in(r"code=\"([a-z_]+)\"", "workflows/")
    assert set(re.findall(r"\| (\d{3}) \|", TEXT)) == {"409"}


def test_a_refused_definition_has_one_of_the_codes_of_the_page():
    wanted = found_in(
        r"\"((?:workflow|step|template|expression)_[a-z_]+)\"",
        *("tasks/validation/steps.py", "tasks/validation/step_templates.py"),
        "tasks/validation/workflow.py",
    )
    fields = {"workflow_id", "template_in_origin"}

    assert codes("Code of a refused definition") == wanted - fields


def test_the_kinds_of_waits_are_those_of_the_code():
    assert codes("Kind of a wait") == set(KINDS)
    assert codes("`compensation.status`") == set(COMPENSATION_STATUSES)


def test_the_reasons_are_those_of_the_code():
    wanted = found_in(
        r"\"(step_failed|deadline_exceeded|cancelled|paused|[a-z]+_not_met|dependency_failed"
        r"|skipped|marked_succeeded|approved|run_cancelled|not_begun|compensating|restored"
        r"|output_too_large|kept)\"",
        *("workflows/", "insight/presentation/workflow_runs.py"),
    )

    assert codes("Reason") == wanted
