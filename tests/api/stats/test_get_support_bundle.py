from __future__ import annotations

from dataclasses import replace
from typing import Any

from shared.conf import conf
from tests.executions.answers import problem

URL = "/v1/support-bundle"


def test_a_key_is_refused_unless_processes_are_public(viewer, settings: Any):
    refused = problem(viewer.get(URL))
    settings.PUNCTUAL = replace(conf(), processes_public=True)

    assert refused == (403, "forbidden")
    assert viewer.get(URL).json()["versions"]["punctual"]
