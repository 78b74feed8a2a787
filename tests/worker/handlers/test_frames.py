from __future__ import annotations

import asyncio
import socket
import struct

import pytest

from worker.handlers.frames import TO_WORKER_BYTES, BrokenFrame, Cancel, Channel, frame, read_frame


@pytest.fixture
def pair():
    ours, theirs = socket.socketpair()
    yield ours, theirs
    ours.close()
    theirs.close()


def _fed(data: bytes) -> asyncio.StreamReader:
    reader = asyncio.StreamReader()
    reader.feed_data(data)
    reader.feed_eof()
    return reader


async def test_what_one_side_sends_the_other_reads(pair):
    ours, theirs = pair
    Channel(theirs).send({"verb": "broken", "message": "ü" * 1000})
    reader, writer = await asyncio.open_connection(sock=ours)

    assert await read_frame(reader) == {"verb": "broken", "message": "ü" * 1000}
    writer.close()


def test_the_process_reads_frames_that_come_in_pieces(pair):
    ours, theirs = pair
    cancels: list[Cancel] = [{"verb": "cancel", "token": token} for token in (1, 2)]
    data = b"".join(frame(cancel, 1000) for cancel in cancels)
    for byte in data:
        ours.send(bytes([byte]))
    ours.shutdown(socket.SHUT_WR)
    channel = Channel(theirs)

    assert [channel.receive() for _ in range(3)] == [*cancels, None]


def test_a_frame_beyond_its_bound_is_never_sent(pair):
    with pytest.raises(BrokenFrame):
        Channel(pair[1]).send({"verb": "raised", "message": "y" * TO_WORKER_BYTES})


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"", EOFError),
        (b"\0\0", EOFError),
        (struct.pack(">I", 10) + b"{}", EOFError),
        (struct.pack(">I", TO_WORKER_BYTES + 1), BrokenFrame),
        (struct.pack(">I", 3) + b"{x}", BrokenFrame),
        (struct.pack(">I", 2) + b"[]", BrokenFrame),
        (struct.pack(">I", 2) + b"{}", BrokenFrame),
    ],
)
async def test_nonsense_is_refused(data, error):
    with pytest.raises(error):
        await read_frame(_fed(data))
