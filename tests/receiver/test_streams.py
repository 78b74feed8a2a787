from __future__ import annotations

import gzip
from itertools import islice

import pytest

from receiver.messages import Answer, Request, Stream
from receiver.streams import PIECE, gzip_bomb, huge


def stream_of(answer: Answer) -> Stream:
    assert answer.stream is not None
    return answer.stream


@pytest.mark.parametrize("size", [0, 1, PIECE, PIECE + 1, 3 * PIECE])
def test_huge_has_exactly_as_many_bytes_as_asked(size: int):
    stream = stream_of(huge(Request("GET", f"/huge?bytes={size}")))

    assert sum(len(piece) for piece in stream.pieces()) == stream.size == size
    assert all(stream.pieces())


@pytest.mark.parametrize("size", [0, 1, 1024 * 1024, 5_000_001])
def test_a_bomb_is_a_sound_gzip_file_of_so_many_zeros(size: int):
    stream = stream_of(gzip_bomb(Request("GET", f"/gzip-bomb?bytes={size}")))

    packed = b"".join(stream.pieces())

    assert gzip.decompress(packed) == bytes(size)
    assert len(packed) < 50 + size // 500


def test_nothing_large_is_made_before_it_is_sent():
    pieces = stream_of(huge(Request("GET", "/huge?bytes=100000000000"))).pieces()

    assert [len(piece) for piece in islice(pieces, 2)] == [PIECE, PIECE]
