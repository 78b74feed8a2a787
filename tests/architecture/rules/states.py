"""Who may write a state: the status of an execution and of a task."""

from __future__ import annotations

import ast

from tests.support.syntax import parse

_FIELD = "status"
# Other models may have a status of their own; a write that names one of them is its business.
_GUARDED = {"Execution", "Task"}
_WRITERS = {"update", "create", "get_or_create", "update_or_create", "update_fields", "acreate"}


def state_writes(source: str, *, in_models: bool = False) -> list[str]:
    """Refuse assignments to ``.status`` and ORM writes of ``status``.

    ``self.status = …`` is free outside models: there it is an object's own field.
    """
    return [
        f"{node.lineno}: writes a status; states move in executions/transitions.py only"
        for node in ast.walk(parse(source))
        if isinstance(node, ast.stmt | ast.expr)
        if _assigns(node, in_models) or (isinstance(node, ast.Call) and _calls_for_write(node))
    ]


def _assigns(node: ast.AST, in_models: bool) -> bool:
    targets: list[ast.expr] = []
    if isinstance(node, ast.Assign):
        targets = [part for target in node.targets for part in _flat(target)]
    elif isinstance(node, ast.AnnAssign | ast.AugAssign):
        targets = [node.target]
    return any(
        isinstance(target, ast.Attribute)
        and target.attr == _FIELD
        and (in_models or not _is_self(target.value))
        for target in targets
    )


def _calls_for_write(node: ast.Call) -> bool:
    if isinstance(node.func, ast.Name):
        if node.func.id == "setattr" and len(node.args) == 3:
            return _is_field_name(node.args[1])
        return node.func.id in _GUARDED and _has_keyword(node)
    if not isinstance(node.func, ast.Attribute) or _is_other_model(node.func.value):
        return False
    if node.func.attr == "bulk_update":
        values = [*node.args[1:], *(keyword.value for keyword in node.keywords)]
        return any(_is_field_name(part) for value in values for part in ast.walk(value))
    return node.func.attr in _WRITERS and _has_keyword(node)


def _is_other_model(value: ast.expr) -> bool:
    """Tell whether a chain like ``DeadLetter.objects.filter()`` begins at an unguarded model."""
    while isinstance(value, ast.Attribute | ast.Call):
        value = value.func if isinstance(value, ast.Call) else value.value
    return isinstance(value, ast.Name) and value.id[:1].isupper() and value.id not in _GUARDED


def _has_keyword(node: ast.Call) -> bool:
    return any(keyword.arg == _FIELD for keyword in node.keywords)


def _is_field_name(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value == _FIELD


def _is_self(value: ast.expr) -> bool:
    return isinstance(value, ast.Name) and value.id == "self"


def _flat(target: ast.expr) -> list[ast.expr]:
    return list(target.elts) if isinstance(target, ast.Tuple | ast.List) else [target]
