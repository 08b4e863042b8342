"""Blocks that share an IPython kernel: what is kept, what comes back, and what a block may do to the kernel."""

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from autogen_core import CancellationToken

from sandbox.executor import DockerExecutor
from tests.sandbox import box as boxes
from tests.sandbox.box import run
from tests.sandbox.test_cases_processes import ATTACKS
from tests.sandbox.wheelhouse import Wheelhouse
from utils.errors import SandboxError

pytestmark = [pytest.mark.docker, pytest.mark.asyncio(loop_scope="module"), pytest.mark.slow]

LIMIT_S = 8 if boxes.RUNTIME else 2
"""With ptrace, gVisor may take some seconds to import matplotlib on a busy machine."""
KERNEL = boxes.policy(kernel=True, timeout_s=LIMIT_S)
KEPT = "the kernel was interrupted, its variables are kept"
GONE = "the kernel was restarted, its variables are gone: "


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def warm_box(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[DockerExecutor]:
    executor = DockerExecutor(policy=KERNEL, work_dir=tmp_path_factory.mktemp("work"))
    await executor.start()
    yield executor
    await executor.stop()
    assert boxes.containers(executor.container_name) == []


@pytest_asyncio.fixture(loop_scope="module")
async def marked(box: DockerExecutor) -> AsyncIterator[DockerExecutor]:
    """The module's container, with a variable set."""
    assert (await run(box, "kept = 'still here'")).exit_code == 0
    yield box


async def is_kept(box: DockerExecutor) -> bool:
    return (await run(box, "print(globals().pop('kept', 'gone'))")).output == "still here\n"


async def test_a_variable_is_read_in_the_next_block(box: DockerExecutor) -> None:
    assert (box.info.state, box.info.runtime) == (True, f"docker ({boxes.RUNTIME or 'runc'}), kernel")
    assert (await run(box, "import math\nradius = 2\nprint('set')")).output == "set\n"
    assert (await run(box, "echo between", "bash")).output == "between\n"
    result = await run(box, "round(math.pi * radius, 2)")
    assert (result.exit_code, result.output, result.notes) == (0, "6.28\n", ())


async def test_a_plot_without_savefig_comes_back(box: DockerExecutor) -> None:
    code = "import matplotlib.pyplot as plt\nlines = plt.plot([1, 3, 2])"
    result = await run(box, code)
    assert result.output == "[picture: figure_1.png]\n"
    assert [change.path for change in result.files] == ["figure_1.png"]
    assert (box.work_dir / "figure_1.png").read_bytes().startswith(b"\x89PNG\r\n")
    twice = await run(box, "lines = plt.plot([1])\nplt.show()\nlines = plt.plot([2])\nplt.show()")
    assert [change.path for change in twice.files] == ["figure_2.png", "figure_3.png"]
    assert twice.output == "[picture: figure_2.png]\n[picture: figure_3.png]\n"


async def test_a_plot_that_was_saved_does_not_come_back_twice(box: DockerExecutor) -> None:
    code = "import matplotlib.pyplot as plt\nfigure, axes = plt.subplots()\nlines = axes.plot([1, 3, 2])\n"
    saved = await run(box, f"{code}figure.savefig('mine.png')\nplt.show()")
    assert ([change.path for change in saved.files], saved.output) == (["mine.png"], "")
    shown = await run(box, f"{code}figure")
    assert [change.path for change in shown.files] == ["figure_1.png"]


RICH = """
from IPython.display import HTML, Image, Markdown, display
import base64
pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGBgAAAABQABh6FO1AAAAABJRU5ErkJggg=='
display(Image(data=base64.b64decode(pixel)))
display(HTML('<p>Sales</p><table><tr><th>city</th><th>sum</th></tr><tr><td>Bonn</td><td>7</td></tr></table>'))
display(Markdown('**bold**'))
import pandas
pandas.DataFrame({'n': [1, 2]})
"""


async def test_what_is_displayed_is_text_or_a_file(box: DockerExecutor) -> None:
    result = await run(box, RICH)
    assert [(change.path, change.size) for change in result.files] == [("figure_1.png", 70)]
    picture, *lines = result.output.splitlines()
    assert picture == "[picture: figure_1.png]"
    assert lines == ["Sales", "", "city  sum", "Bonn    7", "**bold**", "   n", "0  1", "1  2"]


async def test_a_traceback_is_plain_text(box: DockerExecutor) -> None:
    live: list[tuple[str, str]] = []
    result = await run(box, "def fail():\n    1/0\nfail()", on_output=lambda stream, text: live.append((stream, text)))
    assert result.exit_code == 1
    assert "ZeroDivisionError: division by zero" in result.output
    assert "line 3" in result.output
    assert "\x1b" not in result.output
    assert {stream for stream, _ in live} == {"stderr"}


async def test_output_comes_while_the_block_runs(box: DockerExecutor) -> None:
    token = CancellationToken()
    code = "print('first')\nimport time\ntime.sleep(100)"
    result = await run(box, code, token=token, on_output=lambda *_: token.cancel())
    assert result.cancelled
    assert result.output.startswith("first")


async def test_a_time_out_keeps_the_variables(marked: DockerExecutor) -> None:
    result = await run(marked, "kept_too = 1\nimport time\nwhile True: time.sleep(10)")
    assert (result.exit_code, result.timed_out, result.notes) == (124, True, (KEPT,))
    assert result.output == "KeyboardInterrupt in line 3\n"
    assert LIMIT_S <= result.duration_s < LIMIT_S + 1
    assert await is_kept(marked)
    assert (await run(marked, "print(kept_too)")).output == "1\n"


async def test_a_time_out_that_is_ignored_restarts_the_kernel(marked: DockerExecutor) -> None:
    result = await run(marked, "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: pass")
    assert (result.exit_code, result.timed_out) == (124, True)
    assert result.notes == (f"{GONE}the block did not react to its interrupt",)
    assert not await is_kept(marked)


@pytest.mark.parametrize("code", ["import time; time.sleep(100)", "import subprocess; subprocess.run(['sleep', '9'])"])
async def test_a_cancel_keeps_the_variables(code: str, marked: DockerExecutor) -> None:
    token = CancellationToken()
    started = asyncio.Event()
    running = asyncio.create_task(run(marked, f"print(1)\n{code}", token=token, on_output=lambda *_: started.set()))
    await started.wait()
    before = time.monotonic()
    token.cancel()
    result = await running
    assert time.monotonic() - before < 1
    assert (result.cancelled, result.exit_code, result.notes) == (True, 130, (KEPT,))
    assert await is_kept(marked)


@boxes.COSTS_THE_CONTAINER
async def test_a_memory_bomb_ends_the_kernel_alone(marked: DockerExecutor) -> None:
    result = await run(marked, "data = []\nwhile True: data.append(b'x' * (8 << 20))")
    assert (result.exit_code, result.oom, result.timed_out, result.signal) == (137, True, False, 9)
    assert result.notes == (f"{GONE}it ended with the block",)
    assert not await is_kept(marked)


DAEMON = """
import os, time
def tick(name):
    while True:
        open(f'/workspace/{name}', 'w').write(str(time.time()))
        time.sleep(0.01)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for descriptor in range(3):
            os.close(descriptor)
        tick('daemon')
    os._exit(0)
import threading
threading.Thread(target=tick, args=('thread',), daemon=True).start()
while not (os.path.exists('/workspace/daemon') and os.path.exists('/workspace/thread')):
    time.sleep(0.01)
"""


async def test_nothing_goes_on_between_blocks(marked: DockerExecutor) -> None:
    assert (await run(marked, DAEMON)).notes == ()
    look = "sleep 0.1; cat daemon thread"
    assert (await run(marked, look, "bash")).output == (await run(marked, look, "bash")).output
    alive = "import time; before = open('/workspace/thread').read(); time.sleep(0.1)\n"
    result = await run(marked, alive + "print(before != open('/workspace/thread').read(), kept)")
    assert result.output == "True still here\n"  # its own thread goes on with it, the daemon is gone
    await run(marked, "import os; os._exit(0)")


async def test_children_that_were_left_do_not_count_for_ever(marked: DockerExecutor) -> None:
    code = "import subprocess\nleft = [subprocess.Popen(['sleep', '100']) for _ in range(45)]\nprint(len(left))"
    for _ in range(3):
        result = await run(marked, code)
        assert (result.output, result.notes) == ("45\n", ())
        assert (await run(marked, "for i in $(seq 40); do sleep 9 & done; echo up", "bash")).output == "up\n"
    assert await is_kept(marked)


@boxes.COSTS_THE_CONTAINER
async def test_a_fork_bomb(marked: DockerExecutor) -> None:
    result = await run(marked, "import os\nwhile True:\n  try: os.fork()\n  except OSError: pass")
    assert result.timed_out
    assert result.duration_s < 15
    await boxes.check_clean(marked)


async def test_a_forked_child_is_not_the_block(marked: DockerExecutor) -> None:
    result = await run(marked, "import os, sys\nif os.fork() == 0: sys.exit(9)\n_ = os.wait()\nprint('parent')")
    assert (result.exit_code, result.output, result.notes) == (0, "parent\n", ())
    assert await is_kept(marked)


@pytest.mark.parametrize("code", ["import sys; print(repr(sys.stdin.read()))", "input()"])
async def test_standard_input_is_at_its_end(code: str, box: DockerExecutor) -> None:
    result = await run(box, code)
    assert "''" in result.output or "EOFError" in result.output
    assert result.duration_s < 1


async def test_output_is_capped(box: DockerExecutor) -> None:
    result = await run(box, "print('\\n'.join(map(str, range(200_000))))")
    assert result.truncated
    assert result.output.startswith("0\n1\n2\n")
    assert result.output.endswith("199998\n199999\n")
    assert len(result.output) < KERNEL.output_kib * 1024 + 200


@pytest.mark.parametrize(
    ("code", "exit_code", "kept"),
    [
        ("import sys; sys.exit(3)", 3, True),
        ("exit(4)", 4, True),
        ("quit()", 0, True),
        ("raise SystemExit('why')", 1, True),
        ("import os; os._exit(7)", 7, False),
        ("import os; os.kill(os.getpid(), 11)", 139, False),
        ("import os; os.execvp('sh', ['sh', '-c', 'echo other; exit 5'])", 5, False),
        ("import os; os.closerange(0, 128); raise SystemExit(6)", 6, False),
    ],
)
async def test_how_a_block_ends(code: str, exit_code: int, kept: bool, marked: DockerExecutor) -> None:
    result = await run(marked, code)
    assert result.exit_code == exit_code
    assert result.notes == (() if kept else (f"{GONE}it ended with the block",))
    assert await is_kept(marked) == kept


async def test_a_block_that_uses_up_the_descriptors_ends_the_kernel(marked: DockerExecutor) -> None:
    result = await run(marked, "files = []\nwhile True: files.append(open('/dev/null'))")
    assert result.exit_code == 1
    assert "Too many open files" in result.output
    assert result.notes == (f"{GONE}it ended with the block",)
    assert not await is_kept(marked)


async def test_what_a_block_did_to_its_streams_is_undone(marked: DockerExecutor) -> None:
    await run(marked, "import io, os, sys\nsys.stdout = io.StringIO()\nsys.stdin.close()\nos.close(2)")
    told = {"stdout": "", "stderr": ""}
    code = "print('out'); os.write(2, b'err\\n'); print(repr(sys.stdin.read()), kept)"
    await run(marked, code, on_output=lambda stream, text: told.update({stream: told[stream] + text}))
    assert told == {"stdout": "out\n'' still here\n", "stderr": "err\n"}
    await run(marked, "import tempfile; os.chdir(tempfile.mkdtemp())")
    assert (await run(marked, "print(os.getcwd())")).output == "/workspace\n"


async def test_what_is_python_is_not_read_as_a_command(marked: DockerExecutor) -> None:
    await run(marked, "echo kept > kept.txt", "bash")
    result = await run(marked, "rm -kept")
    assert "NameError: name 'rm' is not defined" in result.output
    result = await run(marked, "%%bash\ncat kept.txt")
    assert result.output == "kept\n"
    assert (await run(marked, "words = !cat kept.txt\nwords")).output == "['kept']\n"


async def test_a_named_block_and_its_file(box: DockerExecutor) -> None:
    result = await run(
        box, "# filename: tool.py\nif __name__ == '__main__':\n    print(__file__)\nimport sys; sys.argv"
    )
    assert result.output == "/workspace/tool.py\n['tool.py']\n"
    assert [change.path for change in result.files] == ["tool.py"]
    assert (await run(box, "import tool; tool.__name__")).output == "'tool'\n"


@boxes.COSTS_THE_CONTAINER
async def test_case_21_attacks_from_inside_the_kernel(marked: DockerExecutor) -> None:
    look = "cut -d' ' -f 1,4,18,19,40,41 /proc/1/stat; grep -i allowed_list /proc/1/status"
    before = await run(marked, look, "bash")
    result = await run(marked, ATTACKS)
    assert result.output.startswith("worked []\n"), result.output
    assert result.notes == (f"{GONE}the block wrote to the kernel's control socket",)
    after = await run(marked, look, "bash")
    assert (before.output, after.notes) == (after.output, ())
    assert not await is_kept(marked)


async def test_a_block_cannot_tell_its_own_end(marked: DockerExecutor) -> None:
    forge = "try: os.write(number, b'\\0' * 17)\n  except OSError: pass"
    code = f"import os\nfor number in range(3, 128):\n  {forge}\nwhile True: pass"
    result = await run(marked, code)
    assert (result.exit_code, result.timed_out) == (137, False)
    assert result.notes == (f"{GONE}the block wrote to the kernel's control socket",)
    assert not await is_kept(marked)


async def test_another_block_kills_the_kernel(marked: DockerExecutor) -> None:
    kill = "for p in /proc/[0-9]*; do n=${p#/proc/}; [ $n = 1 ] || [ $n = $$ ] || kill -9 $n; done; echo done"
    killed = await run(marked, kill, "bash")
    assert killed.output.endswith("done\n")
    # Nobody can tell whether the kernel was killed or had first done something to the block.
    assert [note for note in killed.notes if "may be forged" in note] != []
    result = await run(marked, "print('kept' in globals())")
    assert result.output == "False\n"
    assert [note for note in result.notes if "the kernel's variables are gone" in note] != []


async def test_what_is_temporary_is_wiped_and_what_is_in_the_workspace_stays(marked: DockerExecutor) -> None:
    await run(marked, "open('/tmp/t', 'w').close(); open('w', 'w').close()")
    result = await run(marked, "import os; print(os.listdir('/tmp'), sorted(os.listdir('/workspace')), kept)")
    assert result.output == "[] ['_block.py', 'w'] still here\n"


async def test_a_kernel_that_does_not_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sandbox.bundle.kernel_source", lambda: "import no_such_module")
    async with DockerExecutor(policy=KERNEL, work_dir=tmp_path) as own:
        assert (await run(own, "echo bash", "bash")).output == "bash\n"
        with pytest.raises(SandboxError, match="IPython kernel did not start"):
            await run(own, "print(1)")
    assert boxes.containers(own.container_name) == []


HARD = """
lines = [line.split(':') for line in open('/proc/self/status')]
status = {name: value.strip() for name, value in (line for line in lines if len(line) == 2)}
import os, resource
print([int(status['CapBnd'], 16), status['NoNewPrivs'], status['Seccomp'], os.getuid(), os.listdir('/sys/class/net')])
print(resource.getrlimit(resource.RLIMIT_NOFILE), resource.getrlimit(resource.RLIMIT_CORE))
print([name for name in ('tcp', 'tcp6', 'udp') if len(open(f'/proc/net/{name}').readlines()) > 1])
print([line.split()[-1] for line in open('/proc/net/unix').readlines()[1:] if '/' in line.split()[-1]])
"""


@boxes.only_runc("fewer facts are told of a process")
async def test_the_kernel_is_as_hard_as_a_block_and_listens_nowhere(box: DockerExecutor) -> None:
    result = await run(box, HARD)
    assert result.output.splitlines() == [
        "[0, '1', '2', 1000, ['lo']]",
        f"({KERNEL.open_files}, {KERNEL.open_files}) (0, 0)",
        "[]",
        "[]",
    ]


async def test_a_package_is_granted_to_a_running_kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    house = Wheelhouse(tmp_path / "house")
    house.wheel("rt_hello", {"rt_hello/__init__.py": "word = 'hello'"})
    monkeypatch.setattr("sandbox.docker_sandbox.cache_dir", lambda: tmp_path)
    async with DockerExecutor(policy=KERNEL, environ=house.environ, work_dir=tmp_path / "work") as own:
        assert "ModuleNotFoundError" in (await run(own, "kept = 1\nimport rt_hello")).output
        granted = await own.install(["rt_hello"], cancellation_token=CancellationToken())
        assert granted.problem == ""
        assert (await run(own, "import rt_hello\nprint(rt_hello.word, kept)")).output == "hello 1\n"
        child = "import subprocess, sys\n_ = subprocess.run([sys.executable, '-c', 'import rt_hello; print(1)'])"
        assert (await run(own, child)).output == "1\n"
        # A fresh one finds it, too.
        assert (await run(own, "import os; os._exit(0)")).notes == (f"{GONE}it ended with the block",)
        assert (await run(own, "import rt_hello\nprint(rt_hello.word)")).output == "hello\n"


@boxes.NO_NETWORK
async def test_a_block_with_a_network_runs_beside_the_kernel(tmp_path: Path) -> None:
    policy = boxes.policy(kernel=True, network="ask")
    async with DockerExecutor(policy=policy, work_dir=tmp_path) as own:
        await run(own, "kept = 1")
        code = "import os; print(len(os.listdir('/sys/class/net')) > 1, 'kept' in globals())"
        granted = await own.run("python", code, cancellation_token=CancellationToken(), network=True)
        assert granted.output == "True False\n"
        assert any("beside the kernel" in note for note in granted.notes)
        assert (await run(own, "print(os.listdir('/sys/class/net') if 'os' in globals() else kept)")).output == "1\n"


async def test_a_kernel_can_be_waited_for(tmp_path: Path) -> None:
    async with DockerExecutor(policy=KERNEL, work_dir=tmp_path) as own:
        await own.until_warm()
        result = await run(own, "1 + 1")
        # With ptrace, and a busy machine, gVisor takes a quarter of a second.
        assert (result.output, result.duration_s < (2 if boxes.RUNTIME else 0.5)) == ("2\n", True)
        await own.until_warm()
