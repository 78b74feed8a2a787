"""How Django writes times where a page names no format; FORMAT_MODULE_PATH names this package."""

from __future__ import annotations
