"""Run the tests of the delivery side on both event loops.

Workers use uvloop, commands and tests elsewhere asyncio; their transports differ in the order
of their callbacks.
"""

from __future__ import annotations

import asyncio

import uvloop


def pytest_asyncio_loop_factories(config, item):
    return {"asyncio": asyncio.new_event_loop, "uvloop": uvloop.new_event_loop}
