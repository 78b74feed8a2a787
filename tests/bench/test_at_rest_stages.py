from __future__ import annotations

import pytest

from bench import at_rest_stages
from bench.at_rest_stages import LOOK, STAGES, cost_of, one_look, one_pass
from bench.installation import InstallationError
from executions.models import Execution
from executions.ownership.partitions import Partitions
from shared.sql import statement
from tasks.models import Task
from tests.factories import make_tenant


def test_a_statement_costs_planning_and_running_and_every_block_looked_at():
    explained = {
        "Plan": {"Shared Hit Blocks": 40, "Shared Read Blocks": 2},
        "Planning Time": 0.5,
        "Execution Time": 2.0,
    }

    assert cost_of(explained) == (2.5, 42)


def test_the_watched_statements_exist():
    assert all(statement(name) for names in STAGES.values() for name in names)


@pytest.mark.django_db
def test_a_pass_costs_something_in_every_stage_and_leaves_nothing(monkeypatch):
    monkeypatch.setattr(at_rest_stages, "DUE", 20)
    Partitions().run_once()

    costs = one_pass(make_tenant().id)

    assert set(costs.ms) == set(costs.blocks) == set(STAGES) - {LOOK}
    assert min(costs.ms.values()) > 0
    assert min(costs.blocks.values()) > 0
    assert not Task.objects.exists()
    assert not Execution.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_a_look_costs_something_and_needs_no_transaction_around():
    Partitions().run_once()

    look = one_look()

    assert set(look.ms) == set(look.blocks) == {LOOK}
    assert min(look.ms[LOOK], look.blocks[LOOK]) > 0


@pytest.mark.django_db
def test_without_a_scheduler_nothing_is_measured():
    with pytest.raises(InstallationError, match="not one scheduler"):
        one_pass(make_tenant().id)
