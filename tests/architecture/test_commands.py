"""Every operators' command explains itself, prints JSON by a schema, and is in the reference."""

from __future__ import annotations

import json

import pytest

from operations.command_list import Door, commands
from tests.architecture import tree
from tests.support import task_documents, workflow_documents
from tests.support.command_pages import examples, page, takes_json

_PAGE = tree.REPOSITORY / "docs" / "reference" / "commands.md"
_SCHEMAS = tree.REPOSITORY / "docs" / "reference" / "command-schemas"
_REGENERATE = "python -m tests.support.command_pages > docs/reference/commands.md"

# Door -> why it prints no document.
_NO_JSON = {
    "config-docs": "prints a page of the reference",
    "down": "ends what runs; there is nothing to tell",
    "top": "is a screen; `status --jsonl --watch` is for scripts",
    "up": "runs until it is stopped",
}
#: Schemas of one line of a stream stand beside that of the document.
_LINE = "-line"


def _doors() -> list[Door]:
    return [door for listed in commands() for door in listed.doors]


def test_every_command_and_verb_has_an_example():
    found = [door.name for door in _doors() if not examples(door)]

    assert not found, tree.report(found)


def test_every_verb_says_what_it_does():
    found = [door.name for door in _doors() if not door.help]

    assert not found, tree.report(found)


def test_every_verb_prints_json():
    found = [door.name for door in _doors() if not takes_json(door) and door.name not in _NO_JSON]

    assert not found, tree.report(found)


def test_every_document_has_a_schema_that_allows_nothing_else():
    wanted = {door.name for door in _doors() if takes_json(door)}
    stored = {path.stem for path in _SCHEMAS.glob("*.json")}

    missing = sorted(wanted - stored)
    left_over = sorted(name for name in stored - wanted if name.removesuffix(_LINE) not in wanted)

    assert not missing, tree.report(missing)
    assert not left_over, tree.report(left_over)


@pytest.mark.parametrize("name", task_documents.NAMES)
def test_commands_show_targets_and_retry_policies_as_the_api_does(name):
    schema = json.loads((_SCHEMAS / f"{name}.json").read_text(encoding="utf-8"))

    again = "write it again: python -m tests.support.task_documents"
    assert schema == task_documents.renewed(schema), again


def test_commands_show_workflows_as_the_api_does():
    wanted = workflow_documents.files()
    stored = {
        name: json.loads((_SCHEMAS / f"{name}.json").read_text(encoding="utf-8")) for name in wanted
    }

    assert stored == wanted, "write them again: python -m tests.support.workflow_documents"


@pytest.mark.parametrize("path", sorted(_SCHEMAS.glob("*.json")), ids=lambda path: path.stem)
def test_every_schema_is_versioned_and_titled(path):
    schema = json.loads(path.read_text(encoding="utf-8"))
    branches = [part for key in ("oneOf", "anyOf") for part in schema.get(key, [])] or [schema]

    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["title"]
    for branch in branches:
        assert branch["properties"]["schema"] == {"const": 1}
        assert "schema" in branch["required"]


def test_the_reference_page_is_what_the_commands_say():
    assert _PAGE.read_text(encoding="utf-8") == page(), f"write it again: {_REGENERATE}"


def test_the_page_has_every_command_and_verb():
    lines = page().splitlines()

    for listed in commands():
        assert f"## {listed.top.words[0]}" in lines
        assert all(f"### {' '.join(door.words)}" in lines for door in listed.verbs)
