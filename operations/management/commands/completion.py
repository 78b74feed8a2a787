"""``manage.py completion``: a script by which a shell completes commands, verbs and options.

Exit codes as everywhere: 0 done, 2 wrong use.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.core.management.base import CommandParser

from operations.completion import SHELLS
from shared.command_parser import HelpFormatter, examples_text
from shared.commands import PunctualCommand, add_json_option

_EXAMPLES = ("completion bash", "completion zsh", "completion fish")


class Command(PunctualCommand):
    """Prints the script of a shell."""

    help = (
        "Print the script by which a shell completes commands, verbs and options. In bash and zsh: "
        "source <(manage.py completion bash); in fish: manage.py completion fish | source."
    )

    def add_options(self, parser: CommandParser) -> None:
        """Add the name of the shell."""
        parser.formatter_class = HelpFormatter
        parser.epilog = examples_text(_EXAMPLES)
        add_json_option(parser)
        parser.add_argument("shell", choices=sorted(SHELLS), help="whose script it is")

    def run(self, options: Mapping[str, Any]) -> None:
        """Print the script; with ``--json`` as a field of a document."""
        script = SHELLS[options["shell"]]()
        self.emit(options, {"shell": options["shell"], "script": script}, script.splitlines())
