"""How Django writes times where a page does not say: named by FORMAT_MODULE_PATH."""

from __future__ import annotations
