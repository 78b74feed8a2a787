"""What the script of drafts keeps of the task's form: no field that may hold a secret."""

from __future__ import annotations

import re

from tests.architecture.tree import REPOSITORY

_OF_SECRETS = re.compile(r'include "dashboard/_secret(?:_picker)?\.html" with name="(\w+)"')
#: Fields that the product seals, and those that take a secret along.
_SEALED = {"arguments", "tls_client_key", "pasted"}


def test_no_field_that_may_hold_a_secret_is_kept_in_a_draft():
    script = (REPOSITORY / "static/js/drafts.js").read_text(encoding="utf-8")
    pages = (REPOSITORY / "templates/dashboard").glob("_task_form_*.html")
    unkept = re.search(r"^const UNKEPT = /(.+)/;$", script, re.MULTILINE)
    secret = {
        name for page in pages for name in _OF_SECRETS.findall(page.read_text(encoding="utf-8"))
    }

    assert unkept
    assert {"auth_password", "headers", "environment"} <= secret
    assert not {name for name in secret | _SEALED if not re.match(unkept[1], name)}
