"""The states of a step within its run: a byte each, in the run's row."""

from __future__ import annotations

from enum import IntEnum


class StepState(IntEnum):
    """Where a step is; answers show OPEN as what its execution or its wait is."""

    #: Waits for its prerequisites.
    PENDING = 0
    #: Was begun, and has not ended.
    OPEN = 1
    SUCCEEDED = 2
    FAILED = 3
    #: Did not run, and was not needed: its condition or its ``when`` did not hold, or a person
    #: skipped it. Answers show SKIPPED.
    SKIPPED = 4
    #: Did not run because a prerequisite did not succeed. Answers show SKIPPED, too, with the
    #: reason ``dependency_failed``.
    BLOCKED = 5
    #: By a person, by the failure of the run, or because a prerequisite was cancelled.
    CANCELLED = 6
    #: Had succeeded, and is being undone.
    COMPENSATING = 7
    #: Was undone: counts as not run when the run is retried.
    COMPENSATED = 8
    #: What should have undone it has failed.
    NOT_COMPENSATED = 9


#: States in which nothing more happens to a step.
ENDED = frozenset(StepState) - {StepState.PENDING, StepState.OPEN, StepState.COMPENSATING}
#: Ends of steps that were to be undone.
UNDONE = frozenset({StepState.COMPENSATED, StepState.NOT_COMPENSATED})
#: Ends that count as failures for what depends on the step.
FAILING = frozenset({StepState.FAILED, StepState.BLOCKED})
