"""The plan of one version of a workflow: its graph, and what each step does, read once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from uuid import UUID

from shared.named_secrets.references import secret_of
from tasks.definition import Definition, destination_of, pool_of, runtime_seconds
from tasks.models import TaskRevision
from tasks.revisions import definition_of
from tasks.step_definitions import step_definitions
from tasks.validation.steps import graph_of
from tasks.versions import step_version
from tasks.workflow.expressions import parse_expression
from tasks.workflow.graph import Graph
from tasks.workflow.references import Reference, names_in, parse_reference

_KEPT = 256


@dataclass(frozen=True, slots=True)
class Call:
    """How the ledger treats the executions of a step."""

    revision: int
    pool: str
    destination: str
    priority: int
    max_attempts: int
    timeout_seconds: float


@dataclass(frozen=True, slots=True)
class Plan:
    """A version of a workflow, by the numbers of its steps.

    ``named`` are the steps whose output a template or an expression names; only those are kept.
    """

    version: int
    definition: Definition
    graph: Graph
    steps: Mapping[int, Mapping[str, Any]]
    calls: Mapping[int, Call]
    named: frozenset[int]
    #: The steps that no other depends on.
    last: frozenset[int]
    #: How what undoes a step is called.
    undoing: Mapping[int, Call]

    @property
    def fail_fast(self) -> bool:
        """Whether the first failure cancels what is open."""
        return bool(self.definition.target["on_failure"] != "continue")

    @property
    def compensates(self) -> bool:
        """Whether a run that has failed undoes what has succeeded."""
        return bool(self.definition.target["on_failure"] == "compensate")

    @property
    def has_fans(self) -> bool:
        """Whether any step is done once for each of several items."""
        return any(step.get("for_each") is not None for step in self.steps.values())

    @property
    def size(self) -> int:
        """How many bytes the states of its steps take: one for each number, 0 included."""
        return max(self.steps) + 1

    @property
    def keys(self) -> Mapping[int, str]:
        """The key of each step."""
        return {number: str(step["key"]) for number, step in self.steps.items()}


@lru_cache(maxsize=_KEPT)
def plan_of(task_id: UUID, version: int) -> Plan:
    """Return the plan of a version, which never changes.

    Raise DecryptionFailed where no key opens the definition, DoesNotExist without such a version.
    """
    revision = TaskRevision.objects.get(task_id=task_id, version=version)
    return made_of(version, definition_of(revision))


def made_of(version: int, definition: Definition) -> Plan:
    """Return the plan of a definition."""
    numbers = definition.target["numbers"]
    steps = {numbers[step["key"]]: step for step in definition.target["steps"]}
    called = {number: _call(number, call) for number, call in step_definitions(version, definition)}
    calls, undoing = (
        {
            number: called[own]
            for number in steps
            if (own := step_version(version, number, compensates=undoes)) in called
        }
        for undoes in (False, True)
    )
    graph = graph_of(definition.target["steps"], numbers)
    return Plan(
        version,
        definition,
        graph,
        steps,
        calls,
        frozenset(numbers[key] for key in _named(definition) if key in numbers),
        frozenset(number for number in steps if not graph.dependents[number]),
        undoing,
    )


def references_of(step: Mapping[str, Any]) -> set[Reference]:
    """Return what the templates and the expression of a step name."""
    # A named secret is no value of the run.
    names = (name for name, _ in names_in(step) if secret_of(name) is None)
    found = {parse_reference(name) for name in names}
    if step["when"] is not None:
        found.update(parse_expression(step["when"]).references)
    return found


def _named(definition: Definition) -> set[str]:
    return {
        reference.key
        for step in definition.target["steps"]
        for reference in references_of(step)
        if reference.part == "output"
    }


def _call(revision: int, called: Definition) -> Call:
    return Call(
        revision=revision,
        pool=pool_of(called.target),
        destination=destination_of(called.target),
        priority=called.priority,
        max_attempts=called.retry_policy["max_attempts"],
        timeout_seconds=runtime_seconds(called.target),
    )
