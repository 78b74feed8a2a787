"""What each step of a workflow calls, as a definition like that of a task.

The stages of the ledger read the target, the retry policy and the limits of an execution from the
version that it names; a step has such a version, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from tasks.choices import WORKFLOW
from tasks.definition import RETRY_DEFAULTS, Definition
from tasks.versions import step_version


def step_definitions(version: int, workflow: Definition) -> Iterator[tuple[int, Definition]]:
    """Yield the definition of each step that calls something, with the number of its version.

    ``version`` is that of the workflow.
    """
    numbers = workflow.target["numbers"]
    for step in workflow.target["steps"]:
        if step["kind"] == "target":
            yield step_version(version, numbers[step["key"]]), _definition(workflow, step, step)


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
    own = step["priority"]
    return Definition(
        name=workflow.name,
        type=workflow.type,
        schedule={},
        target=call["target"],
        payload=call["payload"],
        # The higher number goes later: a step is never more urgent than its run.
        priority=workflow.priority if own is None else max(own, workflow.priority),
        retry_policy=step["retry_policy"] or dict(RETRY_DEFAULTS),
        labels=workflow.labels,
        depends_on=[],
    )
