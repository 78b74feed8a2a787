"""Error budgets that are used up too fast: told to operators, until they are used more slowly."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db.models import F

from executions.ledger import objectives
from executions.ledger.objectives import Answers
from executions.models import ObjectiveCount
from notifications.models import Alert
from notifications.time_checks.burning import BudgetChecks, check_budgets
from tenants.models import Tenant
from tests.factories import make_tenant
from tests.notifications.cast import begin, make_member
from tests.notifications.time_checks.world import rule

pytestmark = pytest.mark.django_db


@pytest.fixture
def home() -> Tenant:
    """Return the tenant of an operator; in another one there is work."""
    begin()
    tenant = make_tenant("Home")
    make_member(tenant, "root", is_superuser=True)
    return tenant


def burning() -> list[tuple[Tenant, str]]:
    """Judge once; return the tenants and objectives of the alerts whose condition holds."""
    assert check_budgets()
    found = Alert.objects.filter(kind="error_budget_burn", recovered_at=None)
    return [(alert.tenant, alert.subject) for alert in found]


@pytest.mark.parametrize(
    ("answers", "bad", "minutes", "burns"),
    [
        (690, 10, 0, True),
        (700, 10, 0, False),
        (100, 9, 0, False),
        (100, 20, 30, False),
        (0, 0, 0, False),
    ],
    ids=["fast", "slowly", "few", "a while ago", "nothing"],
)
def test_only_what_is_used_up_fast_for_long_and_still_opens_an_alert(
    home: Tenant, answers: int, bad: int, minutes: int, burns: bool
):
    objectives.add_answers([Answers(make_tenant("Other").id, answers, bad)])
    ObjectiveCount.objects.update(at=F("at") - timedelta(minutes=minutes))

    assert burning() == ([(home, "api")] if burns else [])
    assert burning() == ([(home, "api")] if burns else []), "once"


def test_it_ends_when_it_is_used_more_slowly(home: Tenant):
    objectives.add_answers([Answers(home.id, 100, 20)])
    burning()
    [alert] = Alert.objects.all()
    assert alert.title == "errors of the API use up the error budget 200 times as fast as allowed"

    ObjectiveCount.objects.update(at=F("at") - timedelta(minutes=30))

    assert burning() == []
    assert Alert.objects.count() == 1


def test_a_rule_that_is_switched_off_judges_nothing(home: Tenant):
    objectives.add_answers([Answers(home.id, 100, 20)])
    rule(home, "error_budget_burn", built_in=True, enabled=False)

    assert burning() == []
    assert BudgetChecks().run_once() == 60.0
