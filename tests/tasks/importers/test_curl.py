from __future__ import annotations

from typing import Any

import pytest

from shared.exceptions import InvalidInput
from shared.http_headers import RESERVED_HEADERS
from shared.strict_json import read_json
from tasks.importers.curl import is_curl, parse_curl, refusal
from tasks.limits import NAME_LENGTH
from tasks.validation.bodies import parse_create
from tests.tasks.bodies import LIMITS, NOW

URL = "https://api.example.com/reports"
FORM = "application/x-www-form-urlencoded"


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
        "name": "GET api.example.com",
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
        "body_format": "json",
    }
    assert found.definition["payload"] == {"note": "it's é"}
    assert found.notes == ("--compressed: answers are asked for uncompressed.",)


WINDOWS = (
    f'curl ^"{URL}?a=1^&b=%^2F^" ^\r\n'
    '  -X ^"PUT^" ^\r\n'
    '  -H ^"content-type: application/json^" ^  \r\n'
    '  --data-raw ^"^{^\\^"note^\\^":^\\^"it^\'s^\\^"^}^" --compressed'
)
WINDOWS_PLAIN = (
    f'curl.exe -X PUT "{URL}?a=1&b=%2F" ^\n -H "content-type: application/json" ^\n'
    ' --compressed -d "{\\"note\\":\\"it\'s\\"}"'
)
POWERSHELL = (
    f"curl.exe -X PUT '{URL}?a=1&b=%2F' `\r\n -H 'content-type: application/json' ` \n"
    """ --compressed -d $'{"note":"it\\'s"}'"""
)
POSTMAN = (
    f"curl --location --request PUT '{URL}?a=1&b=%2F' \\ \n"
    "--header 'content-type: application/json' \\\t\n"
    """--compressed --data-raw '{"note":"it'"'"'s"}'"""
)


@pytest.mark.parametrize("text", [WINDOWS, WINDOWS_PLAIN, POWERSHELL, POSTMAN])
def test_a_command_is_the_same_from_whatever_tool_it_is_copied(text):
    found = parse_curl(f"$ {text}")

    target = {k: v for k, v in found.definition["target"].items() if k != "follow_redirects"}
    assert target == {
        "url": f"{URL}?a=1&b=%2F",
        "method": "PUT",
        "headers": {"content-type": "application/json"},
        "body_format": "json",
    }
    assert found.definition["payload"] == {"note": "it's"}


def test_a_blank_behind_a_backslash_is_noted():
    found = parse_curl(f"curl \\ \n {URL} \\\n -X PUT")

    assert found.definition["target"]["method"] == "PUT"
    assert "A blank stands behind a backslash" in found.notes[0]


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


@pytest.mark.parametrize(
    ("words", "auth"),
    [
        (f"-u me:pass:word {URL}", ("me", "pass:word")),
        ("https://me:p%40ss@api.example.com/reports", ("me", "p@ss")),
        ("https://m%3Ae:x@api.example.com/reports", ("m:e", "x")),
        ("-u a:b https://c:d@api.example.com/reports", ("a", "b")),
    ],
)
def test_user_and_password_become_the_authentication_wherever_they_stand(words, auth):
    target = _target(f"curl {words}")

    assert target["url"] == URL
    assert target["auth"] == {"type": "basic", "username": auth[0], "password": auth[1]}
    assert "headers" not in target


def test_a_token_becomes_the_authentication():
    target = _target(f"curl --oauth2-bearer abc {URL}")

    assert target["auth"] == {"type": "bearer", "token": "abc"}


@pytest.mark.parametrize("words", [f"-u sk_test: {URL}", "https://sk_test@api.example.com/reports"])
def test_a_key_without_a_password_becomes_a_header(words):
    target = _target(f"curl {words}")

    assert target["url"] == URL
    assert target["headers"] == {"Authorization": "Basic c2tfdGVzdDo="}


def test_a_header_goes_before_a_user_as_with_curl():
    found = parse_curl(f"curl -u a:b -H 'authorization: Bearer x' {URL}")

    assert found.definition["target"]["headers"] == {"authorization": "Bearer x"}
    assert "auth" not in found.definition["target"]
    assert "takes the place" in found.notes[0]


def test_a_proxy_becomes_that_of_the_target():
    assert _target(f"curl -x proxy.example:3128 -U u:p {URL}")["proxy"] == {
        "url": "http://proxy.example:3128",
        "username": "u",
        "password": "p",
    }
    assert _target(f"curl --proxy http://u:p%20q@proxy.example:8080/ {URL}")["proxy"] == {
        "url": "http://proxy.example:8080",
        "username": "u",
        "password": "p q",
    }
    assert "SOCKS" in _refusal(f"curl -x socks5://p:1080 {URL}")
    assert "no valid host" in _refusal(f"curl -x 'http://[::1' {URL}")


