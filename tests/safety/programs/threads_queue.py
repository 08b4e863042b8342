"""Workers that take jobs from a queue, and a pool that does the same."""

import queue
import threading
import time
from concurrent.futures import ThreadPoolExecutor, as_completed

jobs: "queue.Queue[int | None]" = queue.Queue()
results: list[tuple[int, int]] = []
lock = threading.Lock()


def worker() -> None:
    while True:
        job = jobs.get()
        if job is None:
            jobs.task_done()
            return
        time.sleep(0.01)
        with lock:
            results.append((job, job**2))
        jobs.task_done()


threads = [threading.Thread(target=worker, daemon=True) for _ in range(4)]
for thread in threads:
    thread.start()
for number in range(20):
    jobs.put(number)
for _ in threads:
    jobs.put(None)
jobs.join()
print(sorted(results)[-3:])

with ThreadPoolExecutor(max_workers=4) as pool:
    futures = {pool.submit(pow, number, 3): number for number in range(5)}
    for future in as_completed(futures):
        print(futures[future], future.result())
