from __future__ import annotations

import io
import tracemalloc
from collections.abc import Callable
from typing import Any

import orjson
import pytest

from operations.backup import sealing
from operations.backup.exceptions import Damaged, Unfit, WrongPassphrase
from operations.backup.sealing import Sealer, is_sealed, unsealed

PASSPHRASE = "correct horse battery"


@pytest.fixture(autouse=True)
def _cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sealing, "_COST", 2)
    monkeypatch.setattr(sealing, "_PIECE", 100)
    monkeypatch.setattr(sealing, "_SEALED_PIECE", 117)


def seal(*parts: bytes) -> bytes:
    stream = io.BytesIO()
    sealer = Sealer(stream, PASSPHRASE)
    for part in parts:
        sealer.write(part)
    sealer.end()
    return stream.getvalue()


def opened(sealed: bytes, passphrase: str = PASSPHRASE) -> bytes:
    return b"".join(unsealed(io.BytesIO(sealed), passphrase))


def begin(sealed: bytes) -> int:
    """Return where the pieces begin."""
    at = len(sealing._MAGIC)
    return at + 2 + int.from_bytes(sealed[at : at + 2], "big")


@pytest.mark.parametrize("size", [0, 1, 99, 100, 101, 200, 1000])
@pytest.mark.parametrize("step", [1, 7, 100, 1000])
def test_what_was_sealed_comes_back_however_it_was_given(size: int, step: int):
    data = bytes(number % 251 for number in range(size))

    sealed = seal(*(data[at : at + step] for at in range(0, size, step)))

    assert opened(sealed) == data
    if size > 8:
        assert data[:8] not in sealed


def test_two_seals_of_the_same_have_nothing_in_common():
    first, second = seal(b"x" * 50), seal(b"x" * 50)

    assert first[begin(first) :] != second[begin(second) :]


@pytest.mark.parametrize("passphrase", ["", "correct horse batterx", "Correct horse battery"])
def test_another_passphrase_opens_nothing(passphrase: str):
    with pytest.raises(WrongPassphrase):
        opened(seal(b"secret"), passphrase)


def swap(sealed: bytes) -> bytes:
    at = begin(sealed)
    return sealed[:at] + sealed[at + 117 : at + 234] + sealed[at : at + 117] + sealed[at + 234 :]


def transplant(sealed: bytes) -> bytes:
    other = seal(b"y" * 350)
    return sealed[: begin(sealed)] + other[begin(other) :]


TAMPERINGS: dict[str, Callable[[bytes], bytes]] = {
    "a piece left out": lambda s: s[: begin(s)] + s[begin(s) + 117 :],
    "a piece in the middle left out": lambda s: s[: begin(s) + 117] + s[begin(s) + 234 :],
    "two pieces swapped": swap,
    "a piece doubled": lambda s: s[: begin(s) + 117] + s[begin(s) :],
    "the last piece doubled": lambda s: s + s[-67:],
    "the last piece left out": lambda s: s[:-67],
    "cut off within a piece": lambda s: s[:-80],
    "cut off within the last piece": lambda s: s[:-1],
    "cut off before the first piece": lambda s: s[: begin(s)],
    "bytes behind the end": lambda s: s + b"x",
    "another stream behind the end": lambda s: s + seal(b"more"),
    "the pieces of another file": transplant,
}


@pytest.mark.parametrize("tamper", TAMPERINGS.values(), ids=TAMPERINGS.keys())
def test_a_file_that_was_cut_or_put_together_anew_is_refused(tamper: Callable[[bytes], bytes]):
    sealed = seal(bytes(350))
    assert opened(sealed) == bytes(350)

    with pytest.raises(Damaged):
        opened(tamper(sealed))


def test_no_byte_of_a_changed_piece_is_handed_out():
    sealed = bytearray(seal(bytes(350)))
    sealed[begin(bytes(sealed)) + 117 + 40] ^= 1
    found: list[bytes] = []

    with pytest.raises(Damaged):
        found.extend(unsealed(io.BytesIO(bytes(sealed)), PASSPHRASE))

    assert found == [bytes(100)]


def test_one_changed_bit_anywhere_is_found():
    sealed = seal(bytes(150))
    for bit in range(8 * len(sealed)):
        changed = bytearray(sealed)
        changed[bit // 8] ^= 1 << bit % 8
        with pytest.raises((Damaged, Unfit, WrongPassphrase)):
            opened(bytes(changed))


@pytest.mark.parametrize("kept", range(0, 300, 7))
def test_a_beginning_that_was_cut_off_is_found(kept: int):
    with pytest.raises(Unfit):
        opened(seal(b"")[:-1][:kept])


@pytest.mark.parametrize(
    "parts", [{"cost": 2**30}, {"cost": 1}, {"cost": "2"}, {"form": "rot13"}, {"salt": "?"}]
)
def test_a_head_that_asks_for_something_else_is_refused(parts: dict[str, object]):
    sealed = seal(b"x")
    at = len(sealing._MAGIC) + 2
    words = orjson.dumps({**orjson.loads(sealed[at : begin(sealed)]), **parts})

    changed = sealing._MAGIC + len(words).to_bytes(2, "big") + words + sealed[begin(sealed) :]

    with pytest.raises(Unfit):
        opened(changed)


def test_a_later_format_is_told_from_damage():
    sealed = seal(b"x")

    with pytest.raises(Unfit, match="newer one") as refused:
        opened(sealed.replace(b"punctual-backup 2\n", b"punctual-backup 3\n"))

    assert not isinstance(refused.value, Damaged)


def test_a_stream_says_whether_it_is_sealed():
    for content, expected in ((seal(b""), True), (b"PGDMP" * 20, False), (b"", False)):
        stream = io.BytesIO(content)
        assert is_sealed(stream) is expected
        assert stream.tell() == 0


class Sink(io.RawIOBase):
    """Counts what is written and keeps none of it."""

    size = 0

    def write(self, data: Any) -> int:
        self.size += len(data)
        return len(data)


def test_memory_does_not_grow_with_the_stream(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.undo()
    monkeypatch.setattr(sealing, "_COST", 2)
    sink, piece = Sink(), bytes(1024 * 1024)

    tracemalloc.start()
    sealer = Sealer(sink, PASSPHRASE)  # type: ignore[arg-type]  # it is only written to
    for _ in range(32):
        sealer.write(piece)
    sealer.end()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert sink.size > 32 * len(piece)
    assert peak < 8 * len(piece)
