from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.urls import URLPattern, get_resolver

from api.protocol.query import Parameter
from shared.instants import InstantError
from tests.executions.answers import problem


def _views(patterns: Any) -> Iterator[Any]:
    for pattern in patterns:
        if isinstance(pattern, URLPattern):
            yield getattr(pattern.callback, "view_class", None)
        else:
            yield from _views(pattern.url_patterns)


def _time_parameters() -> Iterator[tuple[str, Parameter]]:
    for view in _views(get_resolver().url_patterns):
        for stated in getattr(view, "query_parameters", {}).values():
            for name, parameter in stated.items():
                if parameter.schema.get("format") == "date-time":
                    yield f"{view.__name__}.{name}", parameter


def test_every_time_parameter_tells_how_to_write_the_plus_of_an_offset():
    found = dict(_time_parameters())

    assert len(found) >= 5
    for parameter in found.values():
        with pytest.raises(InstantError, match="write the \\+ as %2B: 2026-11-20T09:00:00%2B02:00"):
            parameter.read("2026-11-20T09:00:00 02:00")


@pytest.mark.parametrize("name", ["since", "until"])
def test_a_list_with_an_unescaped_plus_is_400_with_the_hint(client, name: str):
    answer = client.get(f"/v1/executions?{name}=2026-11-20T09:00:00+02:00")

    assert problem(answer) == (400, "invalid")
    [error] = answer.json()["errors"]
    assert error["pointer"] == f"?{name}"
    assert "%2B02:00" in error["message"]
