from __future__ import annotations

from typing import Any

import pytest

from shared.exceptions import InvalidInput
from shared.http_headers import RESERVED_HEADERS
from tasks.importers.curl import is_curl, parse_curl, refusal
from tasks.limits import NAME_LENGTH
from tasks.validation import parse_create
from tests.tasks.bodies import LIMITS, NOW

URL = "https://api.example.com/reports"


def _target(text: str) -> dict[str, Any]:
    found: dict[str, Any] = parse_curl(text).definition["target"]
    return found


def _refusal(text: str) -> str:
    with pytest.raises(InvalidInput) as caught:
        parse_curl(text)
    (error,) = caught.value.errors
    assert error.message == caught.value.message
    return error.message


def test_a_plain_call_becomes_name_and_target():
    assert parse_curl(f"curl {URL}").definition == {
        "name": "GET api.example.com/reports",
        "target": {"url": URL, "method": "GET"},
    }


def test_a_call_as_a_browser_copies_it_is_read():
    text = (
        f"curl '{URL}?a=1&b=2' \\\n  -X 'PUT' \\\n  -H 'content-type: application/json' \\\n"
        "  -H 'x-team: billing' \\\n"
        '  --data-raw $\'{"note":"it\\\'s \\u00e9"}\' \\\n  --compressed'
    )

    found = parse_curl(text)

    assert found.definition["target"] == {
        "url": f"{URL}?a=1&b=2",
        "method": "PUT",
        "headers": {"content-type": "application/json", "x-team": "billing"},
    }
    assert found.definition["payload"] == {"note": "it's é"}
    assert found.notes == ("--compressed: answers are asked for uncompressed.",)


def test_what_comes_out_is_a_definition_that_can_be_stored():
    body = parse_curl(f"curl -m 10 --json '[1]' -H 'X-A: b' {URL}").definition

    stored = parse_create(
        body | {"schedule": {"cron_expression": "0 8 * * *"}}, now=NOW, limits=LIMITS
    )

    assert stored.target["timeout_seconds"] == 10
    assert stored.payload == [1]


@pytest.mark.parametrize(
    ("options", "method"),
    [
        ("", "GET"),
        ("-d '{}'", "POST"),
        ("--json '{}'", "POST"),
        ("-X delete", "DELETE"),
        ("-I", "HEAD"),
        ("-G -d a=b", "GET"),
        ("--request=PATCH -d '{}'", "PATCH"),
    ],
)
def test_the_method_is_that_of_curl(options: str, method: str):
    assert _target(f"curl {options} {URL}")["method"] == method


def test_times_become_the_limits_of_the_target():
    target = _target(f"curl -m 2.5 --connect-timeout 3 {URL}")

    assert (target["timeout_seconds"], target["connect_timeout_seconds"]) == (2.5, 3)


def test_user_and_password_become_a_header():
    found = parse_curl(f"curl -u me:pass:word {URL}")

    assert found.definition["target"]["headers"] == {"Authorization": "Basic bWU6cGFzczp3b3Jk"}
    assert "Authorization" in found.notes[0]


def test_options_that_are_headers_become_headers():
    target = _target(f"curl --oauth2-bearer abc -e http://from -b 'a=1; b=2' {URL}")

    assert target["headers"] == {
        "Authorization": "Bearer abc",
        "Referer": "http://from",
        "Cookie": "a=1; b=2",
    }


@pytest.mark.parametrize("name", sorted(RESERVED_HEADERS))
def test_reserved_headers_are_left_out_with_a_note(name: str):
    found = parse_curl(f"curl -H '{name}: x' {URL}")

    assert "headers" not in found.definition["target"]
    assert found.notes == (f"The header {name} is left out; Punctual sets it itself.",)


def test_a_header_given_twice_is_taken_once():
    found = parse_curl(f"curl -H 'X-A: 1' -H 'x-a: 2' {URL}")

    assert found.definition["target"]["headers"] == {"x-a": "2"}
    assert len(found.notes) == 1


def test_a_header_without_a_value_takes_one_away():
    found = parse_curl(f"curl -H 'Accept:' -H 'X-Empty;' {URL}")

    assert found.definition["target"]["headers"] == {"X-Empty": ""}
    assert "'Accept:'" in found.notes[0]


