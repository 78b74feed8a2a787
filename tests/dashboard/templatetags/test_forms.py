"""The summary of errors names each field as its label does, and links to it."""

from __future__ import annotations

from django.template import Context, Template

from dashboard.templatetags.forms import error_summary

PAGE = (
    '<label for="name">Name</label><input id="name">'
    '<label class="x" for="dates">Dates <span>(one per line)</span></label><p id="dates"></p>'
    '<legend id="calendars">Not on &amp; off</legend>'
)


def test_errors_have_the_names_of_their_fields():
    found = error_summary({"name": "Must not be empty.", "dates": "Line 1: no day."}, PAGE)

    assert '<a href="#name">Name: Must not be empty.</a>' in found
    assert '<a href="#dates">Dates: Line 1: no day.</a>' in found


def test_an_error_of_no_field_is_no_link():
    found = error_summary({"form": "It was changed.", "gone": "Not here."}, PAGE)

    assert "<li>It was changed.</li><li>Not here.</li>" in found


def test_a_name_is_not_said_twice_and_markup_is_escaped():
    found = error_summary({"name": "Name: <b>", "calendars": "x"}, PAGE)

    assert '<a href="#name">Name: &lt;b&gt;</a>' in found
    assert "Not on &amp; off: x" in found


def test_the_tag_puts_the_summary_before_the_form_only_where_there_are_errors():
    page = Template(
        "{% load forms %}{% named_errors errors %}<p id='name'></p>{% endnamed_errors %}"
    )

    assert page.render(Context({"errors": {}})) == "<p id='name'></p>"
    assert page.render(Context({"errors": {"name": "x"}})).endswith("</ul></div><p id='name'></p>")
