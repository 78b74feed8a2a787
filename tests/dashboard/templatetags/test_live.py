"""Parts of live pages come without content where the screen has them."""

from __future__ import annotations

import re
from types import SimpleNamespace

import pytest
from django.template import Context, Template, TemplateSyntaxError
from django.test import RequestFactory

from dashboard.live_parts import HAVE

PART = '{% load live %}{% part "run-steps" version %}<b>{{ drawn }}</b>{% endpart %}'


class Drawn:
    """Counts how often it is drawn."""

    def __init__(self) -> None:
        self.count = 0

    def __str__(self) -> str:
        self.count += 1
        return "<1>"


def render(drawn: Drawn, version: str, have: str = "", role: str = "viewer") -> str:
    request = RequestFactory().get("/", headers={HAVE: have})
    request.visitor = SimpleNamespace(membership=SimpleNamespace(role=role))  # type: ignore[attr-defined]  # as the middleware sets it
    return Template(PART).render(Context({"request": request, "drawn": drawn, "version": version}))


def version_in(markup: str) -> str:
    found = re.search(r'data-version="([0-9a-f]*)"', markup)
    assert found
    return found[1]


def test_a_part_has_its_version_and_its_content():
    markup = render(Drawn(), "v1")

    version = version_in(markup)
    assert version
    assert markup == (
        f'<div id="run-steps" class="part" data-version="{version}"><b>&lt;1&gt;</b></div>'
    )


def test_a_part_that_is_on_the_screen_is_not_drawn_again():
    drawn = Drawn()

    version = version_in(render(Drawn(), "v1"))

    markup = render(drawn, "v1", have=f"run-graph=x run-steps={version}")

    assert markup == '<div id="run-steps" class="part" data-unchanged></div>'
    assert drawn.count == 0


def test_a_part_that_has_changed_is_drawn():
    have = f"run-steps={version_in(render(Drawn(), 'v1'))}"

    assert "<b>" in render(Drawn(), "v2", have=have)
    assert "<b>" in render(Drawn(), "v1", have=have, role="operator")


def test_a_part_without_a_version_is_always_drawn():
    assert version_in(render(Drawn(), "", have="run-steps=")) == ""


def test_another_release_is_another_version(settings):
    before = version_in(render(Drawn(), "v1"))
    settings.SPECTACULAR_SETTINGS = {**settings.SPECTACULAR_SETTINGS, "VERSION": "next"}

    assert version_in(render(Drawn(), "v1")) != before


@pytest.mark.parametrize("tag", ['{% part "x" %}{% endpart %}', '{% part "x" v %}'])
def test_a_part_needs_id_version_and_end(tag: str):
    with pytest.raises(TemplateSyntaxError):
        Template("{% load live %}" + tag)
