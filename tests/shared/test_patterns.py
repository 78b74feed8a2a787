from __future__ import annotations

import pytest

from shared.patterns import compile_pattern


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        *(("ok", b"it is ok.", True), ("^ok$", b"it is ok.", False), ("(?i)OK", b"ok", True)),
        *((r"\bdone\b", b"all done", True), ("ä+", "xäää".encode(), True)),
        *(("a.c", b"a\xffc", False), ("", b"", True)),
    ],
)
def test_a_pattern_is_searched_for_in_bytes(pattern: str, text: bytes, found: bool):
    assert compile_pattern(pattern).found_in(text) is found


@pytest.mark.parametrize("pattern", ["(", "[", "(?=a)", r"(a)\1", "a{5000}", "(?P<n", "\ud800"])
def test_what_is_no_pattern_is_refused(pattern: str):
    with pytest.raises(ValueError, match=r".+"):
        compile_pattern(pattern)


def test_a_pattern_that_blows_up_elsewhere_is_linear_here():
    # A backtracking engine needs more steps than the universe has seconds.
    assert not compile_pattern("^(a+)+$").found_in(b"a" * 5000 + b"b")


def test_a_pattern_that_needs_much_memory_is_refused():
    with pytest.raises(ValueError, match="no regular expression"):
        compile_pattern("((a{100}){100}){100}")
