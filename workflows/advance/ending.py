"""How a run ends: with its status, why, and for the run above, what its last steps have put out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shared.encryption import DecryptionFailed, seal_json
from shared.sealing_contexts import result_context
from tasks.workflow.step_states import StepState
from workflows.advance.begins import failure_of
from workflows.advance.outputs import OutputInvalid, bounded_outputs
from workflows.advance.records import RunEnd
from workflows.advance.scope import STATUS_OF
from workflows.advance.waiting import ENDING

if TYPE_CHECKING:
    from workflows.advance.run import Run


def end_of(run: Run, status: StepState) -> RunEnd:
    """Return the end of a run; one that a step began has the outputs of its last steps.

    Where these are too large together, or no key opens them, the end says so in place of its
    reason, and the step fails.
    """
    # What has paused a run is no reason of its end.
    result, reason = None, run.reason if run.reason in ENDING else ""
    if run.row.parent_run is not None and status is StepState.SUCCEEDED:
        try:
            result = seal_json(
                _outputs(run), result_context(run.row.tenant_id, run.row.execution_id)
            )
        except (OutputInvalid, DecryptionFailed) as wrong:
            reason = failure_of(wrong).code
    return RunEnd(run.row, STATUS_OF[status], reason, result)


def _outputs(run: Run) -> dict[str, Any]:
    keys = [run.plan.keys[number] for number in sorted(run.plan.last)]
    return bounded_outputs(keys, run.known.scope().outputs)
