from __future__ import annotations

import pytest

from api.protocol.lists import filter_text, ordering
from insight.filter_language.fields import TASKS
from insight.list_orders import TASK_ORDERS


def test_a_filter_names_its_fields_in_the_schema_and_reads_as_a_filter():
    parameter = filter_text(TASKS)

    assert parameter.read("STATUS:paused").text == "status:paused"
    assert "`owner`" in parameter.description
    with pytest.raises(ValueError, match="At character 1"):
        parameter.read("delay:>1s")


def test_an_order_is_one_of_the_lists_own():
    parameter = ordering(TASK_ORDERS, default="-created_at")

    assert parameter.read("-next_run_at") == "-next_run_at"
    assert parameter.schema["enum"] == list(TASK_ORDERS)
    with pytest.raises(ValueError, match="no order by owner"):
        parameter.read("owner")
