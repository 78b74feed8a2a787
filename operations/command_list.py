"""The operators' commands as their parsers know them."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass

from django.core.management import get_commands, load_command_class

_PACKAGES = {"operations", "launcher"}
# What `up` calls, and Django's own, which has its own form.
_INTERNAL = {"bootstrap", "migrate"}


@dataclass(frozen=True)
class Door:
    """A command, or one verb of a command."""

    words: tuple[str, ...]
    parser: argparse.ArgumentParser
    help: str

    @property
    def name(self) -> str:
        """Return its words as one, as schemas and pages call it."""
        return "-".join(self.words)

    @property
    def options(self) -> list[argparse.Action]:
        """Return what it takes besides the options of its verbs."""
        hidden = (argparse._HelpAction, argparse._SubParsersAction)
        return [
            action
            for action in self.parser._actions
            if not isinstance(action, hidden) and action.help != argparse.SUPPRESS
        ]


@dataclass(frozen=True)
class Listed:
    """A command with its verbs; one without verbs is its own door."""

    top: Door
    verbs: list[Door]

    @property
    def doors(self) -> list[Door]:
        """Return what can be called."""
        return self.verbs or [self.top]


def commands() -> Iterator[Listed]:
    """Yield our commands by name, without the processes that ``up`` starts."""
    for name, app in sorted(get_commands().items()):
        if app not in _PACKAGES or name in _INTERNAL or name.startswith("run_"):
            continue
        parser = load_command_class(str(app), name).create_parser("manage.py", name)
        top = Door((name,), parser, parser.description or "")
        yield Listed(top, [Door((name, verb), sub, text) for verb, sub, text in _verbs(parser)])


def _verbs(
    parser: argparse.ArgumentParser,
) -> Iterator[tuple[str, argparse.ArgumentParser, str]]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            texts = {choice.dest: choice.help or "" for choice in action._choices_actions}
            for verb, sub in action.choices.items():
                yield verb, sub, texts.get(verb, "")
