"""A crontab is pasted, planned and imported on one page."""

from __future__ import annotations

import pytest

from tasks.models import Task

PATH = "/tasks/import"
FORM = {
    "crontab": "0 2 * * * /usr/bin/tidy --all\n@reboot three\n",
    "url": "https://example.com/run",
    "source": "web-1",
    "timezone": "Europe/Berlin",
}


def test_the_plan_stores_nothing_and_the_import_leads_to_the_paused_tasks(browser, alpha):
    client = browser(alpha, role="admin")

    planned = client.post(PATH, {**FORM, "plan": "1"})
    stored = Task.objects.count()
    done = client.post(PATH, {**FORM, "import": "1"})

    assert stored == 0
    assert "Plan: 1 new, 0 unchanged, 1 refused" in planned.text
    assert "@reboot runs when the machine starts" in planned.text
    assert "Import 1 task<" in planned.text
    assert done["Location"] == "/tasks?label=import_file%3Aweb-1&status=PAUSED"
    task = Task.objects.get()
    assert (task.status, task.schedule["timezone"]) == ("PAUSED", "Europe/Berlin")
    assert task.name in client.get(done["Location"]).text


def test_a_second_plan_shows_the_task_and_offers_no_import(browser, alpha):
    client = browser(alpha, role="admin")
    client.post(PATH, {**FORM, "import": "1"})

    again = client.post(PATH, {**FORM, "plan": "1"}).text
    nothing = client.post(PATH, {**FORM, "import": "1"}, follow=True).text

    assert "Plan: 0 new, 1 unchanged" in again
    assert f"/tasks/{Task.objects.get().id}" in again
    assert 'name="import"' not in again
    assert "Nothing to import" in nothing


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"crontab": ""}, "crontab"),
        ({"crontab": "# nothing"}, "crontab"),
        ({"url": "ftp://x"}, "url"),
        ({"source": "a/b"}, "source"),
        ({"timezone": "Mars/Base"}, "timezone"),
    ],
)
@pytest.mark.parametrize("button", ["plan", "import"])
def test_an_error_stands_at_its_field_and_the_text_stays(browser, alpha, wrong, field, button):
    answer = browser(alpha, role="admin").post(PATH, {**FORM, **wrong, button: "1"})

    assert answer.status_code == 400
    assert f'href="#{field}"' in answer.text
    assert ("tidy --all" in answer.text) is (field != "crontab")
    assert not Task.objects.exists()


@pytest.mark.parametrize("role", ["viewer", "operator"])
def test_only_who_may_create_tasks_imports(browser, alpha, role):
    client = browser(alpha, role=role)

    assert client.get(PATH).status_code == 403
    assert client.post(PATH, {**FORM, "import": "1"}).status_code == 403
    assert not Task.objects.exists()
