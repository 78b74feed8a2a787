"""One name for an option in all commands: what means the same is called the same.

A name that changed stays for one version as a former one: it works, and no help shows it.
"""

from __future__ import annotations

import argparse

import pytest

from operations.command_list import Door, commands
from tests.architecture import tree

# The name -> other names that people give to the same. Where another name has a value of some
# kinds only, they are in brackets: --from STEP is no time.
NAMES = {
    "--json": {"--output-json", "--as-json", "--raw"},
    "--jsonl": {"--ndjson", "--json-lines"},
    "--csv": {"--as-csv"},
    "--tenant": {"--tenant-id", "--organisation", "--workspace", "--of-tenant"},
    "--since": {"--from [TIME DAY DATE]", "--start [TIME]", "--begins", "--newer-than"},
    "--until": {"--to [TIME DAY DATE]", "--end [TIME]", "--ends", "--before", "--older-than"},
    "--limit": {"--count", "--max", "--most", "--first [LIMIT]", "--page-size", "--top"},
    "--cursor": {"--after [CURSOR]", "--page", "--continue", "--next"},
    "--note": {"--reason", "--why", "--comment", "--message"},
    "--yes": {"--force", "--assume-yes", "--no-input", "--confirmed"},
    "--overwrite": {"--replace", "--force"},
    "--dry-run": {"--preview", "--plan", "--simulate", "--no-act"},
    "--status": {"--state", "--states", "--statuses", "--in-state"},
    "--name": {"--rename", "--new-name", "--title"},
    "--with-payloads": {"--payload []", "--show-payloads", "--unmasked"},
    "--timezone": {"--zone", "--time-zone"},
    "--wide": {"--full", "--long", "--verbose-ids"},
    "--wait": {"--wait-seconds", "--wait-for"},
    "--detach": {"--no-wait", "--background", "--async"},
    "--version-seen": {"--if-version", "--expected-version", "--version-was"},
    "--ordering": {"--sort", "--order", "--order-by"},
    "--file": {"--input-file", "--from-file"},
}
#: Where a name of the list means something else.
ELSEWHERE: dict[tuple[str, str], str] = {}


def _doors() -> list[Door]:
    return [door for listed in commands() for door in listed.doors]


def _called(action: argparse.Action) -> set[str]:
    """Return the names of an option, bare and with the kind of its value."""
    kind = "" if action.nargs == 0 else str(action.metavar or action.dest).upper()
    return {one for name in action.option_strings for one in (name, f"{name} [{kind}]")}


def _other_names() -> dict[str, str]:
    found: dict[str, str] = {}
    for name, others in NAMES.items():
        for other in others:
            bare, _, kinds = other.partition(" ")
            each = [f"{bare} [{kind}]" for kind in kinds.strip("[]").split()] if kinds else [bare]
            found |= dict.fromkeys(each or [f"{bare} []"], name)
    return found


def _misnamed(door: Door) -> list[str]:
    others = _other_names()
    return [
        f"{door.name}: {called} is called {others[called]} elsewhere"
        for action in door.options
        for called in sorted(_called(action) & others.keys())
        if (door.name, called) not in ELSEWHERE
    ]


def test_what_means_the_same_has_one_name_in_all_commands():
    found = [line for door in _doors() for line in _misnamed(door)]

    assert not found, tree.report(found)


@pytest.mark.parametrize(
    ("option", "wrong"),
    [
        (("--from", {"metavar": "TIME"}), "--from [TIME] is called --since"),
        (("--from", {"metavar": "STEP"}), ""),
        (("--payload", {"action": "store_true"}), "--payload [] is called --with-payloads"),
        (("--payload", {"metavar": "JSON"}), ""),
        (("--reason", {}), "--reason is called --note"),
        (("--note", {}), ""),
    ],
)
def test_a_second_name_is_found(option, wrong):
    parser = argparse.ArgumentParser(add_help=False)
    name, given = option
    parser.add_argument(name, **given)

    [found] = _misnamed(Door(("sample",), parser, "")) or [""]

    assert found.partition(": ")[2].startswith(wrong)
    assert bool(found) == bool(wrong)


def test_every_time_is_asked_for_by_the_same_kind_of_value():
    named = {"--since", "--until", "--at", "--start-at", "--end-at", "--expires-at"}
    found = [
        f"{door.name}: {action.option_strings[0]} {action.metavar}"
        for door in _doors()
        for action in door.options
        if set(action.option_strings) & named and action.metavar not in ("TIME", "DAY")
    ]

    assert not found, tree.report(found)


@pytest.mark.parametrize(
    ("door", "former", "name"),
    [
        ("tasks-backfill", "--from", "--since"),
        ("tasks-backfill", "--to", "--until"),
        ("tasks-occurrences", "--from", "--since"),
        ("tasks-occurrences", "--to", "--until"),
        ("usage", "--from", "--since"),
        ("usage", "--to", "--until"),
        ("schedule-preview", "--from", "--since"),
        ("schedule-preview", "--count", "--limit"),
        ("schedule-forecast", "--from", "--since"),
        ("events-list", "--after", "--cursor"),
        ("dlq-list", "--state", "--status"),
        ("dlq-show", "--payload", "--with-payloads"),
        ("channels-change", "--rename", "--name"),
        ("backup", "--force", "--overwrite"),
        ("tasks-pause", "--reason", "--note"),
        ("pauses-create", "--reason", "--note"),
        ("tasks-erase", "--reason", "--note"),
        ("tenant-erase", "--reason", "--note"),
    ],
)
def test_a_former_name_is_taken_and_not_shown(door, former, name):
    [found] = [one for one in _doors() if one.name == door]
    [action] = [one for one in found.options if name in one.option_strings]

    assert former not in found.parser.format_help().replace("[", " ").split()
    assert found.parser._option_string_actions[former] is action
