from __future__ import annotations

from tests.model.protocol import moves
from tests.model.sameness import canonical
from tests.model.state import (
    QUEUED,
    SUCCEEDED,
    Entry,
    Job,
    Mark,
    Message,
    Recorder,
    Row,
    Scheduler,
    Setup,
    State,
    Worker,
    first,
)

START = first(Setup())
JOB = Job(1, 1, 1)


def after(**parts: object) -> State:
    return canonical(START._replace(**parts))  # type: ignore[arg-type]  # fields by name


def test_it_does_not_matter_which_process_of_a_kind_it_is():
    tokens = {"tokens": (0,), "rows": (Row(QUEUED, 1),)}
    mine, other = (Worker(jobs=(JOB,)), Worker()), (Worker(), Worker(jobs=(JOB,)))

    assert after(workers=mine, **tokens) == after(workers=other, **tokens)
    assert after(workers=mine, **tokens) != after(workers=(Worker(), Worker()), **tokens)


def test_what_nobody_names_any_more_is_forgotten():
    over = {"tokens": (0,), "rows": (Row(SUCCEEDED, 1),)}
    known = {"marks": (Mark(1, "started"),), "begun": frozenset({1}), "sent": frozenset({1})}

    assert after(**over, **known) == after(**over)
    # A second copy of its message may still ask, or an entry come twice.
    asked = {**over, "queue": (Message(1, 1, 1),)}
    assert after(**asked, **known) != after(**asked)
    said = {**over, "recorders": (Recorder(batch=(Entry(1, "succeeded", 1),)), Recorder())}
    assert after(**said, recorded=frozenset({1})).recorded == {1}


def test_an_earlier_request_counts_while_a_later_one_may_leave():
    open_ = {"tokens": (0, 0), "rows": (Row(QUEUED, 2),), "sent": frozenset({1})}

    assert after(**open_).sent == {1}


def test_positions_count_only_from_each_other():
    entry = Entry(3, "succeeded", 1)
    both = {"tokens": (0,), "rows": (Row(QUEUED, 1),), "appended": 3, "stream": (entry,)}

    assert after(appended=3, delivered=3) == START
    assert after(**both, delivered=2).stream == (Entry(1, "succeeded", 1),)
    assert (after(**both, delivered=2).delivered, after(**both, delivered=3).delivered) == (0, 1)
    noticed = (Scheduler(barrier=(1, 2)), Scheduler(barrier=(1, 3)))
    assert [one.barrier[1] for one in after(**both, schedulers=noticed).schedulers] == [0, 1]


def reachable(setup: Setup) -> set[State]:
    found, waiting = {first(setup)}, [first(setup)]
    while waiting:
        for move in moves(waiting.pop(), setup):
            if move.state not in found:
                found.add(move.state)
                waiting.append(move.state)
    return found


def test_what_counts_once_leads_to_the_same_states_as_what_is_told_apart():
    setup = Setup(faults=1, changes=0, failures=False, announcements=False, recorders=1)

    told_apart = reachable(setup._replace(named=True))

    assert {canonical(state) for state in told_apart} == reachable(setup)
    assert len(told_apart) > len(reachable(setup))
