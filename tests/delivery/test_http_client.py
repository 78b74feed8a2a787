from __future__ import annotations

import asyncio
import socket

import pytest

from delivery.errors import DeliveryError
from shared.addresses import AllowList
from tests.delivery.calls import http_client, request_to
from tests.support.certificates import self_signed
from tests.support.raw_receiver import raw_receiver

OK = b"HTTP/1.1 200 OK\r\n"
ANSWER = OK + b"Content-Length: 2\r\n\r\nhi"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"


def _answers(*pieces, then="hold"):
    """Script: read the request, send the pieces, then hold, close or reset."""

    async def script(conversation):
        await conversation.read_request()
        for piece in pieces:
            await conversation.send(piece)
        if then == "hold":
            await conversation.hold()
        elif then == "reset":
            conversation.reset()

    return script


async def _answer_all(conversation):
    while True:
        await conversation.read_request()
        await conversation.send(ANSWER)


async def _failure(client, request):
    with pytest.raises(DeliveryError) as caught:
        await client.send(request)
    # Long before its time is up.
    assert caught.value.timings["total"] < 30_000
    return caught.value.code


async def test_answer_is_returned_with_timings_and_address():
    async with raw_receiver(_answer_all) as receiver, http_client() as client:
        response = await client.send(request_to(receiver.port))

    assert (response.status, response.body, response.truncated) == (200, b"hi", False)
    assert response.headers == [("Content-Length", "2")]
    assert response.address == "127.0.0.1"
    assert {"connect", "first_byte", "total"} == set(response.timings)
    assert response.timings["connect"] <= response.timings["first_byte"]
    assert response.timings["first_byte"] <= response.timings["total"]


async def test_receiver_reads_exactly_what_was_asked():
    got = []

    async def script(conversation):
        got.append(await conversation.read_request())
        await conversation.send(ANSWER)

    async with raw_receiver(script) as receiver, http_client() as client:
        await client.send(request_to(receiver.port, path="/a?b=%20c", method="PUT"))

    assert got == [
        b"PUT /a?b=%20c HTTP/1.1\r\nHost: 127.0.0.1:" + str(receiver.port).encode() + b"\r\n"
        b"Accept-Encoding: identity\r\nContent-Length: 8\r\nX-Team: billing\r\n\r\n"
        b'{"n": 1}'
    ]


async def test_connection_is_kept_for_the_next_request():
    async with raw_receiver(_answer_all) as receiver, http_client() as client:
        responses = [await client.send(request_to(receiver.port)) for _ in range(3)]

        assert receiver.connections == 1
        assert set(responses[2].timings) == {"first_byte", "total"}


async def test_many_requests_at_once_get_their_own_answers():
    async def echo(conversation):
        while True:
            request = await conversation.read_request()
            body = request.partition(b"\r\n\r\n")[2]
            await conversation.send(OK + b"Content-Length: %d\r\n\r\n" % len(body) + body)

    async with raw_receiver(echo) as receiver, http_client(max_idle_per_host=8) as client:
        bodies = [str(number).encode() * 50 for number in range(100)]
        for _ in range(2):
            responses = await asyncio.gather(
                *[client.send(request_to(receiver.port, body=body)) for body in bodies]
            )
            assert [response.body for response in responses] == bodies


