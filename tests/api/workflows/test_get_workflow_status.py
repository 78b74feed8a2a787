from __future__ import annotations

from tests.support.runs_api import problem, shown
from tests.support.workflows import begin_run, calls, make_workflow, work


def test_the_latest_run_is_shown_with_its_steps(client, alpha):
    task = make_workflow(alpha, [calls("a")])
    work(begin_run(task))
    latest = begin_run(task)

    answer = client.get(f"/v1/workflows/{task.id}/status")

    assert answer.status_code == 200
    assert answer.json() == shown(client, latest)


def test_without_a_run_it_is_404(client, stranger, alpha):
    task = make_workflow(alpha, [calls("a")])

    assert problem(client.get(f"/v1/workflows/{task.id}/status")) == (404, "no_run")
    assert problem(stranger.get(f"/v1/workflows/{task.id}/status")) == (404, "not_found")
