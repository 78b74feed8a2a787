"""Handlers: Python functions of a deployment that tasks run by name.

``@handler("name")`` registers a function in a module that the setting HANDLER_MODULES names.
Workers run each in a child process; see ``docs/howto/python-handlers.md``.
"""

from __future__ import annotations

from executions.handlers.context import Context
from executions.handlers.registry import Permanent, handler

__all__ = ["Context", "Permanent", "handler"]
