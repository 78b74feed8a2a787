"""``manage.py workflows``: workflows, their runs, and what people decide about steps."""

from __future__ import annotations

from typing import ClassVar

from operations.workflows import controlling, deciding, editing, reading, run_reading, running
from shared.command_parser import Verb
from shared.commands import VerbCommand

_RUN = "77aa41c09b52"


class Command(VerbCommand):
    """Every action on workflows and their runs."""

    help = (
        "List, show, create and change workflows; run them, follow and mend their runs. A workflow "
        "is a task, too: `tasks pause` and `tasks resume` stop and continue its schedule, while "
        "`workflows pause` and `workflows resume` are about one run."
    )
    verbs: ClassVar[tuple[Verb, ...]] = (
        Verb(
            "list",
            "list workflows, newest first",
            ("workflows list --status PAUSED", "workflows list --label team:billing --json"),
            reading.list_workflows,
            reading.add_list_options,
        ),
        Verb(
            "show",
            "show one workflow with its steps",
            ("workflows show 9f3c2a7b1d20",),
            reading.show_workflow,
            reading.add_show_options,
        ),
        Verb(
            "create",
            "create a workflow from YAML or JSON",
            ("workflows create --file nightly.yaml --dry-run", "workflows create --file -"),
            editing.create_workflow,
            editing.add_create_options,
        ),
        Verb(
            "edit",
            "change fields of a workflow; open runs keep their version",
            (
                "workflows edit 9f3c2a7b1d20 --file steps.yaml --version 3",
                "workflows edit 9f3c2a7b1d20 --file - --dry-run",
            ),
            editing.edit_workflow,
            editing.add_edit_options,
        ),
        Verb(
            "delete",
            "delete workflows; their runs stay readable",
            ("workflows delete 9f3c2a7b1d20 --cancel-running",),
            editing.delete_workflows,
            editing.add_delete_options,
            dangerous=True,
        ),
        Verb(
            "run",
            "run a workflow now, beside its schedule",
            (
                "workflows run 9f3c2a7b1d20 --wait 60",
                'workflows run 9f3c2a7b1d20 --input \'{"day": "2026-11-28"}\'',
            ),
            running.run,
            running.add_options,
        ),
        Verb(
            "runs",
            "list the runs of a workflow, newest first",
            ("workflows runs 9f3c2a7b1d20 --status FAILED --since 7d",),
            run_reading.list_runs,
            run_reading.add_runs_options,
        ),
        Verb(
            "status",
            "show a run with every step: the latest of a workflow, or the one named",
            ("workflows status 9f3c2a7b1d20", f"workflows status {_RUN} --items load --json"),
            run_reading.show_status,
            run_reading.add_status_options,
        ),
        Verb(
            "cancel",
            "cancel runs, or a part of them: no further step begins, running steps are aborted",
            (
                f"workflows cancel {_RUN} --yes",
                f"workflows cancel {_RUN} --scope downstream --key load",
            ),
            controlling.cancel,
            controlling.add_cancel_options,
            dangerous=True,
        ),
        Verb(
            "pause",
            "pause runs: no further step begins (of the workflow itself: `tasks pause`)",
            (f"workflows pause {_RUN}",),
            controlling.pause,
            controlling.add_pause_options,
        ),
        Verb(
            "resume",
            "resume paused runs (of the workflow itself: `tasks resume`)",
            (f"workflows resume {_RUN}",),
            controlling.resume,
            controlling.add_pause_options,
        ),
        Verb(
            "retry",
            "run what has failed of ended runs again, as their next take",
            (
                f"workflows retry {_RUN}",
                f"workflows retry {_RUN} --from load --version latest",
                f"workflows retry {_RUN} --input @input.json",
                f"workflows retry {_RUN} --cancel-running",
            ),
            controlling.retry,
            controlling.add_retry_options,
        ),
        Verb(
            "skip",
            "end a step as skipped: one that waits, or that has failed in an ended run",
            (f"workflows skip {_RUN} report --yes", f"workflows skip {_RUN} load --item 17 --yes"),
            deciding.skip,
            deciding.add_skip_options,
            dangerous=True,
        ),
        Verb(
            "succeed",
            "end a step as succeeded: one that waits, or that has failed in an ended run",
            (f"workflows succeed {_RUN} load --output '{{\"rows\": 12000}}' --yes",),
            deciding.succeed,
            deciding.add_succeed_options,
            dangerous=True,
        ),
        Verb(
            "approve",
            "approve a step that waits for it, or refuse it with --reject",
            (
                f'workflows approve {_RUN} release --take 1 --note "checked" --yes',
                f"workflows approve {_RUN} release --take 1 --reject",
            ),
            deciding.approve,
            deciding.add_approve_options,
            dangerous=True,
        ),
        Verb(
            "signal",
            "send an event: every step that waits for it goes on",
            (
                "workflows signal paid --correlation order-17 --payload '{\"amount\": 20}'",
                "workflows signal stock-counted --json",
            ),
            deciding.signal,
            deciding.add_signal_options,
        ),
    )
