"""The definitions of the large runs are ones that the product takes."""

from __future__ import annotations

import pytest

from bench.workflows.large_runs import FANS, many_fan_outs, many_steps, one_fan_out
from tests.factories import make_tenant
from tests.support.workflows import make_workflow

URL = "http://127.0.0.1:9"


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("body", "steps"),
    [(one_fan_out(URL), 2), (many_fan_outs(URL), FANS + 1), (many_steps(URL, 900), 900)],
)
def test_a_definition_is_taken_as_it_is(body, steps, settings):
    settings.WEBHOOK_ALLOWED_NETWORKS = "127.0.0.0/8"

    assert len(body["steps"]) == steps
    for step in body["steps"]:
        step["target"]["url"] = step["target"]["url"].replace(URL, "https://api.example.com")
    make_workflow(make_tenant(), body.pop("steps"), **body)


def test_a_step_waits_for_that_of_the_layer_before_and_a_few_fail():
    steps = many_steps(URL, 200)["steps"]

    assert [one["depends_on"] for one in steps[29:32]] == [[], ["s000"], ["s001"]]
    failing = [one["key"] for one in steps if one["target"]["url"].endswith("500")]
    assert failing == ["s096", "s193"]