def test_options_that_are_headers_become_headers():
    target = _target(f"curl -e 'http://from;auto' -b 'a=1; b=2' -b '' -r 0-9 {URL}")

    assert target["headers"] == {
        "Referer": "http://from",
        "Cookie": "a=1; b=2",
        "Range": "bytes=0-9",
    }


def test_headers_of_another_http_version_are_left_out_with_a_note():
    assert parse_curl(f"curl -H ':authority: x' {URL}").notes == (
        "-H ':authority: x' is left out; HTTP/1.1 has no such header.",
    )


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


XML = '<a b="c">1 &amp; 2</a>\n'


@pytest.mark.parametrize(
    ("options", "payload", "content_type"),
    [
        (f"-d '{XML}' -H 'Content-Type: text/xml; charset=utf-8'", XML, "text/xml; charset=utf-8"),
        ("--data-binary 'a,b\n1,2\n' -H 'Content-Type: text/csv'", "a,b\n1,2\n", "text/csv"),
        (
            "-d 'cpu,host=a v=1 1700' -H 'content-type: text/plain'",
            "cpu,host=a v=1 1700",
            "text/plain",
        ),
        ("-d a=1 -d 'b=x%20y' -d a=3", "a=1&b=x%20y&a=3", FORM),
        ("--data-urlencode 'c=d & e/f'", "c=d%20%26%20e%2Ff", FORM),
        ("--data-urlencode 'hello world'", "hello%20world", FORM),
        ("--data-urlencode '=a=b'", "a%3Db", FORM),
        ("-d hello", "hello", FORM),
        ("-d 5", "5", FORM),
        ("-d '{not json}'", "{not json}", FORM),
        ("-d '{}' -H 'Content-Type: application/x-ndjson'", "{}", "application/x-ndjson"),
        ("-d a=1 -H 'Content-Type: application/x-www-form-urlencoded'", "a=1", FORM),
    ],
)
def test_a_body_that_is_not_json_is_kept_as_it_is_with_its_content_type(
    options, payload, content_type
):
    found = parse_curl(f"curl {options} {URL}")
    target = found.definition["target"]

    assert found.definition["payload"] == payload
    assert target["body_format"] == "raw"
    assert [v for k, v in target["headers"].items() if k.lower() == "content-type"] == [
        content_type
    ]
    assert "sent as it is" in found.notes[0]


def test_a_form_that_loses_carriage_returns_is_told_so():
    assert "carriage returns" in parse_curl(f"curl -d $'a\\r\\nb' {URL}").notes[1]


@pytest.mark.parametrize("options", ["-X POST -d ''", "--json ''", "-d ''"])
def test_empty_data_is_an_empty_body(options):
    found = parse_curl(f"curl {options} {URL}")

    assert "payload" not in found.definition
    assert found.definition["target"]["method"] == "POST"
    assert found.notes == ("The data is empty, so no body is sent.",)


@pytest.mark.parametrize(
    "content_type", ["application/json", "application/vnd.api+json; charset=utf-8", "text/json"]
)
def test_json_of_any_name_is_a_payload(content_type):
    found = parse_curl(f"curl -d '[1.50]' -H 'Content-Type: {content_type}' {URL}")

    assert found.definition["payload"] == [1.5]
    assert found.definition["target"]["body_format"] == "json"
    assert found.definition["target"]["headers"] == {"Content-Type": content_type}


@pytest.mark.parametrize(
    "text",
    [
        '{"id": 123456789012345678901234567890}',
        '{"v": 1e400}',
        '{"a": 1, "a": 2}',
        '{"t": "\\ud83d"}',
        '"a\\u0000b"',
        "[" * 300 + "]" * 300,
    ],
)
@pytest.mark.parametrize("options", ["", "-H 'Content-Type: application/json'"])
def test_json_that_cannot_be_carried_is_refused_with_the_words_of_every_door(text, options):
    with pytest.raises(InvalidInput) as judged:
        read_json(text, "#/payload")

    said = _refusal(f"curl {options} -d '{text}' {URL}")

    assert said.startswith("The payload: ")
    assert judged.value.message in said


