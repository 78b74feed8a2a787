"""What a scheduler and a worker do in their own session while tasks are being changed."""

from __future__ import annotations

from executions.materialize import stage as materialize
from executions.ownership.partitions import Partitions
from tests.factories import finish, pass_guard, release, start
from wire.messages import Claimed


def prepare_and_hand_out(worker: str) -> list[Claimed]:
    """Prepare and hand out all that is due, and return it.

    The worker ``waits``, ``starts`` the first of it, or ``ends`` it: in a retry.
    """
    partitions = Partitions()
    partitions.run_once()
    materialize.run_once(partitions)
    partitions.release_all()
    handed = release()
    if worker != "waits":
        pass_guard(handed[:1])
    if worker == "ends":
        start(handed[:1])
        finish(handed[0], "RETRYING", retry_in=0.0)
    return handed