GOOD = {
    "100-continue first": (_answers(b"HTTP/1.1 100 Continue\r\n\r\n", ANSWER), 200, b"hi"),
    "early hints first": (_answers(b"HTTP/1.1 103 x\r\nLink: y\r\n\r\n" * 3, ANSWER), 200, b"hi"),
    "chunks": (_answers(CHUNKED, b"1\r\nh\r\n", b"1\r\ni\r\n", b"0\r\n\r\n"), 200, b"hi"),
    "body until the end": (_answers(OK + b"\r\nall of it", then="close"), 200, b"all of it"),
    "no content": (_answers(b"HTTP/1.1 204 No Content\r\n\r\n"), 204, b""),
    "not modified": (_answers(b"HTTP/1.1 304 x\r\nContent-Length: 9\r\n\r\n"), 304, b""),
    "redirect": (_answers(b"HTTP/1.1 302 x\r\nLocation: http://127.0.0.1:1/\r\n"
                          b"Content-Length: 0\r\n\r\n"), 302, b""),
    "gzip bomb": (_answers(OK + b"Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n\x1f\x8b"),
                  200, b"\x1f\x8b"),
    "binary": (_answers(OK + b"Content-Length: 4\r\n\r\n\x00\xff\x1b["), 200, b"\x00\xff\x1b["),
    "http 1.0": (_answers(b"HTTP/1.0 200 OK\r\n\r\nold", then="close"), 200, b"old"),
    "two answers": (_answers(ANSWER + ANSWER), 200, b"hi"),
    "large cookie": (_answers(OK + b"Set-Cookie: a=" + b"b" * 60_000
                              + b"\r\nContent-Length: 2\r\n\r\nhi"), 200, b"hi"),
    "closed after the answer": (_answers(ANSWER, then="close"), 200, b"hi"),
}  # fmt: skip


@pytest.mark.parametrize("behaviour", GOOD)
async def test_odd_but_complete_answer_is_returned(behaviour):
    script, status, body = GOOD[behaviour]
    async with raw_receiver(script) as receiver, http_client() as client:
        response = await client.send(request_to(receiver.port))

    assert (response.status, response.body, response.truncated) == (status, body, False)


async def _drip_status(conversation):
    await conversation.read_request()
    await conversation.drip(b"HTTP/1.1 200 OK\r\nX-Slow: yes, very slow indeed")


async def _drip_body(conversation):
    await conversation.read_request()
    await conversation.send(OK + b"Content-Length: 100000\r\n\r\n")
    await conversation.drip(b"x")


async def _drip_chunks(conversation):
    await conversation.read_request()
    await conversation.send(CHUNKED)
    await conversation.drip(b"1\r\nx\r\n")


async def _never_read(conversation):
    await asyncio.Event().wait()


SLOW = {
    "never answers": _answers(),
    "never reads": _never_read,
    "only a status line": _answers(OK),
    "only headers": _answers(OK + b"Content-Length: 5\r\n\r\n"),
    "half a body": _answers(OK + b"Content-Length: 5\r\n\r\nab"),
    "body until an end that does not come": _answers(OK + b"\r\nabc"),
    "chunks without end": _answers(CHUNKED, b"1\r\nx\r\n"),
    "chunk size without end": _answers(CHUNKED, b"1"),
    "trailer without end": _answers(CHUNKED, b"0\r\nX: y\r\n"),
    "continue and nothing more": _answers(b"HTTP/1.1 100 Continue\r\n\r\n"),
    "drips the header": _drip_status,
    "drips the body": _drip_body,
    "drips chunks": _drip_chunks,
}


@pytest.mark.parametrize("behaviour", SLOW)
async def test_receiver_that_takes_too_long_is_cut_off_at_the_deadline(behaviour):
    async with raw_receiver(SLOW[behaviour]) as receiver, http_client() as client:
        code = await _failure(client, request_to(receiver.port, timeout=0.15))
        if behaviour != "never reads":
            await receiver.script_ended.wait()

    assert code == "timeout_total"


async def _endless_headers(conversation):
    await conversation.read_request()
    await conversation.send(OK)
    await conversation.send_forever(b"X-Endless: header\r\n" * 50)


async def _endless_header_line(conversation):
    await conversation.read_request()
    await conversation.send(OK + b"X-Endless: ")
    await conversation.send_forever(b"x" * 8192)


async def _endless_continue(conversation):
    await conversation.read_request()
    await conversation.send_forever(b"HTTP/1.1 100 Continue\r\n\r\n")


