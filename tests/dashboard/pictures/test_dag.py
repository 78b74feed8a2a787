from __future__ import annotations

import pytest

from dashboard.pictures.dag import MOST_STEPS, DagStep, dag
from dashboard.state_vocabulary import STEP_LOOKS
from tests.dashboard.pictures.reading import assert_keeps_the_rules, having, parsed, texts

DIAMOND = [
    DagStep(1, "a", (), "SUCCEEDED", href="/a"),
    DagStep(2, "b", (1,), "FAILED", "3/5 items", href="/b"),
    DagStep(3, "c", (1,), "RUNNING", href="/c"),
    DagStep(4, "d", (2, 3), "PENDING", href="/d"),
]


def _chain(length: int, state: str | None = None) -> list[DagStep]:
    return [
        DagStep(n, f"s{n}", (n - 1,) if n > 1 else (), state, href=f"/s{n}")
        for n in range(1, length + 1)
    ]


@pytest.mark.parametrize("state", [None, *STEP_LOOKS])
@pytest.mark.parametrize("count", [1, 2, 40, MOST_STEPS + 1])
def test_graphs_of_any_length_and_state_keep_the_rules(state: str | None, count: int):
    assert_keeps_the_rules(dag(_chain(count, state)))


def test_each_step_is_a_link_that_names_it_with_its_state_and_counts():
    markup = dag(DIAMOND)

    names = [
        next(part.text for part in one if part.tag.endswith("title"))
        for one in having(markup, "node")
    ]
    assert names == ["a, succeeded", "b, failed, 3/5 items", "c, running", "d, pending"]
    assert [one.get("href") for one in having(markup, "node")] == ["/a", "/b", "/c", "/d"]
    assert len(having(markup, "edge")) == 4


def test_a_state_has_a_colour_a_sign_and_a_word():
    [_, failed, *_] = having(dag(DIAMOND), "node")

    assert "state-failed" in failed.get("class", "")
    assert [one.get("href", "").endswith("#octagon") for one in failed.iter("use")] == [True]
    assert "failed, 3/5 items" in "".join(failed.itertext())


def test_arrow_keys_begin_at_one_stop_of_the_graph():
    stops = [one.get("tabindex") for one in having(dag(DIAMOND), "node")]

    assert stops == ["0", "-1", "-1", "-1"]


def test_the_summary_counts_the_states():
    [summary] = texts(dag(DIAMOND), "picture-summary")

    assert summary == "4 steps in 3 layers: 1 pending, 1 running, 1 succeeded, 1 failed."


def test_the_critical_path_is_thick_and_named_in_words():
    steps = [
        DagStep(1, "a", (), "SUCCEEDED", follows=0),
        DagStep(2, "b", (1,), "SUCCEEDED"),
        DagStep(3, "c", (1,), "SUCCEEDED", follows=1),
        DagStep(4, "d", (2, 3), "SUCCEEDED", follows=3),
    ]

    markup = dag(steps)

    names = ["".join(one.itertext()) for one in having(markup, "is-critical")]
    assert [name.split(" path")[0] for name in names if name] == [
        f"{key}, succeeded, on the critical" for key in "acd"
    ]
    lines = ["is-critical" in one.get("class", "") for one in having(markup, "edge")]
    assert lines == [False, False, True, True]
    assert "The critical path, drawn thick, has 3 steps." in texts(markup, "picture-summary")[0]


@pytest.mark.parametrize(("direction", "grows"), [("across", "width"), ("down", "height")])
def test_a_graph_is_drawn_in_the_direction_that_is_asked_for(direction: str, grows: str):
    short, long = (having(dag(_chain(n), direction=direction), "dag")[0] for n in (2, 12))
    other = {"width": "height", "height": "width"}[grows]

    assert float(long.get(grows, 0)) > float(short.get(grows, 0))
    assert long.get(other) == short.get(other)


def test_a_long_key_is_cut_and_its_title_has_it_whole():
    markup = dag([DagStep(1, "x" * 64)])

    assert texts(markup, "node-label") == ["x" * 11 + "…" + "x" * 8]
    assert ["".join(one.itertext()) for one in parsed(markup).iter("title")] == ["x" * 64]


def test_more_steps_than_a_picture_shows_are_drawn_by_layers():
    wide = [
        DagStep(1, "a", (), "SUCCEEDED"),
        *(DagStep(n, f"s{n}", (1,), "FAILED" if n == 9 else "SUCCEEDED") for n in range(2, 402)),
    ]

    markup = dag(wide)

    assert texts(markup, "node-label") == ["Layer 1", "Layer 2"]
    assert texts(markup, "node-note") == ["succeeded, 1 step", "failed, 1 of 400"]
    assert "drawn by layers" in texts(markup, "picture-summary")[0]


def test_a_chain_of_a_thousand_is_drawn_by_few_groups():
    labels = texts(dag(_chain(1000)), "node-label")

    assert len(labels) <= 40
    assert labels[0] == "Layers 1 to 25"


def test_a_long_graph_goes_down_and_a_short_one_across():
    long, short = (
        [(one.get("x"), one.get("y")) for one in parsed(dag(_chain(count))).iter("rect")]
        for count in (12, 3)
    )

    assert len({x for x, _ in long}) == len({y for _, y in short}) == 1


@pytest.mark.parametrize(
    ("note", "shown"),
    [
        ("7/20 items", "running, 7/20 items"),
        ("5,000/10,000 items", "5,000/10,000 items"),
        ("5,000/10,000 items, 123 failed", "5,000/10,000, 123 failed"),
    ],
)
def test_counts_of_items_are_never_cut_in_their_middle(note: str, shown: str):
    markup = dag([DagStep(1, "load", (), "RUNNING", note)])

    assert texts(markup, "node-note") == [shown]
    assert f"load, running, {note}" in markup
