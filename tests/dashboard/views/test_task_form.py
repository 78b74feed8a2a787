"""New and edited tasks: saving, pasting, the preview, and the test before saving."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from django.conf import settings

from executions.external.pools import change_pool
from executions.triggering.receiver_requests import address_of
from executions.triggering.test_delivery import TestResult
from shared.conf import conf
from shared.redaction import MASK
from tasks.models import Calendar, Task
from tasks.revisions import definition_of, read_definition
from tenants.models import Tenant
from tests.dashboard.asking import HOSTILE, audited, is_escaped, user_of
from tests.dashboard.kinds import allow
from tests.factories import ACTOR, daily, make_task, reload
from tests.support.forms import form_at
from tests.tasks.bodies import TARGETS

URL = "https://api.example.com/reports"
SECRET = "Bearer s3cr3t-of-the-receiver"
TARGET = {"url": URL, "headers": {"Authorization": SECRET}}


@pytest.fixture
def editor(browser, alpha):
    return browser(alpha, role="admin")


def test_a_task_is_made_and_its_page_shown(editor, alpha):
    fields = form_at(editor, "/tasks/new", url=URL, cron_expression="0 8 * * *", name="Report")

    answer = editor.post("/tasks/new", fields)

    task = Task.objects.get()
    assert answer.url == f"/tasks/{task.pk}"
    assert (task.name, task.tenant) == ("Report", alpha)
    assert audited(alpha) == [("task.created", user_of(editor))]


def test_an_error_is_named_by_its_field_in_the_summary_and_tied_to_it(editor):
    fields = form_at(editor, "/tasks/new", url=URL, cron_expression="", name="x" * 300)

    text = editor.post("/tasks/new", fields).text

    assert '<a href="#cron_expression">Cron expression: ' in text
    assert '<a href="#name">Name: ' in text
    assert 'aria-invalid="true" aria-describedby="name-error name-hint"' in text


def test_a_form_sent_twice_makes_one_task(editor):
    fields = form_at(editor, "/tasks/new", url=URL, cron_expression="0 8 * * *")

    places = [editor.post("/tasks/new", fields)["Location"] for _ in range(2)]

    assert places[0] == places[1]
    assert Task.objects.count() == 1


def test_wrong_fields_keep_their_text_and_say_what_is_wrong(editor):
    fields = form_at(editor, "/tasks/new", url="ftp://x", cron_expression="99 * * * *", payload="{")

    answer = editor.post("/tasks/new", fields)

    assert answer.status_code == 400
    assert "payload" in answer.context["errors"]
    answer = editor.post("/tasks/new", {**fields, "payload": ""})
    assert {"url", "cron_expression"} <= set(answer.context["errors"])
    assert 'value="99 * * * *"' in answer.text
    assert not Task.objects.exists()


def test_too_large_a_payload_is_said_at_its_field(editor):
    fields = form_at(editor, "/tasks/new", url=URL, cron_expression="0 8 * * *")

    answer = editor.post("/tasks/new", {**fields, "payload": f'"{"x" * 300_000}"'})

    assert "300002 bytes" in answer.context["errors"]["payload"]
    assert not Task.objects.exists()


@pytest.mark.parametrize(
    "nonsense",
    [
        {"name": "a\0b"}, {"url": "\0"}, {"timezone": "../../etc/passwd"}, {"timezone": "\0"},
        {"when": "never"}, {"when": "every", "every_count": "9" * 5000}, {"priority": "1e999"},
        {"when": "at", "run_at": "tomorrow"}, {"when": "after", "delay_seconds": "-1"},
        {"headers": "no colon"}, {"headers": f"Authorization: {MASK}"}, {"labels": "="},
        {"payload": "[" * 3000}, {"method": "STEAL"}, {"max_attempts": "nan"},
        {"start_at": "9999-12-31T23:59"}, {"misfire_policy": "\ufffd"},
    ],
    ids=lambda fields: str(fields)[:40],
)  # fmt: skip
def test_nonsense_is_a_message_and_never_a_crash(editor, nonsense):
    fields = form_at(editor, "/tasks/new", url=URL, cron_expression="0 8 * * *")

    answer = editor.post("/tasks/new", {**fields, **nonsense})
    preview = editor.post("/tasks/preview", {**fields, **nonsense})

    assert (answer.status_code, preview.status_code) == (400, 200)
    assert answer.context["errors"]
    assert not Task.objects.exists()


def test_an_edit_is_the_next_version_and_nothing_else_changes(editor, alpha):
    task = make_task(alpha, daily(target=TARGET, retry_policy={"retry_on": ["503"]}))
    before = read_definition(task)
    path = f"/tasks/{task.pk}/edit"

    answer = editor.post(path, form_at(editor, path, name="Renamed"))

    after = read_definition(reload(task))
    assert answer.url == f"/tasks/{task.pk}"
    assert (reload(task).version, after.name) == (2, "Renamed")
    assert (after.target, after.retry_policy) == (before.target, before.retry_policy)
    assert audited(alpha) == [("task.updated", user_of(editor))]


def test_saving_without_a_change_makes_no_version(editor, alpha):
    task = make_task(alpha, daily(target=TARGET))
    path = f"/tasks/{task.pk}/edit"

    editor.post(path, form_at(editor, path))

    assert reload(task).version == 1


def test_a_stale_edit_keeps_the_text_and_says_so(editor, alpha):
    task = make_task(alpha, daily())
    path = f"/tasks/{task.pk}/edit"
    mine = form_at(editor, path, name="Mine")
    editor.post(path, form_at(editor, path, name="Theirs", form_key="another"))

    answer = editor.post(path, mine)

    assert "Another version was saved in the meantime" in answer.context["errors"]["form"]
    assert answer.context["fields"]["name"] == "Mine"
    assert reload(task).name == "Theirs"
    again = {**mine, "version": str(answer.context["version"]), "form_key": "a-third"}
    assert editor.post(path, again).status_code == 302
    assert (reload(task).name, reload(task).version) == ("Mine", 3)


@pytest.mark.parametrize("version", ["", "x", "9" * 5000, "\u0661"])
def test_a_damaged_version_is_no_crash(editor, alpha, version):
    task = make_task(alpha, daily())
    path = f"/tasks/{task.pk}/edit"

    assert editor.post(path, form_at(editor, path, version=version)).status_code == 302


def test_a_copy_carries_what_the_form_does_not_show(editor, alpha):
    task = make_task(alpha, daily(target={**TARGET, "success": {"statuses": ["204"]}}))
    path = f"/tasks/new?copy={task.pk}"

    assert SECRET not in editor.get(path).text
    editor.post("/tasks/new", form_at(editor, path))

    copied = read_definition(Task.objects.exclude(pk=task.pk).get())
    assert copied.name == "Daily report (copy)"
    assert copied.target == read_definition(task).target


def test_other_tenants_tasks_are_neither_edited_nor_copied(editor, beta):
    task = make_task(beta, daily(target=TARGET))

    assert editor.get(f"/tasks/{task.pk}/edit").status_code == 404
    assert editor.post(f"/tasks/{task.pk}/edit", {"name": "x"}).status_code == 404
    assert editor.get(f"/tasks/new?copy={task.pk}").status_code == 404
    fields = form_at(editor, "/tasks/new", url=URL, cron_expression="0 8 * * *")
    masked = {**fields, "base_of": str(task.pk), "headers": f"Authorization: {MASK}"}
    assert editor.post("/tasks/new", masked).status_code == 400
    assert not Task.objects.filter(tenant__name="Alpha").exists()


@pytest.mark.parametrize("role", ["viewer", "operator"])
def test_only_admins_get_the_form(browser, alpha, role):
    task = make_task(alpha, daily())
    client = browser(alpha, role=role)

    for path in ("/tasks/new", f"/tasks/{task.pk}/edit"):
        assert client.get(path).status_code == 403
        assert client.post(path, {"name": "x"}).status_code == 403
    assert client.post("/tasks/test").status_code == 403


def test_the_example_calls_the_tenants_own_address_at_the_receiver(editor, alpha, settings):
    settings.RECEIVER_URL = "http://127.0.0.1:8001/"

    answer = editor.get("/tasks/new?example=1")

    own = address_of(alpha.pk)
    assert answer.context["fields"]["url"] == f"{own}ok"
    assert f"{own}flaky?fail=2" in answer.text
    assert 'value="http://127.0.0.1:8001/ok"' not in answer.text


def test_without_a_receiver_the_form_names_none(editor, settings):
    settings.RECEIVER_URL = ""

    answer = editor.get("/tasks/new?example=1")

    assert "test receiver" not in answer.text
    assert not answer.context["fields"].get("url")


@pytest.mark.parametrize("query", ["copy=x", "copy=", "example=1", "copy=%00"])
def test_an_odd_query_shows_a_new_form(editor, query):
    assert editor.get(f"/tasks/new?{query}").status_code == 200


def test_a_paste_fills_the_form_and_saves_nothing(editor):
    pasted = f"*/5 * * * * curl -X PUT -H 'X-A: 1' -d '{{\"n\": 1}}' {URL}"
    fields = form_at(editor, "/tasks/new", name="Kept", method="GET")

    filled = editor.post("/tasks/new", {**fields, "paste": "1", "pasted": pasted}).context["fields"]

    assert (filled["cron_expression"], filled["method"]) == ("*/5 * * * *", "PUT")
    assert (filled["url"], filled["name"], filled["headers"]) == (URL, "Kept", "X-A: 1")
    assert not Task.objects.exists()


def test_the_pasted_text_stays_after_an_error(editor):
    pasted = "\ncurl -F 'a=@<b>' https://a.example"

    answer = editor.post("/tasks/new", {"paste": "1", "pasted": pasted})

    # A browser drops the first line break inside of the field.
    assert ">\n\ncurl -F &#x27;a=@&lt;b&gt;&#x27; https://a.example</textarea>" in answer.text
    assert "multipart forms cannot be sent" in answer.context["paste_error"]


def test_a_pasted_user_body_and_proxy_are_saved_with_the_task(editor):
    pasted = (
        "curl -L -x u:p@proxy.example:3128 -H 'Content-Type: text/xml' -d '<a> </a>' "
        "https://me:secret@api.example.com/x"
    )
    fields = form_at(editor, "/tasks/new", cron_expression="0 8 * * *")

    filled = editor.post("/tasks/new", {**fields, "paste": "1", "pasted": pasted}).context["fields"]
    filled = {name: text for name, text in filled.items() if not name.startswith("paste")}
    answer = editor.post("/tasks/new", {**filled, "form_key": "another"})

    assert answer.status_code == 302
    made = read_definition(Task.objects.get())
    assert made.payload == "<a> </a>"
    assert made.target["body_format"] == "raw"
    assert made.target["follow_redirects"] is True
    assert made.target["auth"] == {"type": "basic", "username": "me", "password": "secret"}
    assert made.target["proxy"]["password"] == "p"


@pytest.mark.parametrize("pasted", ["", "nonsense", "curl", "\0", "* * * * *", "x" * 100_000])
def test_a_paste_that_is_none_says_so(editor, pasted):
    answer = editor.post("/tasks/new", {"paste": "1", "pasted": pasted, "timezone": "No/Where"})

    assert answer.status_code == 200
    assert answer.context["paste_error"]


def test_the_preview_says_the_schedule_and_its_fires(editor):
    fields = form_at(editor, "/tasks/new", cron_expression="0 8 * * *", timezone="Europe/Berlin")

    answer = editor.post("/tasks/preview", fields)

    assert len(answer.context["fires"]) == 10
    assert "about 1 run a day" in answer.text
    assert "<html" not in answer.text


def test_the_preview_is_for_every_member_and_only_posted(browser, alpha):
    client = browser(alpha, role="viewer")

    assert client.post("/tasks/preview", {"cron_expression": "* * * * *"}).status_code == 200
    assert client.get("/tasks/preview").status_code == 405


def test_a_session_that_ended_leaves_the_form_alone(client, db):
    answer = client.post("/tasks/preview", HTTP_HX_REQUEST="true")

    assert answer.status_code == 200
    assert "Your session has ended" in answer.text
    assert "<html" not in answer.text


def sent(**parts: Any) -> TestResult:
    result: dict[str, Any] = {
        "outcome": "SUCCEEDED",
        "would_retry": False,
        "error_code": "",
        "error_message": "",
        "request": {"headers": {"X-Scheduler-Test": "true"}},
        "response": {"status": 200, "headers": {}, "body": HOSTILE, "truncated": False},
        "timings": {"total": 12.5},
    }
    return TestResult(**{**result, **parts})


def spy(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, str]]:
    """Return body and actor of each test that is sent from now on."""
    seen: list[tuple[Any, str]] = []

    def send(tenant: Any, body: Any, *, actor: Any, **_: Any) -> TestResult:
        seen.append((body, actor.name))
        return sent()

    monkeypatch.setattr("dashboard.views.task_form.send_test", send)
    return seen


def test_a_test_is_sent_and_its_answer_shown_as_text(editor, monkeypatch):
    seen = spy(monkeypatch)

    answer = editor.post("/tasks/test", form_at(editor, "/tasks/new", url=URL))

    [(body, actor)] = seen
    assert (body["target"]["url"], actor) == (URL, user_of(editor))
    assert is_escaped(answer)
    assert "12.5 ms" in answer.text or "12 ms" in answer.text or "13 ms" in answer.text


def test_a_test_goes_to_the_receiver_where_asked_and_shows_what_arrived(editor, monkeypatch):
    paths: list[Any] = []
    arrived = {"method": "POST", "path": "/ok", "headers": {"X-A": HOSTILE}, "body": HOSTILE}

    def send(*_: Any, receiver_path: Any, **__: Any) -> TestResult:
        paths.append(receiver_path)
        return sent(received=arrived if receiver_path else None)

    monkeypatch.setattr("dashboard.views.task_form.send_test", send)
    form = form_at(editor, "/tasks/new", url=URL)

    there = editor.post("/tasks/test", {**form, "to": "receiver"})
    target = editor.post("/tasks/test", form)

    assert paths == ["/ok", None]
    assert is_escaped(there)
    assert "What the receiver got" in there.text
    assert "What the receiver got" not in target.text


def test_a_test_that_got_no_answer_says_why(editor, monkeypatch):
    failed = sent(outcome="FAILED", response=None, error_code="connect", error_message=HOSTILE)
    monkeypatch.setattr("dashboard.views.task_form.send_test", lambda *_, **__: failed)

    assert is_escaped(editor.post("/tasks/test", form_at(editor, "/tasks/new", url=URL)))


def test_a_test_of_a_wrong_form_says_what_is_wrong(editor):
    answer = editor.post("/tasks/test", form_at(editor, "/tasks/new", url="http://127.0.0.1/"))

    assert answer.status_code == 200
    assert answer.context["errors"]


def test_a_test_knows_the_headers_that_the_form_masks(editor, alpha, monkeypatch):
    task = make_task(alpha, daily(target=TARGET))
    sources: list[Any] = []

    def send(*_: Any, source: Any, **__: Any) -> TestResult:
        sources.append(source)
        return sent()

    monkeypatch.setattr("dashboard.views.task_form.send_test", send)
    editor.post("/tasks/test", form_at(editor, f"/tasks/{task.pk}/edit"))

    assert sources == [read_definition(task)]


@pytest.mark.parametrize("path", ["/tasks/{0}/edit", "/tasks/new?copy={0}"])
def test_no_door_of_the_form_sends_a_kept_secret_to_another_host(editor, alpha, path):
    task = make_task(alpha, daily(target={**TARGET, "auth": None}))
    fields = form_at(editor, path.format(task.pk), url="https://elsewhere.example.com/")

    saved = editor.post(path.format(task.pk).partition("?")[0], fields)
    tested = editor.post("/tasks/test", fields)

    assert saved.status_code == 400
    assert "Authorization" in saved.context["errors"]["headers"]
    assert [error for error in tested.context["errors"] if "Authorization" in error]
    assert (Task.objects.count(), reload(task).version) == (1, 1)


def test_hostile_definitions_are_shown_as_text(editor, alpha):
    body = daily(name=HOSTILE, payload=HOSTILE, labels={HOSTILE: HOSTILE})
    task = make_task(alpha, {**body, "target": {"url": URL, "headers": {"X-A": HOSTILE}}})

    for path in (f"/tasks/{task.pk}/edit", f"/tasks/new?copy={task.pk}"):
        answer = editor.get(path)
        assert is_escaped(answer)
        assert '" onload="' not in answer.text


def test_every_field_of_a_task_survives_a_save_without_a_change(editor, alpha):
    Calendar.objects.create(tenant=alpha, name="Holidays")
    schedule = {
        "cron_expression": "0 9 * * *",
        "timezone": "Europe/Berlin",
        "working_day": -1,
        "calendars": ["Holidays"],
        "calendar_policy": "previous_business_day",
        "jitter_seconds": 30,
        "overlap_policy": "queue_one",
        "max_concurrent": 2,
        "misfire_policy": "replay",
        "misfire_replay_limit": 5,
        "misfire_replay_per_second": 0.5,
    }
    policy = {"pause_after_failures": 3}
    task = make_task(alpha, daily(schedule=schedule, retry_policy=policy))
    path = f"/tasks/{task.pk}/edit"

    answer = editor.post(path, form_at(editor, path))

    assert answer.status_code == 302
    assert reload(task).version == 1


def test_calendars_are_chosen_among_those_of_the_tenant(editor, alpha, beta):
    for tenant, name in ((alpha, "Holidays"), (alpha, "Close-down"), (beta, "Theirs")):
        Calendar.objects.create(tenant=tenant, name=name)
    fields = form_at(editor, "/tasks/new", url=URL, cron_expression="0 8 * * *")

    answer = editor.post("/tasks/new", {**fields, "calendars": ["Holidays", "Close-down"]})

    assert editor.get("/tasks/new").context["calendars"] == ["Close-down", "Holidays"]
    assert answer.status_code == 302
    assert Task.objects.get().schedule["calendars"] == ["Holidays", "Close-down"]


def test_a_new_task_has_the_jitter_of_the_tenant_unless_changed(editor, alpha):
    Tenant.objects.filter(pk=alpha.pk).update(default_jitter_seconds=45)

    editor.post("/tasks/new", form_at(editor, "/tasks/new", url=URL, cron_expression="0 8 * * *"))

    assert Task.objects.get().schedule["jitter_seconds"] == 45


@pytest.mark.parametrize(
    "fields",
    [
        {"kind": "pool", "pool_name": "batch-etl", "pool_handler": "invoices", "requires": "gpu=1"},
        {"kind": "handler", "handler_name": "reports.daily"},
        {"kind": "command", "command": "backup", "arguments": "--full", "environment": "A=b"},
    ],
    ids=lambda fields: fields["kind"],
)
def test_a_task_of_each_kind_is_made_and_edited(editor, alpha, monkeypatch, fields):
    allow(monkeypatch, alpha)
    form = form_at(editor, "/tasks/new", cron_expression="0 8 * * *", **fields)

    answer = editor.post("/tasks/new", form)

    task = Task.objects.get()
    assert answer.url == f"/tasks/{task.pk}"
    assert read_definition(task).target["kind"] == fields["kind"]
    path = f"/tasks/{task.pk}/edit"
    editor.post(path, form_at(editor, path))
    assert reload(task).version == 1
    editor.post(path, form_at(editor, path, form_key="b", name="Renamed"))
    assert read_definition(reload(task)).target == read_definition(task).target


def test_only_pools_that_there_are_and_allowed_commands_are_offered(
    editor, alpha, beta, monkeypatch
):
    assert "This deployment allows no commands" in editor.get("/tasks/new").text
    allow(monkeypatch, alpha)
    change_pool(beta.id, "theirs", {}, actor=ACTOR)

    answer = editor.get("/tasks/new")

    assert (answer.context["pools"], answer.context["commands"]) == (["batch-etl"], ["backup"])
    assert 'href="/pools"' in answer.text
    assert "allows no commands" not in answer.text


def test_the_form_says_which_variables_each_command_of_the_tenant_takes(
    editor, alpha, beta, monkeypatch
):
    allowed = {"backup": "/bin/x", "plain": "/bin/y", "theirs": "/bin/z"}
    knobs = replace(
        conf(),
        allowed_commands=allowed,
        command_variables={"backup": ("REGION", "MODE"), "theirs": ("X",)},
        command_tenants={"theirs": (str(beta.id),)},
    )
    monkeypatch.setattr(settings, "PUNCTUAL", knobs)

    answer = editor.get("/tasks/new")

    assert answer.context["commands"] == ["backup", "plain"]
    assert "REGION, MODE" in answer.text
    assert "plain</code> takes no variables" in answer.text


def test_a_variable_that_the_command_does_not_take_is_said_at_its_field(editor, monkeypatch):
    knobs = replace(conf(), allowed_commands={"backup": "/bin/x"})
    monkeypatch.setattr(settings, "PUNCTUAL", knobs)
    fields = {"kind": "command", "command": "backup", "environment": "PERL5OPT=-Mx\nHOME=/"}
    form = form_at(editor, "/tasks/new", cron_expression="0 8 * * *", **fields)

    answer = editor.post("/tasks/new", form)

    said = answer.context["errors"]["environment"]
    assert (answer.status_code, "PERL5OPT" in said, "HOME" in said) == (400, True, True)


def test_a_pool_that_there_is_not_is_said_at_its_field(editor):
    fields = {"kind": "pool", "pool_name": "nowhere", "pool_handler": "x"}
    form = form_at(editor, "/tasks/new", cron_expression="0 8 * * *", **fields)

    answer = editor.post("/tasks/new", form)

    assert answer.status_code == 400
    assert "There is no pool" in answer.context["errors"]["pool_name"]


def test_owner_and_reference_are_saved_copied_and_judged_at_their_fields(editor, alpha):
    fields = {"cron_expression": "0 8 * * *", "owner": "ops@example.com"}
    form = form_at(editor, "/tasks/new", url=URL, payload_ref="s3://bucket/key", **fields)

    editor.post("/tasks/new", form)
    task = Task.objects.get()
    path = f"/tasks/{task.pk}/edit"
    both = editor.post(path, form_at(editor, path, payload="{}", owner="nobody"))
    editor.post("/tasks/new", form_at(editor, f"/tasks/new?copy={task.pk}", form_key="c"))
    editor.post(path, form_at(editor, path, owner="", payload_ref="", payload='{"n": 1}'))

    first, copied = task.revisions.get(version=1), Task.objects.exclude(pk=task.pk).get()
    assert (definition_of(first).payload_ref, definition_of(first).owner) == (
        *("s3://bucket/key", "ops@example.com"),
    )
    assert {"payload_ref", "owner"} <= both.context["errors"].keys()
    assert {"reference", "labels"} <= set(both.context["open_parts"])
    assert read_definition(copied).payload_ref == "s3://bucket/key"
    saved = read_definition(reload(task))
    assert (saved.payload, saved.payload_ref, saved.owner) == ({"n": 1}, None, None)


def test_stored_secrets_are_kept_and_on_no_page(editor, alpha):
    task = make_task(alpha, daily(target={**TARGETS["webhook"], "url": URL}))
    path = f"/tasks/{task.pk}/edit"

    shown = editor.get(path)

    assert shown.context["stored"] == ["auth_password", "proxy_password"]
    assert "s3cret" not in shown.text + editor.get(f"/tasks/new?copy={task.pk}").text
    editor.post(path, form_at(editor, path, name="Renamed"))
    assert read_definition(reload(task)).target == read_definition(task).target
    assert reload(task).version == 2
    editor.post("/tasks/new", form_at(editor, f"/tasks/new?copy={task.pk}", form_key="c"))
    copied = read_definition(Task.objects.exclude(pk=task.pk).get())
    assert copied.target["auth"]["password"] == "s3cret"


def test_errors_stand_in_their_part_of_the_form_which_opens(editor):
    fields = {
        "auth_type": "basic",
        "tls_client_key": "no key",
        "rule_0_statuses": "",
        "rule_1_statuses": "9999",
        "success_body_pattern": "(",
    }
    form = form_at(editor, "/tasks/new", url=URL, cron_expression="0 8 * * *", **fields)

    answer = editor.post("/tasks/new", form)

    errors = answer.context["errors"]
    assert {"auth_password", "tls_client_key", "rule_0_statuses", "success_body_pattern"} <= set(
        errors
    )
    assert {"auth", "tls", "retry", "success"} <= set(answer.context["open_parts"])
    assert answer.context["rules"][0]["errors"]
    assert answer.context["rules"][0]["statuses"] == "9999"


def test_only_a_webhook_can_be_tested(editor):
    form = form_at(editor, "/tasks/new", cron_expression="0 8 * * *", kind="handler")

    answer = editor.post("/tasks/test", {**form, "handler_name": "reports.daily"})

    assert "Only a webhook can be tested" in answer.text


def test_hostile_text_in_a_target_is_shown_as_text(editor, alpha):
    body = daily(target={"kind": "handler", "handler": "x"}, payload=HOSTILE, labels={"a": HOSTILE})
    task = make_task(alpha, body)

    assert is_escaped(editor.get(f"/tasks/{task.pk}/edit"))
    fields = {"kind": "pool", "requires": HOSTILE, "pool_name": HOSTILE, "command": HOSTILE}
    assert is_escaped(editor.post("/tasks/new", form_at(editor, "/tasks/new", **fields)))
