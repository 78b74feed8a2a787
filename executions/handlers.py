"""Handlers: Python functions of a deployment that tasks run by name.

``@handler("name")`` registers a function in a module that the setting HANDLER_MODULES names.
Modules of deployments import these names from here; see ``docs/howto/python-handlers.md``.
"""

from __future__ import annotations

from worker.handlers.context import Context
from worker.handlers.registry import Permanent, handler

__all__ = ["Context", "Permanent", "handler"]
