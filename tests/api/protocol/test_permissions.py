from __future__ import annotations

import pytest

from api.protocol.permissions import required_scope
from tests.support.api import ApiClient

pytestmark = pytest.mark.urls("tests.api.protocol.probe")


def test_without_a_key_it_is_401_with_the_challenge():
    response = ApiClient().get("/v1/scoped")

    assert (response.status_code, response.json()["code"]) == (401, "not_authenticated")
    assert response.headers["WWW-Authenticate"] == "Bearer"


@pytest.mark.parametrize(
    ("method", "scopes", "status"),
    [
        ("GET", "read", 200),
        ("HEAD", "read", 200),
        ("GET", "write operate admin", 403),
        ("POST", "write", 200),
        ("POST", "read", 403),
        ("PUT", "operate", 200),
        ("PUT", "write", 403),
        ("DELETE", "worker", 200),
        ("PATCH", "write", 405),
    ],
)
def test_each_method_needs_its_own_scope(method, scopes, status):
    response = ApiClient().call(method, "/v1/scoped", x_scopes=scopes)

    assert response.status_code == status


def test_a_refusal_names_the_scope_that_is_missing():
    response = ApiClient().put("/v1/scoped", x_scopes="read")

    assert response.json()["code"] == "forbidden"
    assert "'operate'" in response.json()["detail"]


def test_scopes_default_by_the_safety_of_the_method():
    assert required_scope(object(), "HEAD") == "read"
    assert required_scope(object(), "DELETE") == "write"
