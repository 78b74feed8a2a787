"""``manage.py audit``: reads, verifies and exports the audit log, and keeps its heads.

Exit codes: 0 done; 1 something does not verify, or a file cannot be read or written; 2 wrong use;
3 no such tenant; 4 there is no key; 5 no database.
"""

from __future__ import annotations

from typing import ClassVar

from operations.audit_log import listing, proving
from shared.command_parser import Verb
from shared.commands import VerbCommand


class Command(VerbCommand):
    """Door to ``operations.audit_log``."""

    help = "The audit log: who changed what, and the proof that the log is unchanged."
    verbs: ClassVar[tuple[Verb, ...]] = (
        Verb(
            "list",
            "list the entries of a tenant, newest first",
            ("audit list --since 1d", "audit list --object task --action task.updated"),
            listing.list_audit,
            listing.add_list_options,
        ),
        Verb(
            "verify",
            "verify the chains of all tenants, or of one; exit code 1 where one does not verify",
            ("audit verify", "audit verify --tenant default --heads /mnt/elsewhere/audit-heads"),
            proving.verify_audit,
            proving.add_verify_options,
        ),
        Verb(
            "export",
            "print the entries of a chain as JSON lines that verify without the database",
            ("audit export > audit.jsonl", "audit export --first 100 --last 200 --csv"),
            listing.export_audit,
            listing.add_export_options,
            stream=True,
        ),
        Verb(
            "heads",
            "write the heads of chains that have moved, as the system worker does each hour",
            ("audit heads",),
            proving.keep_heads,
        ),
    )
