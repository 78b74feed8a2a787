"""The commands that pages name can be run as they stand there, where there are many tenants."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from operations.command_list import Door, commands

PAGES = Path(__file__).parents[2] / "templates/dashboard"
HINT = re.compile(r"<code>manage\.py ([^<]*)</code>")
#: Processes and the command that starts them all have no verbs, and no tenant.
PROCESSES = ("up", "run_web", "run_worker", "run_scheduler", "run_recorder")
#: What an option ``--tenant`` says that may be left out where there are several tenants.
OPTIONAL = ("every tenant if left out", "only the moves of this tenant")


def hints() -> Iterator[tuple[str, str]]:
    for page in sorted(PAGES.glob("*.html")):
        for hint in HINT.findall(page.read_text(encoding="utf-8")):
            if hint.split()[0] not in PROCESSES:
                yield page.name, hint


@pytest.fixture(scope="module")
def doors() -> dict[tuple[str, ...], Door]:
    return {door.words: door for listed in commands() for door in listed.doors}


@pytest.mark.parametrize(("page", "hint"), list(hints()))
def test_a_command_that_a_page_names_exists_and_names_its_tenant_where_it_must(page, hint, doors):
    words = hint.split()
    door = doors.get(tuple(words[:2])) or doors.get((words[0],))

    assert door, f"there is no command for: {hint}"
    [help_, *_] = [one.help for one in door.options if "--tenant" in one.option_strings] or [""]
    if help_ and not any(part in help_ for part in OPTIONAL):
        assert "--tenant" in words
