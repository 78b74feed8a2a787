"""What the palette finds, of one tenant and for one role."""

from __future__ import annotations

from uuid import UUID, uuid4

import pytest

from dashboard.palette import find_by_id, id_in
from tenants.choices import Role
from tests.factories import executions_of, make_dead_letter, make_task, once, prepare

JSON = {"HTTP_ACCEPT": "application/json"}
ID = "01890000-0000-7000-8000-000000000001"


@pytest.mark.parametrize("role", list(Role))
def test_every_page_that_is_offered_opens(browser, alpha, role):
    client = browser(alpha, role=role)
    pages = client.get("/search", **JSON).json()["pages"]

    answers = {page["url"]: client.get(page["url"]).status_code for page in pages}

    assert len(answers) > 20
    assert set(answers.values()) == {200}, answers


def test_a_viewer_is_offered_no_page_of_admins(browser, alpha):
    urls = [
        page["url"] for page in browser(alpha, role="viewer").get("/search", **JSON).json()["pages"]
    ]

    assert "/settings/secrets" in urls
    assert not {"/settings/members", "/settings/audit", "/tasks/new"} & set(urls)


@pytest.mark.parametrize(
    "text",
    [
        ID,
        ID.upper(),
        ID.replace("-", ""),
        f'"{ID}"',
        f"https://punctual.example/executions/{ID}/explain",
        f"manage.py tasks show {ID} and {ID}",
    ],
)
def test_an_id_is_found_in_what_people_paste(text):
    assert id_in(text) == UUID(ID)


@pytest.mark.parametrize("text", ["", "nightly", ID[:-1], f"{ID} {ID[:-1]}2"])
def test_a_name_a_part_of_an_id_and_two_ids_are_none(text):
    assert id_in(text) is None


def test_an_id_leads_to_its_row_and_says_what_it_is(alpha, beta):
    task = make_task(alpha, once(name="Nightly"))
    prepare()
    [execution] = executions_of(task)
    letter = make_dead_letter(alpha)

    assert find_by_id(alpha.pk, task.pk) == ("task", "Nightly", f"/tasks/{task.pk}")
    assert find_by_id(alpha.pk, execution.pk) == (
        "execution",
        "Nightly",
        f"/executions/{execution.pk}",
    )
    found = find_by_id(alpha.pk, letter.pk)
    assert found is not None
    assert (found.kind, found.url) == ("dead letter", f"/dead-letters/{letter.pk}")
    assert find_by_id(beta.pk, task.pk) is None
    assert find_by_id(alpha.pk, uuid4()) is None
