"""Threads of the sandbox's own: asyncio's default pool has six on two cores, and others wait in it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")

_pool = ThreadPoolExecutor(max_workers=16, thread_name_prefix="sandbox")


async def in_thread(work: Callable[[], T]) -> T:
    """Do short blocking work, such as reading and writing files, beside the event loop."""
    return await asyncio.get_running_loop().run_in_executor(_pool, work)
