"""A tab asks again as the script of the console does."""

from __future__ import annotations

import re

import pytest

from bench.workflows import tab
from bench.workflows.tab import again, gap, versions
from tests.architecture.tree import REPOSITORY


@pytest.mark.parametrize(("took", "rest"), [(0.02, 1.0), (0.5, 2.5), (60.0, 10.0)])
def test_a_page_rests_for_a_multiple_of_what_its_answer_took(took: float, rest: float):
    assert gap(took) == rest


@pytest.mark.parametrize("name", ["LEAST_GAP", "REST", "LONGEST_REST", "UNTOLD"])
def test_the_constants_are_those_of_the_script(name: str):
    script = (REPOSITORY / "static/js/live.js").read_text(encoding="utf-8")
    found = re.search(rf"^const {name} = (\d+);", script, re.MULTILINE)

    assert found
    assert float(found[1]) == getattr(tab, name) * (1 if name == "REST" else 1000)


def test_it_names_the_versions_that_it_has():
    first = '<div id="run-graph" class="part" data-version="a1">x</div>'
    found = versions(first + '<div id="run-steps" class="part" data-unchanged></div>')

    assert found == {"run-graph": "a1"}
    assert again({"run-graph": "a1", "run-steps": "b2"}) == {
        "X-Live": "1",
        "X-Live-Have": "run-graph=a1 run-steps=b2",
    }
