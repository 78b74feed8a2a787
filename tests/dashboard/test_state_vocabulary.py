from __future__ import annotations

import re
from xml.etree.ElementTree import parse

import pytest

from api.workflows.serializers import STEP_STATUSES
from dashboard.state_vocabulary import (
    ATTEMPT_LOOKS,
    CIRCUIT_LOOKS,
    EXECUTION_LOOKS,
    JOB_LOOKS,
    LOOKS,
    STEP_LOOKS,
    TASK_LOOKS,
    label_with_attempt,
    look_of,
)
from executions.choices import AttemptOutcome, JobStatus, Status
from executions.states import MOVES
from tasks.choices import TaskStatus
from tests.architecture.tree import REPOSITORY

_CSS = (REPOSITORY / "static" / "css" / "pictures.css").read_text(encoding="utf-8")
_COLOUR = re.compile(r"--state-([a-z]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\);")
_SURFACES = (("#ffffff", "#f6f8fa"), ("#0d1117", "#161b22"))


def test_every_state_of_the_runtime_and_of_tasks_has_a_look():
    assert set(EXECUTION_LOOKS) == set(Status)
    assert set(TASK_LOOKS) == set(TaskStatus)
    assert set(ATTEMPT_LOOKS) == set(AttemptOutcome)
    assert set(JOB_LOOKS) == set(JobStatus)
    assert set(STEP_LOOKS) == set(STEP_STATUSES)


def test_every_state_that_a_move_names_has_a_look():
    named = {state for move in MOVES for state in (*move.sources, move.target)}

    assert named <= set(LOOKS)


@pytest.mark.parametrize(
    "looks", [EXECUTION_LOOKS, STEP_LOOKS, TASK_LOOKS, ATTEMPT_LOOKS, JOB_LOOKS, CIRCUIT_LOOKS]
)
def test_no_two_states_of_a_kind_share_word_or_icon(looks):
    assert len({look.label for look in looks.values()}) == len(looks)
    assert len({look.icon for look in looks.values()}) == len(looks)


def test_a_word_means_the_same_wherever_it_stands():
    for looks in (EXECUTION_LOOKS, TASK_LOOKS, ATTEMPT_LOOKS, JOB_LOOKS, CIRCUIT_LOOKS):
        assert {state: LOOKS[state] for state in looks} == dict(looks)


def test_every_icon_is_in_the_served_file():
    root = parse(REPOSITORY / "static" / "icons.svg").getroot()
    symbols = {one.get("id") for one in root.iter() if one.tag.endswith("symbol")}

    assert {look.icon for look in LOOKS.values()} <= symbols


def test_every_look_has_its_class_and_its_colour():
    colours = {name for name, _, _ in _COLOUR.findall(_CSS)}

    for look in LOOKS.values():
        assert look.name in colours
        assert f".{look.css} {{ --state: var(--state-{look.name}); }}" in _CSS


def test_state_colours_can_be_read_on_every_surface():
    for name, *shades in _COLOUR.findall(_CSS):
        for shade, surfaces in zip(shades, _SURFACES, strict=True):
            for surface in surfaces:
                assert _contrast(shade, surface) >= 4.5, (name, shade, surface)


def test_retrying_says_which_attempt_of_how_many():
    assert label_with_attempt(Status.RETRYING, 2, 5) == "retrying 2/5"
    assert label_with_attempt(Status.RETRYING, None, 5) == "retrying"
    assert label_with_attempt(Status.RUNNING, 2, 5) == "running"


def test_a_stored_text_is_found_like_its_member():
    assert look_of("QUEUED") is look_of(Status.QUEUED)


def _contrast(one: str, other: str) -> float:
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


def _luminance(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
