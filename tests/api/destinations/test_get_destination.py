from __future__ import annotations

import pytest

from tests.executions.answers import problem
from tests.factories import make_task, once
from tests.support.circuits import HOST


def test_a_host_is_shown_with_its_version(viewer, alpha):
    make_task(alpha)

    answer = viewer.get(f"/v1/destinations/{HOST}")

    assert answer.status_code == 200
    assert answer.json()["host"] == HOST
    assert answer.headers["ETag"] == '"0"'


def test_a_host_may_hold_a_port_and_an_address(viewer, alpha):
    make_task(alpha, once(target={"url": "https://api.example.com:8443/x"}))

    assert viewer.get("/v1/destinations/api.example.com:8443").status_code == 200


@pytest.mark.parametrize("written", ["API.Example.com", "api.example.com.", "api.example.com:0443"])
def test_a_host_is_found_in_every_spelling(viewer, alpha, written):
    make_task(alpha)

    assert viewer.get(f"/v1/destinations/{written}").json()["host"] == HOST


def test_a_host_that_cannot_be_stored_is_404(viewer):
    assert problem(viewer.get("/v1/destinations/%00")) == (404, "not_found")
