from __future__ import annotations

import pytest

from tasks.models import Task
from tests.executions.answers import problem

URL = "/v1/tasks/import"
BODY = {"crontab": "0 2 * * * two\n@reboot three\n", "url": "https://example.com/run"}


def test_a_dry_run_plans_and_the_call_imports(client):
    planned = client.post(URL, {**BODY, "dry_run": True})
    stored = Task.objects.count()
    done = client.post(URL, BODY)

    assert (planned.status_code, done.status_code, stored) == (200, 200, 0)
    assert planned.json()["summary"] == {"new": 1, "unchanged": 0, "refused": 1}
    [new, refused] = done.json()["lines"]
    assert new["task_id"] == str(Task.objects.get().id)
    assert planned.json()["lines"][0] == {**new, "task_id": None}
    assert (refused["action"], refused["reason"][:7]) == ("refused", "@reboot")
    assert client.post(URL, BODY).json()["summary"]["unchanged"] == 1


@pytest.mark.parametrize(
    "wrong",
    [
        {"crontab": ""},
        {"crontab": "x" * 200_001},
        {"url": "http://127.0.0.1/"},
        {"timezone": "Mars/Base"},
        {"source": "a/b"},
        {"system": "yes"},
        {"other": 1},
    ],
)
def test_bad_input_is_refused(client, wrong):
    assert problem(client.post(URL, {**BODY, **wrong}))[0] == 400
    assert not Task.objects.exists()
