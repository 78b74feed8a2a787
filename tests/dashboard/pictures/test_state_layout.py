from __future__ import annotations

from itertools import combinations

from dashboard.pictures.state_layout import (
    HEIGHT,
    NODE_HEIGHT,
    NODE_WIDTH,
    PLACES,
    ROUTES,
    WIDTH,
    route_between,
)
from executions.choices import Status
from executions.states import ALLOWED


def test_every_state_has_its_place():
    assert set(PLACES) == set(Status)


def test_every_move_of_the_runtime_has_a_route_and_no_other():
    moves = {(source, target) for source, target in ALLOWED if source != target}

    assert {(str(source), str(target)) for source, target in ROUTES} == moves


def test_states_stand_inside_the_picture_and_apart():
    for x, y in PLACES.values():
        assert NODE_WIDTH / 2 <= x <= WIDTH - NODE_WIDTH / 2
        assert NODE_HEIGHT / 2 <= y <= HEIGHT - NODE_HEIGHT / 2
    for (x, y), (other_x, other_y) in combinations(PLACES.values(), 2):
        assert abs(x - other_x) > NODE_WIDTH or abs(y - other_y) > NODE_HEIGHT


def test_labels_stand_inside_the_picture():
    assert all(0 < one.x < WIDTH and 0 < one.y < HEIGHT for one in ROUTES.values())


def test_a_move_without_a_route_is_a_straight_line():
    route = route_between(Status.PENDING, Status.RUNNING)

    assert route.line == "M122 20L122 200"
    assert (route.x, route.y) == (122, 110)
