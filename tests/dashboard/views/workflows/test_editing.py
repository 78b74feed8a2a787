"""New and edited workflows, and the check of their text."""

from __future__ import annotations

import json
from urllib.parse import urlencode

import pytest

from tasks.models import Task
from tasks.revisions import read_definition
from tests.dashboard.asking import HOSTILE, audited, is_escaped, user_of
from tests.dashboard.views.workflows.texts import SECRET, TEXT
from tests.factories import make_task, once, reload
from tests.support.workflows import begin_run, calls, make_workflow, work


def test_the_page_begins_with_an_example_that_can_be_saved(browser, alpha):
    client = browser(alpha)
    text = client.get("/workflows/new").context["text"]

    answer = client.post("/workflows/new", {"definition": text})

    made = Task.objects.get()
    assert answer["Location"] == f"/workflows/{made.pk}"
    assert audited(alpha) == [("task.created", user_of(client))]


def test_a_text_with_errors_is_kept_with_each_error_and_its_place(browser, alpha):
    text = "name: Flow\nsteps:\n  - key: a\n    targt: 1\n"

    answer = browser(alpha).post("/workflows/new", {"definition": text})

    assert answer.status_code == 400
    assert answer.context["text"] == text
    assert {one["pointer"]: one["step"] for one in answer.context["errors"]} == {
        "#/steps/0/targt": "a",
        "#/steps/0/target": "a",
    }
    assert not Task.objects.exists()


def test_an_edit_is_saved_as_the_next_version(browser, alpha):
    flow = make_workflow(alpha, [calls("a")])
    client = browser(alpha)
    page = client.get(f"/workflows/{flow.pk}/edit")
    text = page.context["text"].replace("name: Flow", "name: Renamed")

    answer = client.post(f"/workflows/{flow.pk}/edit", {"definition": text, "version": "1"})

    assert answer["Location"] == f"/workflows/{flow.pk}"
    assert (reload(flow).name, reload(flow).version) == ("Renamed", 2)


def test_an_edit_from_the_page_of_a_failed_run_leads_back_to_it(browser, alpha):
    flow = make_workflow(alpha, [calls("a")])
    run = begin_run(flow)
    work(run, lambda key, item: "FAILED")
    client = browser(alpha)
    page = client.get(f"/workflow-runs/{run}")
    assert not page.context["is_changed"]
    assert f'href="/workflows/{flow.pk}/edit?run={run}"' in page.text

    form = client.get(f"/workflows/{flow.pk}/edit?run={run}")
    text = form.context["text"].replace("name: Flow", "name: Mended")
    answer = client.post(form.context["save_url"], {"definition": text, "version": "1"})

    assert answer["Location"] == f"/workflow-runs/{run}"
    after = client.get(answer["Location"])
    assert after.context["is_changed"]
    assert '<option value="latest" selected>2, the latest</option>' in after.text


@pytest.mark.parametrize("run", ["", "x", "//evil.example.com", "../../tasks"])
def test_an_edit_leads_to_no_place_but_a_run(browser, alpha, run):
    flow = make_workflow(alpha, [calls("a")])
    client = browser(alpha)
    text = client.get(f"/workflows/{flow.pk}/edit").context["text"].replace("Flow", "Renamed")

    answer = client.post(
        f"/workflows/{flow.pk}/edit?{urlencode({'run': run})}",
        {"definition": text, "version": "1"},
    )

    assert answer["Location"] == f"/workflows/{flow.pk}"


def test_an_edit_leads_to_no_run_of_another_workflow_or_tenant(browser, alpha, beta):
    flow = make_workflow(alpha, [calls("a")])
    client = browser(alpha)
    for tenant in (alpha, beta):
        run = begin_run(make_workflow(tenant, [calls("a")]))
        path = f"/workflows/{flow.pk}/edit?run={run}"
        form = client.get(path)
        text = form.context["text"].replace("name: Flow", f"name: For {tenant.name}")

        answer = client.post(path, {"definition": text, "version": str(reload(flow).version)})

        assert f"/workflow-runs/{run}" not in form.text
        assert answer["Location"] == f"/workflows/{flow.pk}"


def test_a_secret_is_masked_in_the_text_and_kept_by_saving_it(browser, alpha):
    target = {"url": "https://api.example.com/a", "headers": {"Authorization": SECRET}}
    flow = make_workflow(alpha, [{"key": "a", "target": target}])
    client = browser(alpha)
    text = client.get(f"/workflows/{flow.pk}/edit").context["text"]
    fields = {"definition": text.replace("name: Flow", "name: F"), "workflow": str(flow.pk)}

    checked = client.post("/workflows/check", fields)
    client.post(f"/workflows/{flow.pk}/edit", {**fields, "version": "1"})

    assert SECRET not in text
    assert "error-text" not in checked.text
    kept = read_definition(reload(flow))
    assert (kept.name, kept.target["steps"][0]["target"]["headers"]) == (
        "F",
        {"Authorization": SECRET},
    )


def test_an_edit_of_another_version_is_not_saved(browser, alpha):
    flow = make_workflow(alpha, [calls("a")])
    client = browser(alpha)
    fields = {"definition": TEXT, "version": "1"}
    client.post(f"/workflows/{flow.pk}/edit", fields)

    answer = client.post(f"/workflows/{flow.pk}/edit", {**fields, "definition": TEXT + "\n#\n"})

    assert answer.status_code == 400
    assert answer.context["errors"]
    assert reload(flow).version == 2


def test_a_copy_begins_with_the_text_of_the_other(browser, alpha):
    flow = make_workflow(alpha, [calls("a")], name="Source")
    client = browser(alpha)

    assert "name: Source" in client.get(f"/workflows/new?copy={flow.pk}").context["text"]
    assert "Nightly" in client.get("/workflows/new?copy=x").context["text"]


def test_hostile_text_stays_text(browser, alpha):
    text = f"name: x\nsteps:\n  - key: {json.dumps(HOSTILE)}\n"
    client = browser(alpha)

    assert is_escaped(client.post("/workflows/check", {"definition": text}))
    assert is_escaped(client.post("/workflows/new", {"definition": text}))


def test_only_admins_write_workflows_and_of_their_tenant_only(browser, alpha, beta):
    flow = make_workflow(beta, [calls("a")])
    plain = make_task(alpha, once())
    admin, operator = browser(alpha, role="admin"), browser(alpha, role="operator")

    assert operator.get("/workflows/new").status_code == 403
    assert operator.post("/workflows/new", {"definition": TEXT}).status_code == 403
    for task in (flow, plain):
        assert admin.get(f"/workflows/{task.pk}/edit").status_code == 404
    fields = {"definition": TEXT, "workflow": str(flow.pk)}
    assert admin.post("/workflows/check", fields).status_code == 404
    assert admin.put("/workflows/new").status_code == 405
