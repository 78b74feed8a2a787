from __future__ import annotations

import io

import pytest

from shared.progress import progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_without_a_terminal_there_is_one_line_per_tenth():
    stream = io.StringIO()

    with progress("retrying", 200, stream) as shown:
        for done in range(201):
            shown.update(done, f"ok {done}")

    lines = stream.getvalue().splitlines()
    assert len(lines) == 10
    assert lines[0] == "retrying 10 % (20 of 200)  ok 20"
    assert lines[-1] == "retrying 100 % (200 of 200)  ok 200"


def test_steps_that_are_jumped_over_are_not_made_up_for():
    stream = io.StringIO()

    with progress("retrying", 3, stream) as shown:
        for done in (1, 2, 3):
            shown.update(done)

    assert stream.getvalue().splitlines() == [
        "retrying 30 % (1 of 3)",
        "retrying 60 % (2 of 3)",
        "retrying 100 % (3 of 3)",
    ]


def test_a_terminal_gets_one_bar_that_is_drawn_over():
    stream = Terminal()

    with progress("retrying", 1000, stream) as shown:
        for done in range(1001):
            shown.update(done, "skipped 3 (already running)" if done < 1000 else "ok")

    text = stream.getvalue()
    frames = text.removesuffix("\n").split("\r")[1:]
    assert frames[-1].rstrip() == f"retrying {'━' * 24} 1000/1000  ok"
    # The last frame is padded, so that nothing of the longer one before it stays.
    assert len(frames[-1]) >= len(frames[-2].rstrip())
    assert len(frames) < 1000
    assert text.count("\n") == 1


@pytest.mark.parametrize("kind", [io.StringIO, Terminal], ids=["pipe", "terminal"])
def test_nothing_to_do_is_no_error(kind):
    stream = kind()

    with progress("retrying", 0, stream) as shown:
        shown.update(0)

    assert "%" not in stream.getvalue()


def test_work_that_breaks_off_leaves_the_bar_where_it_was():
    stream = Terminal()

    def work() -> None:
        with progress("retrying", 4, stream) as shown:
            shown.update(2, "half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        work()

    assert stream.getvalue().endswith("2/4  half\n")
