from __future__ import annotations

import pytest

from tasks.validation.templates import with_names
from tests.tasks.bodies import changed, create, problems, with_target

URL = "https://api.example.com/"


def body_of(url=URL, *, template=True, payload=None, **headers):
    target = {"url": url, "template": template, "headers": headers}
    return with_target(target) | {"payload": payload}


@pytest.mark.parametrize(
    "text",
    [
        "{{ scheduled_for }}",
        "{{attempt}}",
        "{{ task.name }}",
        "{{ labels.team }}-{{ last_success_at }}",
        "{not one}",
    ],
)
def test_known_names_may_stand_in_url_headers_and_payload(text):
    body = body_of(f"{URL}x?at={text.replace('{not one}', '')}", payload=[{"at": text}], X=text)

    assert create(body).payload == [{"at": text}]


@pytest.mark.parametrize("name", ["now", "labels.", "task", "1+1", "__class__", ""])
def test_unknown_names_are_refused_where_they_stand(name):
    text = f"a {{{{ {name} }}}}"
    body = body_of(f"{URL}{{{{{name}}}}}", payload={"a": [1, text]}, X=text)

    assert problems(create, body) == {
        ("#/target/url", "template_unknown_name"),
        ("#/target/headers/X", "template_unknown_name"),
        ("#/payload/a/1", "template_unknown_name"),
    }


def test_without_templates_braces_are_text():
    text = "{{ anything }}"

    made = create(body_of(f"{URL}{{{{now}}}}", template=False, payload=text, X=text))

    assert made.payload == text


@pytest.mark.parametrize(
    "url",
    [
        "{{ task.name }}",
        "https://{{ task.name }}/",
        "https://{{ labels.host }}.example.com/x",
        "https://api.example.com:{{ attempt }}/",
        "https://api.example.com{{ attempt }}/",
        "{{ labels.scheme }}://api.example.com/",
    ],
)
def test_the_origin_of_a_url_holds_no_template(url):
    assert problems(create, body_of(url)) == {("#/target/url", "template_in_origin")}


def test_a_url_with_templates_is_judged_as_it_will_be_called():
    found = problems(create, body_of("http://10.0.0.1/{{ attempt }}"))

    assert found == {("#/target/url", "address_forbidden")}


def test_switching_templates_on_judges_what_is_there():
    body = changed(body_of(template=False, payload="{{ nope }}"), "target/template", True)

    assert problems(create, body) == {("#/payload", "template_unknown_name")}


def test_templates_are_shown_by_their_names():
    assert with_names("/a/{{ labels.the team }}/{{attempt}}") == "/a/labels_the_team/attempt"
