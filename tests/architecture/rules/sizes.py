"""Budgets of size: lines per file, lines per function, classes per models file."""

from __future__ import annotations

import ast

from tests.support.syntax import parse


def file_size(source: str, limit: int) -> list[str]:
    """Refuse a file of more than ``limit`` lines."""
    lines = len(source.splitlines())
    return [f"{lines} lines, the limit is {limit}"] if lines > limit else []


def function_size(source: str, limit: int = 50) -> list[str]:
    """Refuse a function of more than ``limit`` lines, docstring included."""
    breaches = []
    for node in ast.walk(parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if lines > limit:
                breaches.append(f"{node.lineno}: {node.name} has {lines} lines, limit {limit}")
    return breaches


def classes_per_file(source: str, limit: int = 2) -> list[str]:
    """Refuse more than ``limit`` classes at the top of a models file."""
    classes = [node.name for node in parse(source).body if isinstance(node, ast.ClassDef)]
    if len(classes) > limit:
        return [f"{len(classes)} classes ({', '.join(classes)}), the limit is {limit}"]
    return []
