"""The window of a fan-out: which of its items begin now, and how it ends.

Only fan-outs count. Their counts change under the run's lock, with the ends that they count.
"""

from __future__ import annotations

from dataclasses import dataclass

from tasks.workflow.step_states import StepState


@dataclass(slots=True)
class Fan:
    """A fan-out under way: ``begun`` items have begun, in order; the others count ends.

    It succeeds when at least ``min_success_share`` of the items that were not skipped have
    succeeded; without such items it does.
    """

    total: int
    max_parallel: int
    min_success_share: float = 1.0
    begun: int = 0
    succeeded: int = 0
    failed: int = 0
    skipped: int = 0

    @property
    def ended(self) -> int:
        """How many items have ended."""
        return self.succeeded + self.failed + self.skipped

    @property
    def has_room(self) -> bool:
        """Whether the window has room for another item, and there is one."""
        return self.begun < self.total and self.begun - self.ended < self.max_parallel

    def begin(self, most: int) -> range:
        """Begin the next items, up to ``most`` and as many as the window has room for."""
        room = self.max_parallel - (self.begun - self.ended)
        count = max(0, min(most, room, self.total - self.begun))
        self.begun += count
        return range(self.begun - count, self.begun)

    def end(self, *, early: bool) -> StepState | None:
        """Return how it ends; None while it has not, which is until all items have ended.

        ``early``: it fails as soon as it cannot succeed any more; items that run are for the caller
        to cancel, and no other begins.
        """
        if self.ended >= self.total:
            return StepState.SUCCEEDED if self._reached(self.succeeded) else StepState.FAILED
        if early and not self._reached(self.total - self.failed - self.skipped):
            return StepState.FAILED
        return None

    def _reached(self, succeeded: int) -> bool:
        counted = self.total - self.skipped
        # The quotient is rounded as the share was when it was read: 7 of 100 are 0.07.
        return not counted or succeeded / counted >= self.min_success_share
