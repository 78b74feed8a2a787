from __future__ import annotations

import gzip
import tracemalloc
import zlib

import pytest

from delivery.decompression import decode
from delivery.http_messages import Response
from tests.delivery.calls import http_client, request_to
from tests.delivery.sites import Answer, site

TEXT = b'{"done": true}' * 20


def zipped(data: bytes) -> bytes:
    """Return the same bytes for the same data at any time: they are names of tests, too."""
    return gzip.compress(data, mtime=0)


def response(body: bytes, *encodings: str, truncated: bool = False) -> Response:
    headers = [("content-ENCODING", encoding) for encoding in encodings]
    return Response(200, headers, body, truncated, {}, "1.1.1.1")


def decoded(body: bytes, *encodings: str, limit: int = 1000, truncated: bool = False) -> Response:
    answer = response(body, *encodings, truncated=truncated)
    decode(answer, limit)
    return answer


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


@pytest.mark.parametrize(
    ("body", "encoding"),
    [
        *((zipped(TEXT), "gzip"), (zipped(TEXT), "x-gzip")),
        *((zipped(TEXT), " GZIP "), (zipped(TEXT), "identity, gzip")),
        *((zlib.compress(TEXT), "deflate"), (raw_deflate(TEXT), "deflate")),
        *((zipped(TEXT[:9]) + zipped(TEXT[9:]), "gzip"), (TEXT, "identity")),
        *((zipped(TEXT) + b"\0\0\0", "gzip"), (TEXT, "")),
    ],
)
def test_what_is_compressed_in_a_known_way_is_undone(body: bytes, encoding: str):
    answer = decoded(body, encoding)

    assert (answer.body, answer.encoding, answer.truncated) == (TEXT, "", False)


@pytest.mark.parametrize(
    ("body", "encodings", "mark"),
    [
        (b"\x8b", ["br"], "br"),
        (b"x", ["zstd"], "zstd"),
        (zipped(zipped(TEXT)), ["gzip, gzip"], "gzip, gzip"),
        (zipped(TEXT), ["gzip", "br"], "gzip, br"),
        (b"not gzip", ["gzip"], "gzip"),
        (zipped(TEXT)[:-12], ["gzip"], "gzip"),
        (zipped(TEXT)[:20] + b"\xff" * 20, ["gzip"], "gzip"),
        (b"\0", ["y" * 500], "y" * 100),
        (zipped(TEXT)[:-12], ["gzip, utf-8"], "gzip, utf-8"),
    ],
)
def test_what_cannot_be_undone_stays_as_it_came_and_says_so(
    body: bytes, encodings: list[str], mark: str
):
    answer = decoded(body, *encodings)

    assert (answer.body, answer.encoding) == (body, mark)


@pytest.mark.parametrize(
    "encoding",
    ["UTF-8", "utf8", "iso-8859-1", "none", "text", "binary", "identity, utf-8", "zebra", '"'],
)
@pytest.mark.parametrize("body", [TEXT, "größer\t\r\n".encode(), b"gr\xf6\xdfer"])
def test_a_word_that_names_no_encoding_means_nothing_over_plain_text(encoding: str, body: bytes):
    answer = decoded(body, encoding)

    assert (answer.body, answer.encoding) == (body, "")


def test_a_word_that_names_no_encoding_hides_none_beside_it():
    answer = decoded(zipped(TEXT), "gzip, utf-8")

    assert (answer.body, answer.encoding) == (TEXT, "")


def test_what_was_cut_is_undone_as_far_as_it_goes():
    body = zipped(TEXT)

    answer = decoded(body[:-12], "gzip", truncated=True)

    assert TEXT.startswith(answer.body)
    assert (answer.truncated, answer.encoding) == (True, "")


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_a_bomb_costs_no_more_than_the_limit(encoding: str):
    zeros = bytes(50_000_000)
    bomb = zipped(zeros) if encoding == "gzip" else zlib.compress(zeros)
    del zeros

    tracemalloc.start()
    answer = decoded(bomb, encoding, limit=65536)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert (len(answer.body), answer.truncated) == (65536, True)
    assert peak < 2_000_000


def test_a_flood_of_empty_members_ends():
    answer = decoded(zipped(b"") * 3000, "gzip")

    assert (answer.body, answer.encoding) == (b"", "")


def test_exactly_the_limit_is_not_cut():
    answer = decoded(zipped(b"x" * 100), "gzip", limit=100)

    assert (answer.body, answer.truncated) == (b"x" * 100, False)


async def test_the_client_asks_for_no_encoding_and_undoes_one_all_the_same():
    answer = Answer(200, [("Content-Encoding", "gzip")], zipped(TEXT))
    async with site(lambda _: answer) as running, http_client() as client:
        found = await client.send(request_to(running.port))

    assert running.requests[0].headers["accept-encoding"] == "identity"
    assert found.body == TEXT
