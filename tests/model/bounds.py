"""How far the model is explored: by every test run, by slow ones, and for each planted bug."""

from __future__ import annotations

from tests.model import planted
from tests.model.joins import JoinSetup
from tests.model.state import Setup

_BARE = Setup(announcements=False, failures=False)

#: Together these have every kind of step; each takes seconds.
SMALL = {
    "a fault and a change": _BARE,
    "a fault and requests that fail": _BARE._replace(changes=0, failures=True),
    "a fault and starts that are announced": _BARE._replace(changes=0, announcements=True),
    "a change, with everything": _BARE._replace(faults=0, failures=True, announcements=True),
    "two executions and a change": _BARE._replace(executions=2, faults=0),
}
#: A minute or two each.
LARGE = {
    "a fault, with everything": Setup(changes=0),
    "two faults": _BARE._replace(faults=2, changes=0),
    "two executions and a fault": _BARE._replace(executions=2, changes=0),
}
#: For walks at random.
WIDE = Setup(executions=2, faults=4, changes=2)

_QUIET = Setup(faults=0, changes=0, named=True)
#: The fewest faults and changes under which each planted bug shows itself.
OF_PLANTED = {
    planted.TOKEN_UNCHECKED: _QUIET._replace(faults=1),
    planted.EPOCH_UNCHECKED: _QUIET._replace(faults=1),
    planted.ACKNOWLEDGED_FIRST: _QUIET,
    planted.SENT_FIRST: _QUIET._replace(changes=1),
    planted.STARTED_IGNORED: _QUIET._replace(changes=1),
    planted.INCARNATION_IGNORED: _QUIET._replace(faults=1, changes=1),
    planted.BARRIER_IGNORED: _QUIET,
}


def of_planted(bug: str) -> Setup:
    """Return the bounds within which a planted bug is looked for, with the bug in."""
    return OF_PLANTED[bug]._replace(planted=bug)


#: Of a run of a workflow; each takes a moment.
JOINS = {
    "two parents and a join": JoinSetup(),
    "two crashes": JoinSetup(faults=2),
    "steps that fail, a retry and a fault": JoinSetup(faults=1, retries=1, failures=True),
}
JOINS_LARGE = {
    "three recorders, a retry and two faults": JoinSetup(
        recorders=3, faults=2, retries=1, failures=True
    ),
}
JOINS_OF_PLANTED = {
    planted.RUN_UNLOCKED: JoinSetup(),
    planted.JUDGED_AS_BEFORE: JoinSetup(),
    planted.INBOX_FORGOTTEN: JoinSetup(),
    planted.NOT_REPAIRED: JoinSetup(faults=1),
    planted.TAKEN_BEFORE: JoinSetup(faults=1),
    planted.TAKE_IGNORED: JoinSetup(faults=1, retries=1, failures=True),
}


def join_of_planted(bug: str) -> JoinSetup:
    """Return the same of a bug that is planted in a run of a workflow."""
    return JOINS_OF_PLANTED[bug]._replace(planted=bug)
