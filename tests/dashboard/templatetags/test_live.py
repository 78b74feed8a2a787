"""Parts of live pages come without content where the screen has them."""

from __future__ import annotations

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


def render(drawn: Drawn, version: str, have: str = "") -> str:
    request = RequestFactory().get("/", headers={HAVE: have})
    return Template(PART).render(Context({"request": request, "drawn": drawn, "version": version}))


def test_a_part_has_its_version_and_its_content():
    markup = render(Drawn(), "v1")

    assert markup == ('<div id="run-steps" class="part" data-version="v1"><b>&lt;1&gt;</b></div>')


def test_a_part_that_is_on_the_screen_is_not_drawn_again():
    drawn = Drawn()

    markup = render(drawn, "v1", have="run-graph=x run-steps=v1")

    assert markup == '<div id="run-steps" class="part" data-unchanged></div>'
    assert drawn.count == 0


def test_a_part_that_has_changed_is_drawn():
    assert "<b>" in render(Drawn(), "v2", have="run-steps=v1")


@pytest.mark.parametrize("tag", ['{% part "x" %}{% endpart %}', '{% part "x" v %}'])
def test_a_part_needs_id_version_and_end(tag: str):
    with pytest.raises(TemplateSyntaxError):
        Template("{% load live %}" + tag)
