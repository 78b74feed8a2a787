"""Where SQL may stand, and how statements are named and described."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shared.sql import composed
from tests.support.syntax import parse

# Capitals throughout, or small letters throughout: a sentence like "Select a task from the list"
# begins with one capital and is no statement, and an HTTP verb is followed by nothing.
_OBJECTS = "TABLE|INDEX|ROLE|USER|DATABASE|SCHEMA|SEQUENCE|EXTENSION|FUNCTION|TRIGGER|TYPE|VIEW"
_CAPITALS = (
    r"SELECT\s+\S",
    r"INSERT\s+INTO\s",
    r"UPDATE\s+\S+(\s+\w+)?\s+SET\s",
    r"DELETE\s+FROM\s",
    r"WITH\s+(RECURSIVE\s+)?\w+(\s*\([^)]*\))?\s+AS\s",
    rf"(CREATE|ALTER|DROP)\s+([A-Z]+\s+){{0,3}}({_OBJECTS})\s",
    r"(TRUNCATE|NOTIFY|LISTEN|UNLISTEN|GRANT|REVOKE|VACUUM)\s+\S",
    r"(LOCK\s+TABLE|SET\s+LOCAL|SET\s+SESSION|SET\s+CONSTRAINTS)\s",
)
# The other verbs begin an English phrase as well as a statement.
_SMALL = (
    r"select\s[^.]*\sfrom\s",
    r"insert\s+into\s",
    r"update\s+\S+(\s+\w+)?\s+set\s",
    r"delete\s+from\s",
    r"with\s+(recursive\s+)?\w+(\s*\([^)]*\))?\s+as\s+\(",
    rf"(create|alter|drop)\s+([a-z]+\s+){{0,3}}({_OBJECTS.lower()})\s",
)
_SQL = re.compile(rf"^\s*(--[^\n]*\n\s*)*({'|'.join(_CAPITALS + _SMALL)})")

_HEAD_LINE = re.compile(r"^-- ((?:name|part): .*)$", re.MULTILINE)
_PARTS_LINE = re.compile(r"-- parts: (.*)$", re.MULTILINE)
_NAME = re.compile(r"^[a-z][a-z_]*$")


def sql_text(source: str) -> list[str]:
    """Refuse SQL statements in string constants; docstrings may speak of them."""
    return [
        f"{node.lineno}: SQL belongs in <app>/sql: {' '.join(text.split())[:60]!r}"
        for node, text in _strings(parse(source))
        if _SQL.match(text)
    ]


def statements(text: str) -> dict[str, str]:
    """Return the statements of an SQL file by name as they are sent, comments included."""
    return composed(text)


def pieces(text: str) -> dict[str, str]:
    """Return what stands in an SQL file, ``name: x`` and ``part: x``, comments included."""
    split = _HEAD_LINE.split(text)
    return dict(zip(split[1::2], split[2::2], strict=True))


def lines_of(piece: str) -> int:
    """Return the lines of a piece with its comments, without blank ones around it."""
    return len(piece.strip().splitlines())


def unused_parts(text: str) -> list[str]:
    """Refuse parts that no statement of their file names."""
    found = pieces(text)
    used = {
        f"part: {name}"
        for body in found.values()
        for named in _PARTS_LINE.findall(body)
        for name in named.split(", ")
    }
    return [
        f"{name} is not used" for name in found if name.startswith("part: ") and name not in used
    ]


def statement_form(text: str) -> list[str]:
    """Refuse text before the first name, bad or double names, and statements without a why."""
    split = _HEAD_LINE.split(text)
    breaches = ["text before the first name"] if split[0].strip() else []
    seen: set[str] = set()
    for head, body in zip(split[1::2], split[2::2], strict=True):
        name = head.partition(": ")[2]
        if not _NAME.match(name):
            breaches.append(f"bad name {name!r}")
        if name in seen:
            breaches.append(f"{name} is there twice")
        seen.add(name)
        if not body.lstrip("\n").startswith("-- "):
            breaches.append(f"{name} does not say what it guarantees")
        if not _without_comments(body).strip():
            breaches.append(f"{name} is empty")
    return breaches


def used_statements(source: str, stages: set[str]) -> set[str]:
    """Return the ``<stage>/<name>`` constants of a module, docstrings not counted."""
    return {
        text
        for node, text in _strings(parse(source))
        if isinstance(node, ast.Constant) and _is_statement_path(text, stages)
    }


def built_names(source: str, stages: set[str]) -> list[str]:
    """Refuse a statement's name put together at run time: a search must find every use."""
    return [
        f"{node.lineno}: name the statement in full, not as {ast.unparse(node)}"
        for node, text in _strings(parse(source))
        if isinstance(node, ast.JoinedStr) and _is_statement_path(text, stages)
    ]


