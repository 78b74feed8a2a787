"""Which tasks use a secret: those whose current version names it, in a target or a step."""

from __future__ import annotations

import pytest

from executions.changes.changing import edit_task
from executions.loop.clocks import database_now
from shared.exceptions import InvalidInput
from tasks.calendars import limits_of
from tasks.creation import create_task
from tasks.models import NamedSecret, SecretUse
from tasks.named_secrets import uses
from tasks.validation.bodies import parse_create, parse_patch
from tasks.validation.workflow import parse_workflow
from tests.factories import ACTOR, daily, make_task, once
from tests.support.named_secrets import HOST, make_secret, using

pytestmark = pytest.mark.django_db


def users(secret):
    return [one.name for one in uses.users_of([secret.id]).get(secret.id, [])]


def edit(tenant, task, body):
    limits = limits_of(tenant.id)
    return edit_task(
        tenant.id,
        task.id,
        lambda current, now: parse_patch(current, body, now=now, limits=limits),
        actor=ACTOR,
    )


def test_the_tasks_of_a_secret_are_counted_and_named(alpha):
    secret, other = make_secret(alpha), make_secret(alpha, "other")
    make_task(alpha, daily(name="A", target=using()))
    make_task(alpha, daily(name="B", target=using(headers={"X": "{{ secrets.other }}"})))
    make_task(alpha)

    assert sorted(users(secret)) == ["A", "B"]
    assert uses.counts_of([secret.id, other.id]) == {secret.id: 2, other.id: 1}


def test_an_edit_that_takes_the_secret_out_ends_the_use(alpha):
    secret = make_secret(alpha)
    task = make_task(alpha, daily(target=using()))

    edit(alpha, task, {"target": {"auth": None}})

    assert users(secret) == []
    assert not SecretUse.objects.exists()


def test_a_deleted_task_uses_nothing(alpha):
    secret = make_secret(alpha)
    task = make_task(alpha, daily(target=using()))
    type(task).objects.filter(pk=task.pk).update(deleted_at=database_now())

    assert users(secret) == []


def test_a_step_and_what_undoes_it_use_a_secret(alpha):
    secret, other = make_secret(alpha), make_secret(alpha, "other")
    step = {
        "key": "a",
        "target": using(),
        "compensate": {"target": using("other")},
    }
    now = database_now()
    definition = parse_workflow(
        {"name": "Flow", "steps": [step]}, now=now, limits=limits_of(alpha.id)
    )
    create_task(alpha.id, definition, actor=ACTOR, now=now)

    for one in (secret, other):
        [user] = uses.users_of([one.id])[one.id]
        assert (user.name, user.is_workflow) == ("Flow", True)


def test_a_secret_that_went_since_it_was_looked_up_is_refused(alpha):
    make_secret(alpha)
    now = database_now()
    definition = parse_create(daily(target=using()), now=now, limits=limits_of(alpha.id))
    NamedSecret.objects.all().delete()

    with pytest.raises(InvalidInput) as refused:
        create_task(alpha.id, definition, actor=ACTOR, now=now)
    assert [one.code for one in refused.value.errors] == ["secret_unknown"]


def test_a_secret_of_another_tenant_does_not_exist(alpha, beta):
    make_secret(beta)

    with pytest.raises(InvalidInput) as refused:
        parse_create(daily(target=using()), now=database_now(), limits=limits_of(alpha.id))
    assert [one.code for one in refused.value.errors] == ["secret_unknown"]


@pytest.mark.parametrize(
    ("target", "code"),
    [
        (using("other"), "secret_unknown"),
        (using("Bad Name"), "secret_name_invalid"),
        (using(url="https://evil.example/"), "secret_not_allowed"),
        (using(url=f"http://{HOST}/"), "secret_not_allowed"),
        (
            {
                "url": f"https://{HOST}/",
                "auth": {"type": "basic", "username": "{{ secrets.token }}", "password": "x"},
            },
            "secret_not_here",
        ),
    ],
)
def test_what_a_target_may_not_do_with_a_secret_is_refused(alpha, target, code):
    make_secret(alpha)

    with pytest.raises(InvalidInput) as refused:
        parse_create(daily(target=target), now=database_now(), limits=limits_of(alpha.id))
    assert code in [one.code for one in refused.value.errors]


def test_an_edit_cannot_send_a_bound_secret_elsewhere(alpha):
    make_secret(alpha)
    task = make_task(alpha, daily(target=using()))

    with pytest.raises(InvalidInput) as refused:
        edit(alpha, task, {"target": {"url": "https://evil.example/"}})
    assert [one.code for one in refused.value.errors] == ["secret_not_allowed"]


def test_uses_of_one_time_tasks_that_have_ended_are_forgotten(alpha):
    secret = make_secret(alpha)
    ended, waiting = (make_task(alpha, once(name=name, target=using())) for name in "ab")
    recurring = make_task(alpha, daily(target=using()))
    type(ended).objects.filter(pk__in=[ended.pk, recurring.pk]).update(status="CANCELLED")

    assert uses.forget_ended() == 1
    assert set(SecretUse.objects.values_list("task_id", flat=True)) == {waiting.pk, recurring.pk}
    assert users(secret) == ["b"]
