"""Producers and consumers with asyncio, a time-out and a clean end."""

import asyncio
import logging
import signal
from contextlib import suppress

logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
log = logging.getLogger("pipeline")


async def produce(queue: asyncio.Queue, count: int) -> None:
    for number in range(count):
        await asyncio.sleep(0.01)
        await queue.put(number)


async def consume(name: str, queue: asyncio.Queue) -> None:
    while True:
        number = await queue.get()
        log.info("%s took %d", name, number)
        queue.task_done()


async def main() -> None:
    queue: asyncio.Queue = asyncio.Queue(maxsize=3)
    with suppress(NotImplementedError):
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, log.info, "asked to stop")
    consumers = [asyncio.create_task(consume(f"worker {n}", queue)) for n in range(2)]
    await asyncio.wait_for(produce(queue, 10), timeout=5)
    await queue.join()
    for task in consumers:
        task.cancel()
    await asyncio.gather(*consumers, return_exceptions=True)


asyncio.run(main())
