from __future__ import annotations

from types import SimpleNamespace

import pytest
from django.template import engines
from django.test import RequestFactory


def render(text: str, path: str, ordering: str = "-id") -> str:
    template = engines["django"].from_string("{% load lists %}" + text)
    context = {
        "query": {"ordering": ordering},
        "list_filter": SimpleNamespace(replaced=("filter", "status", "cursor")),
    }
    return template.render(context, RequestFactory().get(path))


@pytest.mark.parametrize(
    ("ordering", "kind", "href", "sort"),
    [
        ("-id", "number", "?ordering=-delay", ""),
        ("-delay", "number", "?ordering=delay", "descending"),
        ("delay", "number", "?ordering=-delay", "ascending"),
        ("-id", "text", "?ordering=delay", ""),
        ("-id", "time", "?ordering=-delay", ""),
    ],
)
def test_a_heading_sorts_and_says_how_the_list_is_sorted(ordering, kind, href, sort):
    text = render(f'{{% sort_head "Delay" "delay" kind="{kind}" %}}', "/", ordering)

    assert f'href="{href}"' in text
    assert (f'aria-sort="{sort}"' in text) if sort else ("aria-sort" not in text)
    assert ('class="num"' in text) == (kind == "number")


def test_a_heading_keeps_the_filter_and_begins_with_the_first_page():
    text = render('{% sort_head "Delay" "delay" %}', "/?filter=http%3A5xx&cursor=c&page=3")

    assert 'href="?filter=http%3A5xx&amp;ordering=-delay"' in text


def test_a_form_keeps_what_it_does_not_say_itself():
    text = render("{% kept_fields %}", '/?filter=a&window=7d&cursor=c&task="x&status=')

    assert text == (
        '<input type="hidden" name="window" value="7d">'
        '<input type="hidden" name="task" value="&quot;x">'
    )


def test_a_form_leaves_out_its_own_fields():
    text = render('{% kept_fields "window" %}', "/?window=7d&since=x")

    assert text == '<input type="hidden" name="since" value="x">'


def test_a_link_to_another_filter_leaves_out_what_its_text_says():
    text = render(
        '{% filter_link "status:queued" %}', "/?filter=a&window=7d&cursor=c&status=FAILED"
    )

    assert text == "?window=7d&amp;filter=status%3Aqueued"
