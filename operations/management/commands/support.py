"""``manage.py support``: what to send to people who help, without anything of a tenant.

Exit codes: 0 done; 5 the database does not answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from insight import installation
from operations.doctor import examine
from shared.command_parser import Verb
from shared.commands import PunctualCommand, VerbCommand

_TABLES = 10


def _bundle(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    # Of the doctor's findings only the verdicts: their evidence may name rows, hosts and paths.
    checks = [{"check": one.check, "verdict": str(one.verdict)} for one in examine()]
    document = {**installation.describe(), "checks": checks}
    command.emit(options, document, _lines(document))
    if not options["json"]:
        command.note("This is a summary. The bundle is: manage.py support bundle --json > FILE")


def _lines(document: Mapping[str, Any]) -> Iterator[str]:
    for name, text in document["versions"].items():
        yield f"{name:<22} {text}"
    yield f"{'postgresql':<22} {document['database']['server_version']}"
    redis = document["redis"]
    yield f"{'valkey or redis':<22} {redis['version'] if redis else 'does not answer'}"
    partitions = document["partitions"]
    yield f"{'partitions':<22} {partitions['owned']} of {partitions['total']} owned"
    yield f"{'history':<22} {document['history']['first_day']} to {document['history']['last_day']}"
    for one in document["tables"][:_TABLES]:
        yield f"{one['name']:<22} {one['bytes'] / 2**20:,.1f} MiB, about {one['rows']:,} rows"
    for one in document["checks"]:
        if one["verdict"] != "ok":
            yield f"{one['check']:<22} {one['verdict']}"


class Command(VerbCommand):
    """Print the support bundle."""

    help = "What to send to people who help: facts about the installation, no tenant's data."
    verbs: ClassVar[tuple[Verb, ...]] = (
        Verb(
            "bundle",
            "print versions, sizes, processes, clocks and verdicts of the doctor",
            ("support bundle --json > bundle.json", "support bundle"),
            _bundle,
        ),
    )
