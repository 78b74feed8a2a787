"""Parsing of Python sources, which nothing else in the process can make fail."""

from __future__ import annotations

import ast
import gc


def parse(source: str) -> ast.Module:
    """Return the tree of a module.

    The collector rests meanwhile: Python 3.11 counts the depth of the tree that it builds in one
    place for all, so that a finalizer which prints a traceback (it parses the lines that it
    shows) in the midst of it makes the outer one fail with ``SystemError``.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        return ast.parse(source)  # noqa: TID251 # the one place that may
    finally:
        if collects:
            gc.enable()
