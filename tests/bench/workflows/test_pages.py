"""What the report about pages judges, from answers and turns that are given."""

from __future__ import annotations

from bench.peers.figures import OWN, Turn
from bench.workflows.large_runs import Large
from bench.workflows.pages import Asked, delay_lines, disturbed, late, lines_of, questions
from bench.workflows.tab import Answer
from operations.proof.percentiles import distribution


def answer(seconds: float, text: str = "x") -> Answer:
    return Answer(200, seconds, 1, text)


def turn(*delays: float) -> Turn:
    return Turn(OWN, len(delays), len(delays), 0, 0, 100.0, distribution(delays))


def test_every_answer_is_held_to_a_second_those_of_live_changes_too():
    asked = [
        Asked("quick", [answer(0.9)], [answer(0.1)]),
        Asked("late", [answer(0.1), answer(1.2)]),
        Asked("late again", [answer(0.1)], [answer(1.0)]),
    ]

    assert late(asked) == [
        "target missed: late, 1.20 s, not under 1 s",
        "target missed: late again, 1.00 s, not under 1 s",
    ]


def test_the_start_delay_may_grow_by_a_tenth_or_by_five_milliseconds():
    assert not disturbed([turn(10.0)], [turn(15.0)])
    assert not disturbed([turn(100.0)], [turn(110.0)])
    assert disturbed([turn(10.0)], [turn(15.1)]) == [
        "target missed: start delay p99 15.10 ms beside, not within 15.00 ms"
    ]
    assert disturbed([turn(100.0)], [turn(110.1)])


def test_pages_alone_disturb_nothing():
    assert disturbed([], []) == []


def test_the_pages_of_every_run_are_asked_for_once():
    large = Large("1", "2", "3", "4", "5", "6", "7")

    names = [name for name, _ in questions(large)]

    assert len(set(names)) == len(names) > 30


def test_a_line_has_what_came_first_and_what_came_again():
    [line] = lines_of([Asked("run", [answer(0.25, "x" * 2000)], [answer(0.05, "x" * 1000)])])

    assert line.split() == ("run p50 250 max 250 ms 2.0 kB again p50 50 ms 1.0 kB".split())


def test_turns_are_told_only_where_there_were_some():
    figures = {"start_delay_ms": {"alone": {}, "beside": {"p99": 3.0}}, "tabs": []}

    assert delay_lines(figures) == ["start delay beside: p99 3.00 ms"]
