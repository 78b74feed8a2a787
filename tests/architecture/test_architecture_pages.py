"""Pages of docs/architecture name what is there: rooms, files, each function of the walk."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

from tests.architecture import tree

DOCS = tree.REPOSITORY / "docs"
PAGES = DOCS / "architecture"
#: Pages of figures and of the model; a room's page has two screens at most.
OTHERS = {"capacity.md", "costs.md", "model.md"}
LINES = 100


def text_of(name: str) -> str:
    return (PAGES / name).read_text(encoding="utf-8")


def named_paths(text: str) -> set[str]:
    """Return the paths of the checkout that a page names in code spans."""
    spans = re.findall(r"`([^`\s]+)`", text)
    return {
        span
        for span in spans
        if re.fullmatch(r"[a-z_]+(/[A-Za-z_.]+)+/?", span)
        and span.split("/")[0] in {*tree.production_packages(), "docs", "tests", "templates"}
    }


def resolves(dotted: str) -> bool:
    """Tell whether a dotted name leads to a module, or to something in it."""
    parts = dotted.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found: object = importlib.import_module(".".join(parts[:length]))
        except ImportError:
            continue
        for name in parts[length:]:
            found = getattr(found, name, None)
        return found is not None
    return False


def steps() -> list[str]:
    """Return the dotted names of the walk."""
    walk = text_of("overview.md").partition("## From POST")[2]
    return sorted(set(re.findall(r"`([a-z_]+(?:\.\w+)+)`", walk)))


def test_the_overview_names_every_room():
    text = text_of("overview.md")

    assert [room for room in tree.production_packages() if room not in text] == []


@pytest.mark.parametrize("page", sorted(path.name for path in PAGES.glob("*.md")))
def test_what_a_page_names_is_there(page: str):
    paths = named_paths(text_of(page))

    assert sorted(path for path in paths if not (tree.REPOSITORY / path).exists()) == []


def test_the_walk_has_many_steps():
    assert len(steps()) > 20


@pytest.mark.parametrize("step", steps())
def test_each_step_of_the_walk_is_there(step: str):
    assert resolves(step)


@pytest.mark.parametrize("step", ["executions.nowhere", "tasks.creation.write_nothing", "no.room"])
def test_a_step_that_is_not_there_is_found(step: str):
    assert not resolves(step)


def test_a_room_has_two_screens_at_most():
    rooms = [path.name for path in PAGES.glob("*.md") if path.name not in OTHERS]

    assert [name for name in rooms if len(text_of(name).splitlines()) > LINES] == []


def test_the_index_leads_to_every_page():
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    linked = {DOCS / target for target in re.findall(r"\]\(([^)#:]+\.md)\)", index)}
    there = {path for path in DOCS.rglob("*.md") if path.parent.name != "decisions"}

    assert (
        sorted(str(path.relative_to(DOCS)) for path in there - linked - {DOCS / "index.md"}) == []
    )
    assert sorted(map(str, linked - there)) == []


def test_named_paths_are_those_of_the_checkout():
    text = "`tasks/editing.py` and `executions/gate/` but not `POST /v1/tasks` nor `a.b`"

    assert named_paths(text) == {"tasks/editing.py", "executions/gate/"}
    assert not (tree.REPOSITORY / Path("tasks/nowhere.py")).exists()
