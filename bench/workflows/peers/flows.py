"""How much of a shape fits into flows of BullMQ: trees, of which each begins behind another."""

from __future__ import annotations

from typing import Any

from bench.workflows.peers.shapes import levels

Tree = dict[str, Any]


def flows(shape: str) -> list[Tree]:
    """Return a shape as trees: parents wait for their children, a tree for the root before it.

    A job has one parent, so a step that a whole fan waits for ends its tree, and a fan begins the
    next one. ValueError for a fan that nothing joins: it would have no root.
    """
    found: list[Tree] = []
    jobs: list[Tree] = []
    for level in levels(shape):
        if len(level) > 1 and jobs:
            found.append(_root(jobs))
            jobs = []
        jobs = [{"step": step, "children": jobs} for step in level]
    return [*found, _root(jobs)]


def _root(jobs: list[Tree]) -> Tree:
    if len(jobs) != 1:
        raise ValueError("a fan that nothing joins is no tree")
    return jobs[0]
