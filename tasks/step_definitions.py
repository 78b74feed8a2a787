"""What each step of a workflow calls, as a definition like that of a task.

The stages of the ledger read the target, the retry policy and the limits of an execution from the
version that it names; a step has such a version, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from shared.named_secrets.references import secret_of
from tasks.choices import WORKFLOW
from tasks.definition import RETRY_DEFAULTS, Definition
from tasks.versions import step_version
from tasks.workflow.references import names_in

#: Fields of a target whose texts may hold templates. A run renders them when the step begins, and
#: the execution carries them: their target is marked as ``rendered``.
RENDERED_FIELDS = ("url", "headers", "arguments", "environment")


def step_definitions(version: int, workflow: Definition) -> Iterator[tuple[int, Definition]]:
    """Yield the definition of each step that calls something, and of what undoes it.

    With each comes the number of its version; ``version`` is that of the workflow.
    """
    numbers = workflow.target["numbers"]
    for step in workflow.target["steps"]:
        if step["kind"] != "target":
            continue
        number, undo = numbers[step["key"]], step["compensate"]
        yield step_version(version, number), _definition(workflow, step, step)
        if undo is not None:
            own = step_version(version, number, compensates=True)
            yield own, _definition(workflow, step, undo)


def is_rendered(target: Mapping[str, Any]) -> bool:
    """Return whether a step's target has templates of its run."""
    return any(
        secret_of(name) is None
        for field in RENDERED_FIELDS
        for name, _ in names_in(target.get(field))
    )


def with_numbers_of(current: Definition, definition: Definition) -> Definition:
    """Return the next definition of a workflow with every number that a key has had so far.

    An earlier version that comes back does not know the keys since: without them a new key would
    get the number of one of these, and a retry would take the state of one step for the other's.
    """
    if {current.target["kind"], definition.target["kind"]} != {WORKFLOW}:
        return definition
    numbers = {**definition.target["numbers"], **current.target["numbers"]}
    if numbers == definition.target["numbers"]:
        return definition
    return replace(definition, target={**definition.target, "numbers": numbers})


def _definition(
    workflow: Definition, step: Mapping[str, Any], call: Mapping[str, Any]
) -> Definition:
    own, target = step["priority"], call["target"]
    if is_rendered(target):
        target = {**target, "rendered": True}
    return Definition(
        name=workflow.name,
        type=workflow.type,
        schedule={},
        target=target,
        payload=call["payload"],
        # The higher number goes later: a step is never more urgent than its run.
        priority=workflow.priority if own is None else max(own, workflow.priority),
        retry_policy=step["retry_policy"] or dict(RETRY_DEFAULTS),
        labels=workflow.labels,
        depends_on=[],
        redact=step.get("redact", []),
    )
