"""Every command of the operators: those that are told a tenant, and what the others reach.

Everybody with a shell of the account runs commands, and may do everything; ``--tenant`` bounds
what one of them reads and changes.
"""

from __future__ import annotations

from pathlib import Path

from tests.access.world import HOST, POOL, SECRET, SEEN_BY_READERS

FILES = Path(__file__).with_name("files")
#: The tenant that commands are told, which has nothing of the world's.
STRANGER = "Epsilon"
#: Words after the verb, with the world's ids; the tenant comes on top.
WORDS = {
    "apikey create": "--name x --scope read",
    "apikey list": "",
    "audit list": "--json",
    "audit verify": "",
    "audit export": "",
    "bulk list": "",
    "calendars list": "--json",
    "calendars show": f"{SEEN_BY_READERS}-days",
    "calendars create": "made --date 2027-01-01",
    "calendars edit": f"{SEEN_BY_READERS}-days --date 2027-01-01",
    "calendars delete": f"{SEEN_BY_READERS}-days --yes",
    "calendars import": f"{SEEN_BY_READERS}-days {FILES}/days.ics",
    "channels list": "--json",
    "channels show": f"{SEEN_BY_READERS}-channel",
    "channels create": f"made --kind webhook --file {FILES}/url.txt",
    "channels change": f"{SEEN_BY_READERS}-channel --kinds",
    "channels test": f"{SEEN_BY_READERS}-channel",
    "channels remove": f"{SEEN_BY_READERS}-channel --yes",
    "concurrency list": "--wide",
    "destinations list": "--wide",
    "destinations show": HOST,
    "destinations set": f"{HOST} --max-in-flight 1",
    "destinations reset": f"{HOST} --yes",
    "dlq groups": "",
    "dlq list": "--state all --wide",
    "dlq retry": "{letter_id} --yes",
    "dlq resolve": "{letter_id} --yes",
    "dlq archive": "{letter_id} --yes",
    "dlq purge": "{letter_id} --yes",
    "dlq export": "--state all",
    "events list": "--json",
    "executions list": "--json",
    "executions show": "{ended_id} --http",
    "executions tail": "",
    "executions cancel": "{execution_id} --yes",
    "executions retry": "{ended_id}",
    "executions replay": "--since 1d --until 0s --into-pool staging --yes --detach",
    "explain": "{task_id}",
    "members list": "",
    "members invite": "made@example.com --no-mail",
    "members invitations": "",
    "members resend": "{invitation_id} --no-mail",
    "members withdraw": "{invitation_id} --yes",
    "members change": "{member} --role operator",
    "members remove": "{member} --yes",
    "members transfer": "{member} --from {owner_member} --yes",
    "notify test": "email --member ada",
    "notify log": "",
    "notify preferences": "--member ada",
    "notify browsers": "",
    "pauses list": "--all",
    "pauses create": "tenant --yes",
    "pools list": "",
    "pools show": POOL,
    "pools set": f"{POOL} --max-in-flight 1",
    "pools delete": f"{POOL} --yes",
    "receiver show": "",
    "receiver requests": "",
    "receiver forget": "",
    "rules list": "--json",
    "rules show": "{rule_id}",
    "rules create": "failures_in_a_row made",
    "rules edit": "{rule_id} --not-enabled",
    "rules delete": "{rule_id} --yes",
    "schedule preview": "PT1H",
    "schedule forecast": "",
    "schedule spread": "{at} --yes --detach",
    "schedule zones": "",
    "secrets list": "",
    "secrets show": SECRET,
    "secrets set": f"{SECRET} --host {HOST} --keep-value",
    "secrets remove": f"{SECRET} --yes",
    "tasks list": "--json",
    "tasks show": "{task_id}",
    "tasks occurrences": "{task_id}",
    "tasks create": "--url https://example.com/ --in 1h",
    "tasks clone": "{task_id}",
    "tasks edit": "{task_id} --priority 2",
    "tasks what-if": "{task_id} --priority 2",
    "tasks set": "{task_id} --priority 2 --yes --detach",
    "tasks rollback": "{task_id} 1",
    "tasks test": "{task_id}",
    "tasks pause": "{task_id}",
    "tasks resume": "{task_id}",
    "tasks run": "{task_id}",
    "tasks backfill": "{task_id} --from 1d --yes --detach",
    "tasks cancel": "{task_id} --yes",
    "tasks delete": "{task_id} --yes",
    "tasks erase": "{task_id} --reason asked --yes",
    "erasures list": "",
    "tasks import": "/dev/null --format crontab --url https://example.com/",
    "tasks export": "",
    "objectives show": "",
    "usage": "",
    "shares": "",
    "keys list": "",
    "keys rotate": "--yes",
    "keys reseal": "--yes",
    "workflows list": "--json",
    "workflows show": "{workflow_id}",
    "workflows create": f"--file {FILES}/workflow.yaml",
    "workflows edit": f"{{workflow_id}} --file {FILES}/priority.yaml",
    "workflows delete": "{workflow_id} --yes",
    "workflows run": "{workflow_id}",
    "workflows runs": "{workflow_id}",
    "workflows status": "{workflow_id}",
    "workflows cancel": "{run_id} --yes",
    "workflows pause": "{run_id}",
    "workflows resume": "{run_id}",
    "workflows retry": "{failed_run_id}",
    "workflows skip": "{run_id} after --yes",
    "workflows succeed": "{run_id} after --yes",
    "workflows approve": "{run_id} ok --take 1 --yes",
    "workflows signal": "paid",
}
#: Of these, those that end otherwise than with 0 for the world's own tenant, and why.
WITHOUT_ROWS: dict[str, str] = {"tasks test": "its receiver is not there"}
#: Commands that are told one object, of whichever tenant: its id, or the name of a tenant.
BY_ID = {
    "apikey edit": "{key_id} --name made",
    "apikey revoke": "{key_id} --yes",
    "apikey rotate": "{key_id} --yes",
    "bulk show": "{job_id}",
    "bulk cancel": "{job_id} --yes",
    "dlq show": "{letter_id}",
    "erasures show": "{erasure_id}",
    "notify mute": "{alert_id}",
    "notify acknowledge": "{alert_id}",
    "notify assign": "{alert_id} --member ada",
    "pauses end": "{pause_id} --yes",
}
#: Commands about the whole installation, its accounts, tenants or machinery, with the reason.
OF_INSTALLATION = {
    **{
        f"accounts {verb}": "accounts are persons, who may be members of several tenants"
        for verb in ("login-link", "reset-second-factor", "end-sessions", "identities", "unlink")
    },
    **{
        f"archive {verb}": "days of the ledger hold the rows of all tenants"
        for verb in ("list", "export", "read", "restore")
    },
    "audit heads": "the heads of every tenant's chain",
    "backup": "the database",
    "restore": "the database",
    **{f"config {verb}": "settings of the deployment" for verb in ("show", "docs")},
    **{f"demo {verb}": "a tenant of its own" for verb in ("seed", "sink", "reset")},
    "doctor": "the machinery",
    "down": "the processes",
    "events export": "a directory with the events of all tenants",
    "keys retire": "a data key by its id; its tenant is named in the answer",
    "ps": "the processes",
    **{f"roles {verb}": "roles of the database" for verb in ("show", "make")},
    **{f"schedulers {verb}": "the machinery" for verb in ("list", "map")},
    "status": "the machinery, in counts",
    "storm": "a tenant of its own",
    **{
        f"tenant {verb}": "names the tenant that it is about"
        for verb in ("create", "list", "set", "quotas", "suspend", "resume", "export", "erase")
    },
    "up": "the processes",
    **{f"workers {verb}": "workers serve all tenants" for verb in ("list", "show", "earlier")},
}
