from __future__ import annotations

import pytest

from tests.support.admin import AdminBrowser, make_admin


@pytest.fixture
def browser(db: None) -> AdminBrowser:
    return make_admin()