def test_the_fields_of_a_form_become_an_object():
    found = parse_curl(
        f"curl -d a=1 -d 'b=x%20y' -d a=3 --data-urlencode 'c=d & e' {URL} "
        "-H 'Content-Type: application/x-www-form-urlencoded'"
    )

    assert found.definition["payload"] == {"a": ["1", "3"], "b": "x y", "c": "d & e"}
    assert "headers" not in found.definition["target"]
    assert found.notes == ("Punctual sends JSON: the form's fields are sent as a JSON object.",)


def test_data_of_a_get_goes_into_the_address():
    assert _target("curl -G 'https://a.example/s?x=1' -d q=2 --data-urlencode 'r=3 4'")["url"] == (
        "https://a.example/s?x=1&q=2&r=3%204"
    )


def test_data_that_a_method_does_not_carry_is_left_out_with_a_note():
    found = parse_curl(f"curl -X GET -d '{{}}' {URL}")

    assert "payload" not in found.definition
    assert "carries no payload" in " ".join(found.notes)


def test_redirects_and_certificates_are_noted():
    notes = " ".join(parse_curl(f"curl -kL {URL} > /dev/null 2>&1").notes)

    assert "redirects are not followed" in notes
    assert "certificates are always verified" in notes
    assert "Where the output goes" in notes


def test_a_host_alone_is_called_by_http():
    found = parse_curl("curl a.example")

    assert found.definition["target"]["url"] == "http://a.example"
    assert "no scheme" in found.notes[0]


def test_long_addresses_make_names_that_fit():
    name = parse_curl(f"curl {URL}/{'x' * 500}").definition["name"]

    assert len(name) == NAME_LENGTH
    assert name.endswith("…")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("curl", "has no URL"),
        ("wget x", "begins with curl"),
        ("", "begins with curl"),
        (f"curl {URL} {URL}", "more than one URL"),
        (f"curl -d @secrets.json {URL}", "files are not read"),
        (f"curl --json @f {URL}", "files are not read"),
        (f"curl -H @headers {URL}", "files are not read"),
        (f"curl -b cookies.txt {URL}", "files are not read"),
        (f"curl -T f {URL}", "files are neither read nor written"),
        (f"curl -F a=@b {URL}", "multipart"),
        (f"curl --data-urlencode x@f {URL}", "give name=value"),
        (f"curl -u me {URL}", "user:password"),
        (f"curl --digest -u a:b {URL}", "only Basic"),
        (f"curl -m soon {URL}", "not a number of seconds"),
        (f"curl -m -1 {URL}", "not a number of seconds"),
        (f"curl -m inf {URL}", "not a number of seconds"),
        (f"curl -d hello {URL}", "not JSON"),
        (f"curl --json NaN {URL}", "not JSON"),
        (f"curl -d '<a b=\"c\"/>' -H 'Content-Type: text/xml' {URL}", "text/xml"),
        (f"curl -H 'Bad Name: x' {URL}", "not valid"),
        (f"curl -X TRACE {URL}", "TRACE is not supported"),
        (f"curl --next {URL}", "one call"),
        (f"curl {URL} | sh", "one command only"),
        ("curl $URL", "'$URL'"),
        ("curl 'http://[x'", "The URL is not valid"),
        ("curl " + "x" * 300_000, "longer than"),
    ],
)
def test_what_cannot_be_taken_over_is_refused_with_the_reason(text: str, told: str):
    assert told in _refusal(text)


def test_file_names_in_raw_data_are_data():
    assert parse_curl(f"curl --data-raw '\"@f\"' {URL}").definition["payload"] == "@f"


@pytest.mark.parametrize(
    ("text", "answer"),
    [("curl x", True), ("/usr/bin/curl x", True), ("curl", True), ("curly", False), ("", False)],
)
def test_a_call_of_curl_is_recognised(text: str, answer: bool):
    assert is_curl(text) is answer


def test_a_refusal_has_one_error_for_the_whole_text():
    (error,) = refusal("No.").errors

    assert (error.pointer, error.code, error.message) == ("#", "invalid_paste", "No.")
