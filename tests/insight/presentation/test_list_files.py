"""Rows of files have every column and nothing that holds a payload."""

from __future__ import annotations

from typing import Any

import pytest

from executions.models import DeadLetter, Execution
from insight.presentation.list_files import LIST_FILES
from tasks.models import Task
from tests.factories import make_dead_letter, make_tenant, once

MODELS: dict[str, Any] = {"executions": Execution, "tasks": Task, "dead_letters": DeadLetter}


@pytest.mark.django_db
@pytest.mark.parametrize("of", MODELS)
def test_a_row_has_every_column(of):
    letter = make_dead_letter(make_tenant(), once(name="Invoice", payload={"secret": "canary"}))

    [row] = LIST_FILES[of].present(list(MODELS[of].objects.filter(tenant=letter.tenant)))

    shown = {name: row[name] for name in LIST_FILES[of].columns}
    assert "canary" not in str(shown)
    assert "Invoice" in shown.values()
    assert {*LIST_FILES[of].columns}.isdisjoint({"payload", "result", "last_response", "progress"})