async def _endless_hints(conversation):
    await conversation.read_request()
    await conversation.send_forever(b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")


async def _endless_extension(conversation):
    await conversation.read_request()
    await conversation.send(CHUNKED + b"1;")
    await conversation.send_forever(b"x" * 65_536)


async def _endless_trailer(conversation):
    await conversation.read_request()
    await conversation.send(CHUNKED + b"0\r\n")
    await conversation.send_forever(b"X-Trailer: value\r\n" * 500)


INVALID = {
    "endless headers": _endless_headers,
    "endless header line": _endless_header_line,
    "flood of 100": _endless_continue,
    "flood of 103": _endless_hints,
    "endless chunk extension": _endless_extension,
    "endless trailer": _endless_trailer,
    "garbage": _answers(b"\x00\x01\x02garbage"),
    "html only": _answers(b"<html>hello</html>"),
    "http 0.9": _answers(b"hello", then="close"),
    "ssh": _answers(b"SSH-2.0-OpenSSH_9.9\r\n"),
    "tls alert": _answers(b"\x15\x03\x01\x00\x02\x02\x46"),
    "http 2 version": _answers(b"HTTP/2.0 200 OK\r\nContent-Length: 0\r\n\r\n"),
    "status 99": _answers(b"HTTP/1.1 099 x\r\nContent-Length: 0\r\n\r\n"),
    "status abc": _answers(b"HTTP/1.1 abc x\r\nContent-Length: 0\r\n\r\n"),
    "unasked upgrade": _answers(b"HTTP/1.1 101 x\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n"),
    "two lengths": _answers(OK + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\nhi"),
    "negative length": _answers(OK + b"Content-Length: -1\r\n\r\n"),
    "length and chunks": _answers(CHUNKED[:-2] + b"Content-Length: 2\r\n\r\n0\r\n\r\n"),
    "bad chunk size": _answers(CHUNKED + b"xyz\r\n"),
    "huge chunk size": _answers(CHUNKED + b"ffffffffffffffffff\r\n"),
    "chunk longer than said": _answers(CHUNKED + b"1\r\nhello\r\n"),
    "nul in a header": _answers(OK + b"X: a\0b\r\n\r\n"),
    "folded line first": _answers(OK + b" a\r\nContent-Length: 0\r\n\r\n"),
    "end in mid-header": _answers(OK + b"X-A", then="close"),
    "end in mid-body": _answers(OK + b"Content-Length: 5\r\n\r\nab", then="close"),
    "end before the last chunk": _answers(CHUNKED + b"1\r\nx\r\n", then="close"),
    "end after continue": _answers(b"HTTP/1.1 100 Continue\r\n\r\n", then="close"),
}


@pytest.mark.parametrize("behaviour", INVALID)
async def test_broken_answer_is_invalid_long_before_the_deadline(behaviour):
    async with raw_receiver(INVALID[behaviour]) as receiver, http_client() as client:
        code = await _failure(client, request_to(receiver.port))

    assert code == "response_invalid"


async def _close_at_once(conversation):
    return


async def _reset_at_once(conversation):
    conversation.reset()


RESET = {
    "fin at once": _close_at_once,
    "rst at once": _reset_at_once,
    "fin after the request": _answers(then="close"),
    "rst after the request": _answers(then="reset"),
}


@pytest.mark.parametrize("behaviour", RESET)
async def test_connection_closed_without_an_answer_is_reset(behaviour):
    async with raw_receiver(RESET[behaviour]) as receiver, http_client() as client:
        code = await _failure(client, request_to(receiver.port))

        # An unknown outcome is the retry policy's business, never a silent second request.
        assert (code, receiver.connections) == ("connection_reset", 1)


@pytest.mark.parametrize("head", [OK + b"X-A", OK + b"Content-Length: 5\r\n\r\nab"])
async def test_connection_reset_amid_an_answer_fails(head):
    async with raw_receiver(_answers(head, then="reset")) as receiver, http_client() as client:
        code = await _failure(client, request_to(receiver.port))

    # Whether the bytes before the RST are still seen is up to the kernel.
    assert code in ("connection_reset", "response_invalid")


async def _endless_body(conversation):
    await conversation.read_request()
    await conversation.send(OK + b"\r\n")
    await conversation.send_forever(b"x" * 65_536)


async def _announced_body(conversation):
    await conversation.read_request()
    await conversation.send(OK + b"Content-Length: 10000000000\r\n\r\n")
    await conversation.send_forever(b"x" * 65_536)


async def _chunked_body(conversation):
    await conversation.read_request()
    await conversation.send(CHUNKED)
    await conversation.send_forever(b"10000\r\n" + b"x" * 65_536 + b"\r\n")


async def _one_byte_chunks(conversation):
    await conversation.read_request()
    await conversation.send(CHUNKED)
    await conversation.send_forever(b"1\r\nx\r\n" * 1000)


@pytest.mark.parametrize(
    "script", [_endless_body, _announced_body, _chunked_body, _one_byte_chunks]
)
async def test_huge_body_is_cut_at_the_capture_limit_and_is_a_success(script):
    async with raw_receiver(script) as receiver, http_client() as client:
        response = await client.send(request_to(receiver.port, capture_bytes=1000))
        await receiver.script_ended.wait()

    assert (response.status, response.body, response.truncated) == (200, b"x" * 1000, True)


async def test_head_has_no_body_whatever_its_headers_say():
    script = _answers(OK + b"Content-Length: 5000\r\n\r\n")
    async with raw_receiver(script) as receiver, http_client() as client:
        response = await client.send(request_to(receiver.port, method="HEAD", body=b""))

    assert (response.status, response.body) == (200, b"")


async def test_answer_before_the_request_was_read_is_taken_but_the_connection_is_not_kept():
    async def impatient(conversation):
        await conversation.send(b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n")
        await asyncio.Event().wait()

    async with raw_receiver(impatient) as receiver, http_client() as client:
        big = request_to(receiver.port, body=b"x" * 20_000_000)
        response = await client.send(big)
        await client.send(request_to(receiver.port))

        assert (response.status, receiver.connections) == (413, 2)


async def test_second_answer_is_never_taken_for_that_of_the_next_request():
    served = []

    async def script(conversation):
        await conversation.read_request()
        served.append(1)
        number = str(len(served)).encode()
        answer = OK + b"Content-Length: 1\r\n\r\n" + number
        await conversation.send(answer + OK + b"Content-Length: 4\r\n\r\nevil")
        await conversation.hold()

    async with raw_receiver(script) as receiver, http_client() as client:
        bodies = [(await client.send(request_to(receiver.port))).body for _ in range(2)]

    assert bodies == [b"1", b"2"]


async def test_connection_that_the_receiver_closed_while_idle_is_replaced():
    async def once(conversation):
        await conversation.read_request()
        await conversation.send(ANSWER)

    async with raw_receiver(once) as receiver, http_client() as client:
        await client.send(request_to(receiver.port))
        await receiver.script_ended.wait()
        response = await client.send(request_to(receiver.port))

        assert (response.status, receiver.connections) == (200, 2)


async def test_request_that_dies_on_a_kept_connection_is_not_sent_again():
    requests = []

    async def second_dies(conversation):
        requests.append(await conversation.read_request())
        await conversation.send(ANSWER)
        requests.append(await conversation.read_request())

    async with raw_receiver(second_dies) as receiver, http_client() as client:
        await client.send(request_to(receiver.port))
        code = await _failure(client, request_to(receiver.port))

    assert (code, len(requests)) == ("connection_reset", 2)


async def test_connection_close_is_honoured():
    script = _answers(OK + b"Connection: close\r\nContent-Length: 0\r\n\r\n")
    async with raw_receiver(script) as receiver, http_client() as client:
        for _ in range(2):
            await client.send(request_to(receiver.port))

        assert receiver.connections == 2


async def test_cookies_are_not_kept():
    requests = []

    async def script(conversation):
        while True:
            requests.append(await conversation.read_request())
            await conversation.send(OK + b"Set-Cookie: a=b\r\nContent-Length: 0\r\n\r\n")

    async with raw_receiver(script) as receiver, http_client() as client:
        for _ in range(2):
            await client.send(request_to(receiver.port))

    assert b"cookie" not in requests[1].lower()


async def test_closed_port_is_connection_refused():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

    async with http_client() as client:
        assert await _failure(client, request_to(port)) == "connection_refused"


async def test_unknown_name_is_dns_failed():
    async with http_client(answers=[[]]) as client:
        assert await _failure(client, request_to(8001, host="name.test")) == "dns_failed"


async def test_forbidden_address_gets_no_connection():
    async with raw_receiver(_answer_all) as receiver:
        async with http_client(allow=AllowList(["127.0.0.9"])) as client:
            code = await _failure(client, request_to(receiver.port))

        assert (code, receiver.connections) == ("address_forbidden", 0)


async def test_rebinding_name_is_connected_to_the_checked_address_only():
    allow = AllowList(["127.0.0.1"])
    close = OK + b"Connection: close\r\nContent-Length: 0\r\n\r\n"
    async with (
        raw_receiver(_answers(close)) as good,
        raw_receiver(_answer_all, host="127.0.0.2", port=good.port) as internal,
        http_client(allow=allow, answers=[["127.0.0.1"], ["127.0.0.2"]], cache_seconds=0) as client,
    ):
        request = request_to(good.port, host="name.test")
        response = await client.send(request)
        code = await _failure(client, request)

        assert (response.address, code) == ("127.0.0.1", "address_forbidden")
        assert (good.connections, internal.connections) == (1, 0)


async def test_tls_request_names_the_host_and_checks_its_certificate(tmp_path):
    certificate = self_signed(tmp_path, "name.test")
    async with raw_receiver(_answer_all, tls=certificate.server_context()) as receiver:
        request = request_to(receiver.port, scheme="https", host="name.test")
        trusting = certificate.trusting_context()
        async with http_client(answers=[["127.0.0.1"]], ssl_context=trusting) as client:
            first, second = await client.send(request), await client.send(request)

    assert (first.status, second.status, receiver.connections) == (200, 200, 1)
    assert "tls" in first.timings
    assert "tls" not in second.timings


async def test_self_signed_certificate_is_tls_failed(tmp_path):
    certificate = self_signed(tmp_path, "name.test")
    async with raw_receiver(_answer_all, tls=certificate.server_context()) as receiver:
        request = request_to(receiver.port, scheme="https", host="name.test")
        async with http_client(answers=[["127.0.0.1"]]) as client:
            assert await _failure(client, request) == "tls_failed"


async def test_tls_handshake_without_end_is_a_connect_timeout():
    async with raw_receiver(_answers()) as receiver, http_client() as client:
        request = request_to(receiver.port, scheme="https", connect_timeout=0.15)
        assert await _failure(client, request) == "timeout_connect"


async def test_total_deadline_also_ends_the_connecting():
    async with raw_receiver(_answers()) as receiver, http_client() as client:
        request = request_to(receiver.port, scheme="https", timeout=0.15)
        assert await _failure(client, request) == "timeout_total"


async def test_bad_header_is_refused_before_anything_is_sent():
    async with raw_receiver(_answer_all) as receiver, http_client() as client:
        with pytest.raises(ValueError, match="CR, LF or NUL"):
            await client.send(request_to(receiver.port, headers=[("X-A", "a\r\nHost: evil")]))

        assert receiver.connections == 0


async def test_cancelled_call_closes_its_connection():
    asked = asyncio.Event()

    async def script(conversation):
        await conversation.read_request()
        asked.set()
        await conversation.hold()

    async with raw_receiver(script) as receiver, http_client() as client:
        call = asyncio.ensure_future(client.send(request_to(receiver.port)))
        await asked.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await receiver.script_ended.wait()


async def test_call_cancelled_while_connecting_leaves_nothing_open():
    async with raw_receiver(_answers()) as receiver, http_client() as client:
        call = asyncio.ensure_future(client.send(request_to(receiver.port, scheme="https")))
        await receiver.connected.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await receiver.script_ended.wait()


async def test_closing_the_client_closes_idle_connections_and_keeps_no_new_ones():
    release = asyncio.Event()

    async def script(conversation):
        await conversation.read_request()
        await release.wait()
        await conversation.send(ANSWER)
        await conversation.hold()

    async with raw_receiver(script) as receiver, http_client() as client:
        call = asyncio.ensure_future(client.send(request_to(receiver.port)))
        await receiver.connected.wait()
        await client.close()
        release.set()
        assert (await call).status == 200
        await receiver.script_ended.wait()
