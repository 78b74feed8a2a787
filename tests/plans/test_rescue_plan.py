from __future__ import annotations

from typing import Any

import pytest

from executions.ownership.partitions import Partitions
from executions.rescue.stage import Rescuer
from tests.factories import make_task, make_tenant, once, prepare, release, start

pytestmark = pytest.mark.django_db


def test_lost_work_is_found_by_its_lease(plans: Any):
    alpha = make_tenant("Alpha")
    for number in range(30):
        make_task(alpha, once(name=str(number)))
    prepare()
    start(release()[:10])
    partitions = Partitions()
    partitions.run_once()

    with plans() as found:
        Rescuer(partitions).run_once()

    found.check(
        "rescue/first_lease",
        "rescue/expired_queued",
        "rescue/running_workers",
        "rescue/lost_running",
    )