def unmatched_statements(files: dict[str, str], used: set[str]) -> list[str]:
    """Refuse statements that nobody uses and uses of statements that are not there."""
    there = {f"{stage}/{name}" for stage, text in files.items() for name in statements(text)}
    return [f"{name} is used and does not exist" for name in sorted(used - there)] + [
        f"{name} is not used" for name in sorted(there - used)
    ]


def writes_column(statement: str, table: str, column: str) -> bool:
    """Tell whether a statement sets the column of the table, by UPDATE or INSERT."""
    text = _without_comments(statement)
    for match in re.finditer(rf"\bUPDATE\s+(ONLY\s+)?{table}\b[^(]*?\bSET\b", text, re.IGNORECASE):
        items = _set_items(text[match.end() :])
        if any(re.match(rf"\s*{column}\s*=", item, re.IGNORECASE) for item in items):
            return True
    for match in re.finditer(rf"\bINSERT\s+INTO\s+{table}\s*\(([^)]*)\)", text, re.IGNORECASE):
        if column in re.split(r"[\s,]+", match.group(1)):
            return True
    # Without a list of columns it writes all of them.
    return bool(re.search(rf"\bINSERT\s+INTO\s+{table}\s+SELECT\b", text, re.IGNORECASE))


def writes_table(statement: str, table: str) -> bool:
    """Tell whether a statement changes rows of the table."""
    verbs = r"UPDATE(\s+ONLY)?|INSERT\s+INTO|DELETE\s+FROM(\s+ONLY)?|MERGE\s+INTO"
    text = _without_comments(statement)
    # FOR NO KEY UPDATE OF t locks only.
    return bool(re.search(rf"(?<!KEY )\b({verbs})\s+{table}\b", text, re.IGNORECASE))


def _set_items(text: str) -> list[str]:
    """Split what follows SET at the commas outside parentheses, up to the end of the clause."""
    items, depth, start = [], 0, 0
    for match in re.finditer(
        r"[(),]|\bCASE\b|\bEND\b|\b(FROM|WHERE|RETURNING)\b|;", text, re.IGNORECASE
    ):
        word = match.group(0).upper()
        if word in {"(", "CASE"}:
            depth += 1
        elif depth and word in {")", "END"}:
            depth -= 1
        elif depth == 0:
            items.append(text[start : match.start()])
            start = match.end()
            if word != ",":
                return items
    return [*items, text[start:]]


def _is_statement_path(text: str, stages: set[str]) -> bool:
    stage, _, name = text.partition("/")
    return stage in stages and bool(_NAME.match(name))


def _without_comments(text: str) -> str:
    return re.sub(r"--[^\n]*", "", text)


def _strings(tree: ast.Module) -> Iterator[tuple[ast.expr, str]]:
    """Yield string constants; an f-string gives its text with a word for each value."""
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    inside = {
        id(part)
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr)
        for part in node.values
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts = (p.value if isinstance(p, ast.Constant) else "x" for p in node.values)
            yield node, "".join(str(part) for part in parts)
        elif (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in docstrings | inside
        ):
            yield node, node.value
