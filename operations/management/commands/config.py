"""``manage.py config``: the settings in force, and their reference page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.core.management.base import CommandParser

from launcher import local_state
from launcher.run_lock import holder
from operations.config_report import Reported, reference_page, report
from shared.command_parser import HelpFormatter, examples_text
from shared.commands import PunctualCommand, add_json_option


class Command(PunctualCommand):
    """Show the settings in force, or print their reference page."""

    help = (
        "Show every setting with its value and where the value comes from. "
        "Example: manage.py config show --json --reveal"
    )

    def add_options(self, parser: CommandParser) -> None:
        """Add the verbs."""
        verbs = parser.add_subparsers(dest="verb", required=True)
        show = verbs.add_parser(
            "show",
            help="the settings in force",
            epilog=examples_text(["config show --json --reveal"]),
            formatter_class=HelpFormatter,
        )
        show.add_argument("--reveal", action="store_true", help="print secrets, too")
        add_json_option(show)
        verbs.add_parser(
            "docs",
            help="the page docs/reference/settings.md",
            epilog=examples_text(["config docs > docs/reference/settings.md"]),
            formatter_class=HelpFormatter,
        )

    def run(self, options: Mapping[str, Any]) -> None:
        """Call the verb."""
        if options["verb"] == "docs":
            self.stdout.write(reference_page(), ending="")
            return
        found = report(reveal=options["reveal"])
        self.emit(options, {"settings": [item.as_json() for item in found]}, _lines(found))
        if holder(local_state.data_dir()):
            self.note(
                "These are the settings of this command. The running processes have the "
                "environment that `up` was started with."
            )


def _lines(found: list[Reported]) -> list[str]:
    width = max(len(item.name) for item in found)
    lines = []
    for item in found:
        lines.append(f"{item.name:<{width}}  {_spoken(item.value)}  ({item.source})")
        lines.append(f"{'':<{width}}  {item.help}")
    return lines


def _spoken(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return " ".join(str(item) for item in value) or "-"
    return "-" if value in (None, "") else str(value)
