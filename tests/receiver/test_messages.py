from __future__ import annotations

import pytest

from receiver.messages import (
    Answer,
    Request,
    Stream,
    answer_json,
    framed_pieces,
    hide_secrets,
    one_of,
    render,
    share,
    whole_number,
)


def test_the_last_of_repeated_headers_and_query_values_counts():
    request = Request("GET", "/ok?a=1&a=2", (("x", "1"), ("x", "2")))

    assert request.query == {"a": "2"}
    assert request.header("x") == "2"
    assert request.header("y") is None


def test_rendered_answers_carry_length_and_connection():
    head, body = render(answer_json(200, {}), keep_alive=True, head_only=False)

    assert head.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b"Content-Length: 2\r\n" in head
    assert b"Connection: keep-alive\r\n" in head
    assert body == b"{}"


def test_no_content_and_head_answers_have_no_body():
    no_content = render(Answer(204, b"x"), keep_alive=False, head_only=False)
    to_head = render(answer_json(299, {}), keep_alive=False, head_only=True)

    assert b"Content-Length" not in no_content[0]
    assert no_content[1] == b""
    assert to_head[1] == b""
    assert b"Content-Length: 2" in to_head[0]


@pytest.mark.parametrize(
    ("framing", "header"),
    [
        ("length", b"Content-Length: 4\r\n"),
        ("chunked", b"Transfer-Encoding: chunked\r\n"),
        ("close", b"Content-Type: application/json\r\n\r\n"),
    ],
)
def test_a_streamed_body_is_framed_as_asked(framing: str, header: bytes):
    stream = Stream(lambda: iter([b"ab", b"cd"]), framing, 4)

    head, body = render(Answer(200, stream=stream), keep_alive=False, head_only=False)

    assert header in head
    assert body == b""
    sent = b"".join(framed_pieces(stream))
    assert sent == (b"2\r\nab\r\n2\r\ncd\r\n0\r\n\r\n" if framing == "chunked" else b"abcd")


@pytest.mark.parametrize(
    ("text", "value"), [("0", 0.0), ("1", 1.0), (".5", 0.5), ("0.25", 0.25), ("1.0", 1.0)]
)
def test_a_share_is_between_nothing_and_all(text: str, value: float):
    assert share({"x": text}, "x") == value


@pytest.mark.parametrize("text", ["", ".", "-0.1", "1.1", "2", "nan", "1e-1", "\u0661"])
def test_other_shares_are_refused(text: str):
    with pytest.raises(ValueError, match="from 0 to 1"):
        share({"x": text}, "x")


def test_what_a_query_leaves_out_has_a_default():
    assert share({}, "x") == 0
    assert one_of({}, "x", ("a", "b")) == "a"
    assert whole_number({}, "x", 7, (0, 9)) == 7


def test_a_word_that_is_not_offered_is_refused():
    with pytest.raises(ValueError, match="a, b"):
        one_of({"x": "c"}, "x", ("a", "b"))


def test_a_query_of_question_marks_is_read_once():
    """Reading it anew from each of them would take minutes."""
    assert hide_secrets("/?" + "?" * 200_000) == "/?" + "?" * 200_000
