"""The lock holds between processes, and its holder's death frees it."""

import subprocess
import sys
from pathlib import Path

from utils.file_lock import file_lock

HOLDER = """
import sys
from pathlib import Path
from utils.file_lock import file_lock
with file_lock(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_second_process_waits_until_the_first_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "below" / "a.lock"
    command = [sys.executable, "-c", HOLDER, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        waited: list[bool] = []

        def on_wait() -> None:
            waited.append(True)
            holder.kill()

        with file_lock(path, on_wait):
            assert waited == [True]


def test_a_free_lock_is_taken_at_once(tmp_path: Path) -> None:
    waited: list[bool] = []
    for _ in range(2):
        with file_lock(tmp_path / "a.lock", lambda: waited.append(True)):
            pass
    assert waited == []