def test_data_of_a_get_goes_into_the_address():
    assert _target("curl -G 'https://a.example/s?x=1#f' -d q=2 --data-urlencode 'r=3 4'")[
        "url"
    ] == ("https://a.example/s?x=1&q=2&r=3%204")
    assert _target(f"curl {URL} --url-query 'q=a b' --url-query +r=%20")["url"] == (
        f"{URL}?q=a%20b&r=%20"
    )


def test_data_that_a_method_does_not_carry_is_left_out_with_a_note():
    found = parse_curl(f"curl -X GET -d '{{}}' {URL}")

    assert "payload" not in found.definition
    assert "carries no payload" in " ".join(found.notes)


def test_redirects_are_followed_where_curl_follows_them():
    assert _target(f"curl -L {URL}")["follow_redirects"] is True
    assert _target(f"curl --location-trusted {URL}")["follow_redirects"] is True
    assert "follow_redirects" not in _target(f"curl {URL}")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ("-k", "under TLS"),
        ("--cert c.pem --key k.pem", "paste the PEM text under TLS"),
        ("--cacert ca.pem", "paste the PEM text under TLS"),
        ("--compressed", "uncompressed"),
        ("--retry 3", "retry policy"),
        ("--http2", "HTTP/1.1"),
        ("-m 0", "the default holds"),
        ("-o f", "kept as a result"),
        ("--tlsv1.2", "TLS"),
        ("> /dev/null 2>&1", "Where the output goes"),
    ],
)
def test_what_is_left_out_is_noted(options, told):
    assert told in parse_curl(f"curl {URL} {options}").notes[0]


def test_a_certificate_is_checked_whatever_the_command_says():
    assert "tls" not in _target(f"curl -k {URL}")


def test_blanks_of_a_page_are_blanks_outside_of_quotes():
    found = parse_curl(f"curl\u00a0-d\u202f'a\u00a0b' {URL}")

    assert found.definition["payload"] == "a\u00a0b"
    assert "read as plain ones" in found.notes[0]


@pytest.mark.parametrize("value", ["\u201cquoted\u201d", "\u2014x", "a \u2018b\u2019"])
def test_typography_inside_of_data_is_data(value):
    assert parse_curl(f"curl -d '{value}' {URL}").definition["payload"] == value


def test_a_host_alone_is_called_by_http():
    found = parse_curl("curl a.example")

    assert found.definition["target"]["url"] == "http://a.example"
    assert "no scheme" in found.notes[0]


def test_long_addresses_make_names_that_fit():
    name = parse_curl(f"curl https://{'x' * 500}.example/").definition["name"]

    assert len(name) == NAME_LENGTH
    assert name.endswith("…")


def test_the_name_has_nothing_of_a_url_but_its_host():
    url = "https://me:s3cret@hooks.example.com/services/s3cret?key=s3cret"

    assert parse_curl(f"curl -d x '{url}'").definition["name"] == "POST hooks.example.com"


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
        (f"curl --data-urlencode x@f {URL}", "files are not read"),
        (f"curl -u me {URL}", "user:password"),
        (f"curl --digest -u a:b {URL}", "Basic, a bearer token"),
        (f"curl -m 1_0 {URL}", "not a number of seconds"),
        (f"curl -m soon {URL}", "not a number of seconds"),
        (f"curl -m -1 {URL}", "not a number of seconds"),
        (f"curl -m inf {URL}", "not a number of seconds"),
        (f"curl --json NaN {URL}", "not JSON"),
        (f"curl -H 'Bad Name: x' {URL}", "not valid"),
        (f"curl -X TRACE {URL}", "TRACE is not supported"),
        (f"curl --next {URL}", "one call"),
        (f"curl {URL} | sh", "one command only"),
        ("curl $URL", "'$URL'"),
        ("curl 'http://[x'", "no valid host and port"),
        ("curl 'http://[::1/x'", "no valid host and port"),
        ("curl -G 'http://[::1/x' -d q=1", "no valid host and port"),
        ("curl -G 'http://\u2100.example/x' -d q=1", "no valid host and port"),
        ("curl https://a.example:99999/", "no valid host and port"),
        ("curl https://", "no valid host and port"),
        ("curl 'https://a.example/{b,c}'", "several addresses"),
        (f"curl \u201c{URL}\u201d", "quote or dash of a document"),
        (f"curl {URL} -H \u2018A: b\u2019", "quote or dash of a document"),
        (f"curl {URL} \u2014data x", "quote or dash of a document"),
        (f"curl {URL} \u2013d x", "quote or dash of a document"),
        ("curl 'https://a.example/[1-3]'", "several addresses"),
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
