"""Routes of the site itself; the API's own are in its schema."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import resolve

from api import scraping
from operations import health


@pytest.mark.parametrize(
    ("path", "view"),
    [
        ("/healthz", health.healthz),
        ("/readyz", health.readyz),
        ("/metrics", scraping.metrics),
    ],
)
def test_probes_have_short_paths_without_a_version(path: str, view: object) -> None:
    assert resolve(path).func is view


@pytest.mark.django_db
def test_an_unknown_path_of_the_api_is_a_problem_document() -> None:
    answer = Client().get("/v1/nothing")

    assert answer.status_code == 404
    assert answer["content-type"].startswith("application/problem+json")
