from __future__ import annotations

import asyncio
import os

from worker.output_pipe import OutputPipe


async def test_what_is_written_arrives_and_the_end_is_seen():
    got = bytearray()
    pipe = OutputPipe(got.extend)
    os.write(pipe.writable, b"hello")
    pipe.child_has_it()

    await asyncio.wait_for(pipe.ended.wait(), 60)

    assert got == b"hello"


async def test_draining_takes_what_is_there_without_waiting():
    got = bytearray()
    pipe = OutputPipe(got.extend)
    os.write(pipe.writable, b"x" * 60_000)

    pipe.drain()

    assert len(got) == 60_000
    assert not pipe.ended.is_set()
    pipe.close()


async def test_a_writer_after_the_close_gets_a_broken_pipe():
    pipe = OutputPipe(lambda data: None)
    writer = os.dup(pipe.writable)

    pipe.close()
    pipe.close()

    try:
        os.write(writer, b"late")
    except BrokenPipeError:
        refused = True
    else:
        refused = False
    finally:
        os.close(writer)
    assert refused
    assert pipe.ended.is_set()
