"""The help dialog has the keys as the script reads them."""

from __future__ import annotations

import re

import pytest

from dashboard.keyboard import keyboard
from tenants.choices import Role

ROW = re.compile(r'data-key="([^"]+)" data-does="([^"]*)"')


@pytest.mark.parametrize(("role", "may_edit"), [(Role.ADMIN, True), (Role.VIEWER, False)])
def test_the_dialog_of_a_page_has_every_key_of_its_visitor(browser, alpha, role, may_edit):
    page = browser(alpha, role=role).get("/executions").text

    assert ROW.findall(page) == [
        (key.keys, key.does) for group in keyboard(may_edit=may_edit) for key in group.keys
    ]
    assert ('data-url="/tasks/new"' in page) is may_edit
