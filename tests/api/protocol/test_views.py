from __future__ import annotations

import pytest

from tests.support.api import ApiClient
from tests.support.hostile_json import HOSTILE

pytestmark = pytest.mark.urls("tests.api.protocol.probe")


@pytest.mark.parametrize(("body", "code"), HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_body_is_400_and_the_next_call_works(body, code):
    client = ApiClient()

    refused = client.post("/v1/body", body)
    accepted = client.post("/v1/body", {"name": "x"})

    assert refused.status_code == 400
    assert refused.json()["errors"][0]["code"] == code
    assert (accepted.status_code, accepted.json()) == (200, {"name": "x"})


def test_a_wrong_media_type_is_415():
    response = ApiClient().post("/v1/body", b"name=x", content_type="text/plain")

    assert (response.status_code, response.json()["code"]) == (415, "unsupported_media_type")


def test_a_body_over_the_limit_is_413():
    response = ApiClient().post("/v1/body", b" " * 1_600_000)

    assert (response.status_code, response.json()["code"]) == (413, "too_large")


def test_an_empty_body_is_an_empty_object():
    response = ApiClient().post("/v1/body")

    assert response.status_code == 400
    assert response.json()["errors"] == [
        {"pointer": "#/name", "code": "required", "message": "This field is required."}
    ]


def test_a_chunked_body_is_read_although_it_states_no_length(rf):
    from io import BytesIO

    from tests.api.protocol.probe import BodyView

    request = rf.generic("POST", "/v1/body", b"{}", content_type="application/json")
    del request.META["CONTENT_LENGTH"]
    request._stream = BytesIO(b'{"name": "x"}')
    request._read_started = False

    response = BodyView.as_view()(request)

    assert response.data == {"name": "x"}


def test_an_unstated_query_parameter_is_400():
    response = ApiClient().get("/v1/body?typ=a")

    assert response.status_code == 400
    assert response.json()["errors"][0]["pointer"] == "?typ"


@pytest.mark.parametrize("method", ["DELETE", "PATCH", "OPTIONS", "TRACE", "BREW"])
def test_an_unknown_method_is_405_with_what_is_allowed(method):
    response = ApiClient().call(method, "/v1/body")

    assert (response.status_code, response.json()["code"]) == (405, "method_not_allowed")
    assert {"GET", "POST"} <= set(response.headers["Allow"].split(", "))


def test_callers_that_take_no_json_get_406_as_json():
    response = ApiClient().get("/v1/body", accept="text/html")

    assert (response.status_code, response.json()["code"]) == (406, "not_acceptable")
    assert "application/json" in response.json()["detail"]
    assert response.json()["errors"][0]["pointer"] == "Accept"


def test_an_error_is_never_replaced_by_406():
    client, html = ApiClient(), {"accept": "text/html"}

    assert client.get("/v1/body?typ=a", **html).status_code == 400
    assert client.call("BREW", "/v1/body", **html).status_code == 405
    assert client.get("/v1/nowhere", **html).status_code == 404


@pytest.mark.parametrize(
    ("header", "version"), [('"3"', 3), ("3", 3), ("*", None), ("", None), (' "12" ', 12)]
)
def test_if_match_names_a_version_in_either_spelling(header, version):
    assert ApiClient().get("/v1/body", if_match=header).json()["version"] == version


@pytest.mark.parametrize("header", ["x", 'W/"3"', '"3', '"3", "4"', "-1", "3.0", "9" * 30])
def test_a_bad_if_match_is_400(header):
    response = ApiClient().get("/v1/body", if_match=header)

    assert response.status_code == 400
    assert response.json()["errors"][0]["code"] == "if_match_invalid"


def test_head_answers_as_get_without_a_body():
    response = ApiClient().call("HEAD", "/v1/body?type=a")

    assert (response.status_code, response.content) == (200, b"")
