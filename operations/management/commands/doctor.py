"""``manage.py doctor``: finds problems, with their evidence and remedies.

Exit codes: 0 nothing broken; 1 something is; 5 the database or Redis does not answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandParser

from operations.doctor import Finding, Matter, Verdict, examine
from operations.doctor.repairs import Repair, repair_all
from shared.command_parser import HelpFormatter, examples_text
from shared.commands import FAILED, UNREACHABLE, PunctualCommand, add_json_option, shown

_MARKS = {Verdict.OK: "✔", Verdict.WARNING: "!", Verdict.FAILED: "✘"}
_WIDTH = 18


class Command(PunctualCommand):
    """Examine this installation."""

    help = "Check this installation; say what is wrong and how to mend it."

    def add_options(self, parser: CommandParser) -> None:
        """Add ``--json``, ``--fix`` and ``--strict``."""
        parser.formatter_class = HelpFormatter
        parser.epilog = examples_text(("doctor", "doctor --fix --strict", "doctor --json"))
        add_json_option(parser)
        parser.add_argument("--fix", action="store_true", help="make missing things, then check")
        parser.add_argument("--strict", action="store_true", help="fail on warnings, too")

    def run(self, options: Mapping[str, Any]) -> None:
        """Print every finding; leave with 1 or 5 when something is broken."""
        repairs = list(repair_all()) if options["fix"] else []
        for repair in repairs:
            self.note(f"fix {repair.repair}: {repair.done or f'not done, {repair.failed}'}")
        findings = list(examine())
        document = describe(findings, repairs)
        self.emit(options, document, screen(findings))
        counts = dict.fromkeys(Verdict, 0)
        for item in findings:
            counts[item.verdict] += 1
        self.note(
            f"{len(findings)} checks: {counts[Verdict.FAILED]} broken, "
            f"{counts[Verdict.WARNING]} worth a look"
        )
        if any(item.unreachable for item in findings):
            self.leave(UNREACHABLE)
        if counts[Verdict.FAILED] or (options["strict"] and counts[Verdict.WARNING]):
            self.leave(FAILED)


def describe(findings: list[Finding], repairs: list[Repair]) -> dict[str, Any]:
    """Return the form of ``doctor --json``."""
    return {
        "healthy": all(item.verdict is not Verdict.FAILED for item in findings),
        "checks": [asdict(item) for item in findings],
        "repairs": [asdict(item) for item in repairs],
    }


def screen(findings: list[Finding]) -> Iterator[str]:
    """Yield what concerns the installation, and then, with a heading, what concerns tenants."""
    theirs = [item for item in findings if item.matter is Matter.TENANTS]
    for item in findings:
        if item.matter is Matter.INSTALLATION:
            yield from lines(item)
    if theirs:
        yield "Of the tenants' work, no fault of the installation:"
    for item in theirs:
        yield from lines(item)


def lines(finding: Finding) -> list[str]:
    """Return a finding as people read it: mark, check, evidence, and below the remedy."""
    found = [f"{_MARKS[finding.verdict]} {finding.check:<{_WIDTH}} {shown(finding.evidence)}"]
    if finding.remedy:
        found.append(f"  {'':<{_WIDTH}} → {finding.remedy}")
    return found
