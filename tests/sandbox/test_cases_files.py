"""Abuse cases 13 and 22-30 on the real sandbox: names, links and what travels between host and workspace."""

import os
import socket
from pathlib import Path

import pytest

from sandbox.executor import DockerExecutor
from tests.sandbox import box as boxes
from tests.sandbox.box import run

pytestmark = [pytest.mark.docker, pytest.mark.asyncio(loop_scope="module")]


async def test_case_13_only_regular_files_come_back(box: DockerExecutor) -> None:
    result = await run(
        box,
        """
echo data > plain.txt
ln -s /etc/passwd link.txt
ln -s /etc directory-link
ln plain.txt hard.txt
mkfifo pipe
mknod device c 1 3 || echo no device
python3 -c "import socket; socket.socket(socket.AF_UNIX).bind('sock')"
echo hidden > .hidden
mkdir -p sub/.git && echo x > sub/.git/hooks
""",
        "bash",
    )
    assert "no device" in result.output
    assert {change.path for change in result.files} == {"plain.txt", "hard.txt"}
    assert boxes.names(box.work_dir) == {"plain.txt", "hard.txt"}
    assert set(result.left_behind) == {
        "link.txt: a link",
        "directory-link: a link",
        "pipe: a FIFO",
        "sock: a socket",
        ".hidden: hidden",
        "sub/.git: hidden",
    }
    again = await run(box, "true", "bash")
    assert again.left_behind == ()


async def test_case_13_a_file_over_the_limit_is_named(box: DockerExecutor) -> None:
    result = await run(box, "head -c 9M /dev/zero > big.bin; echo small > small.txt", "bash")
    assert [change.path for change in result.files] == ["small.txt"]
    assert len(result.left_behind) == 1
    assert result.left_behind[0].startswith("big.bin: 9437184 bytes, over the limit")


@pytest.mark.parametrize("name", ["../../x", "/etc/x", "/workspace/x.py", "a/../../x", "..\\x", "C:\\x"])
async def test_case_22_a_name_outside_is_refused(name: str, box: DockerExecutor) -> None:
    result = await run(box, f"# filename: {name}\nopen('/workspace/ran', 'w')")
    assert result.exit_code != 0
    assert "Filename is not in the workspace" in result.output
    assert boxes.names(box.work_dir) == set()


@pytest.mark.parametrize(
    "name",
    ["-cprint(1)", "-m", ".bashrc", "a/.ssh/x", "x;id", "$(id)", "a b\u202egpj.py", "x" * 300, "--help", "x\x1b[31m"],
)
async def test_case_23_an_odd_name_is_refused_and_the_body_runs(name: str, box: DockerExecutor) -> None:
    result = await run(box, f"# filename: {name}\nimport sys; print('body', sys.argv)")
    assert result.output == "body ['_block.py']\n"
    assert any("was refused" in note for note in result.notes)
    assert boxes.names(box.work_dir) == set()


async def test_a_plain_name_is_kept(box: DockerExecutor) -> None:
    result = await run(box, "# filename: tools/helper.py\nVALUE = 7\nprint(__file__)")
    assert result.output == "/workspace/tools/helper.py\n"
    assert boxes.names(box.work_dir) == {"tools/helper.py"}
    assert (await run(box, "from tools.helper import VALUE; print(VALUE)")).output.endswith("7\n")


async def test_case_24_a_link_on_the_host_is_not_followed(box: DockerExecutor, tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("precious")
    outside = tmp_path / "outside"
    outside.mkdir()
    (box.work_dir / "result.txt").symlink_to(target)
    (box.work_dir / "dangling.txt").symlink_to(tmp_path / "made")
    (box.work_dir / "folder").symlink_to(outside)
    (box.work_dir / "_block.py").symlink_to(target)
    try:
        result = await run(
            box,
            "import os\nos.mkdir('folder')\n"
            "for name in ('result.txt', 'dangling.txt', 'folder/x', 'fine.txt'): open(name, 'w').write('theirs')",
        )
        assert target.read_text() == "precious"
        assert not (tmp_path / "made").exists()
        assert list(outside.iterdir()) == []
        assert [change.path for change in result.files] == ["fine.txt"]
        assert {name.split(":")[0] for name in result.left_behind} >= {"result.txt", "dangling.txt", "folder/x"}
    finally:
        for name in ("result.txt", "dangling.txt", "folder", "_block.py"):
            (box.work_dir / name).unlink()


async def test_case_24_a_link_in_the_workspace_is_not_followed(box: DockerExecutor) -> None:
    await run(box, "ln -s /tmp/elsewhere _block.py; ln -s /home/sandbox data.txt; mkdir _block_2.py", "bash")
    (box.work_dir / "data.txt").write_text("from the host")
    result = await run(box, "import os; print(open('data.txt').read(), os.path.islink('data.txt'), os.listdir('/tmp'))")
    assert result.output == "from the host False []\n"


async def test_case_25_a_name_that_shadows_a_module_is_flagged(box: DockerExecutor) -> None:
    code = "# filename: json.py\nprint('mine')"
    assert any("json" in warning for warning in box.warnings("python", code))
    assert box.warnings("python", "# filename: report.py\nprint('mine')") == ()
    await run(box, code)
    assert any("json.py" in warning for warning in box.warnings("python", "import json"))
    assert box.warnings("bash", "echo json") == ()


async def test_case_26_files_belong_to_the_user(box: DockerExecutor) -> None:
    await run(
        box, "mkdir deep; echo x > deep/file; chmod 4777 deep/file; chmod 000 deep; echo x > shut; chmod 0 shut", "bash"
    )
    for path in [box.work_dir / "deep", box.work_dir / "deep/file", box.work_dir / "shut"]:
        status = path.stat()
        assert (status.st_uid, status.st_gid) == (os.getuid(), os.getgid())
        assert status.st_mode & 0o7133 == 0 or path.is_dir()
    assert not [name for name in os.listdir(box.work_dir) if name.startswith(".")]


@boxes.only_runc("the error is that of permissions")
async def test_case_27_nothing_else_can_be_written(box: DockerExecutor) -> None:
    result = await run(
        box,
        """
import os
for folder, folders, files in os.walk('/'):
    if folder.startswith(('/proc', '/sys')):
        folders[:] = []
        continue
    if folder.startswith(('/workspace', '/tmp', '/home/sandbox', '/dev/shm')):
        continue
    for path in [folder] + [os.path.join(folder, name) for name in files if not folder.startswith('/dev')]:
        try:
            descriptor = os.open(path + '/x' if path == folder else path, os.O_WRONLY | os.O_CREAT)
        except OSError:
            continue
        print('written', path)
for path in ('/tmp/a', '/dev/shm/a', os.environ['HOME'] + '/a'):
    open(path, 'w').write('x')
try:
    open('/usr/x', 'w')
except OSError as error:
    print(error.strerror)
""",
    )
    assert result.output == "Read-only file system\n"


@boxes.only_runc("System V memory is refused, as test_gvisor.py shows")
async def test_case_27_what_a_block_hides_is_wiped_too(box: DockerExecutor) -> None:
    code = """
mkdir -p /tmp/a/b/c ~/.config/x /dev/shm/d && touch /tmp/a/b/c/f ~/.bashrc ~/.config/x/y /dev/shm/d/e
chmod 000 /tmp/a/b ~/.config /dev/shm/d; chmod 555 /tmp; chmod 500 ~
ipcmk -M 100000 -S 3 -Q
"""
    result = await run(box, code, "bash")
    assert result.exit_code == 0


async def test_case_28_the_hosts_environment_and_home_are_not_there(
    box: DockerExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    result = await run(
        box,
        """
import glob, os
print(sorted(os.environ))
for path in glob.glob('/proc/*/environ') + glob.glob('/proc/*/cmdline'):
    try:
        text = open(path, 'rb').read()
    except OSError:
        continue
    assert b'secret' not in text
print(os.path.exists('/root/.ssh'), os.path.exists('/work'), os.listdir('/home'), os.uname().nodename)
""",
    )
    assert "sk-very-secret" not in result.output
    assert "OPENAI_API_KEY" not in result.output
    assert result.output.endswith("False False ['sandbox'] sandbox\n")
    assert socket.gethostname() == "sandbox" or socket.gethostname() not in result.output


async def test_case_28_only_named_variables_go_in(tmp_path: Path) -> None:
    environ = {"WANTED": "yes", "SECRET": "no"}
    policy = boxes.policy(env=("WANTED", "MISSING"))
    async with DockerExecutor(policy=policy, environ=environ, work_dir=tmp_path) as own:
        result = await run(own, "env", "bash")
        assert "WANTED=yes" in result.output
        assert "SECRET" not in result.output
        assert "MISSING" not in result.output


async def test_case_29_no_socket_no_kernel_memory_no_mounts(box: DockerExecutor) -> None:
    result = await run(
        box,
        """
import os
for path in ('/var/run/docker.sock', '/run/docker.sock', '/run/containerd/containerd.sock'):
    assert not os.path.exists(path), path
for path in ('/proc/kcore', '/proc/keys', '/dev/mem', '/dev/kmsg', '/proc/sysrq-trigger', '/dev/sda', '/dev/vda'):
    try:
        assert open(path, 'rb').read(16) == b'', path
    except OSError:
        pass
for line in open('/proc/self/mounts'):
    device, place, kind, options = line.split()[:4]
    if device.startswith('/dev/') and options.split(',')[0] != 'ro':
        print(line)
""",
    )
    assert (result.exit_code, result.output) == (0, "")


PLANTED = ("numpy.py", "sitecustomize.py", "usercustomize.py", "encodings.py", "x.pth")


async def test_case_30_planted_modules_are_told_or_ignored(box: DockerExecutor) -> None:
    plant = f"""
import os, site
for name in {PLANTED}:
    open(name, 'w').write('import os; os.write(1, b"planted")')
user = site.getusersitepackages()
os.makedirs(user)
for name in {PLANTED}:
    open(os.path.join(user, name), 'w').write('import os; os.write(1, b"planted")')
"""
    assert (await run(box, plant)).exit_code == 0
    assert (await run(box, "print('clean')")).output == "clean\n"
    assert any("numpy.py" in warning for warning in box.warnings("python", "import numpy"))


LEFT_BEHIND = {
    "a link": "echo 'print(1)' > evil.txt; ln -s evil.txt colorsys.py",
    "a file over the limit": "head -c 9M /dev/zero | tr '\\0' '#' > colorsys.py",
    "a link to a directory": "mkdir -p evil; touch evil/__init__.py; ln -s evil colorsys",
    "a package with a link": "mkdir colorsys; touch x.txt; ln -s ../x.txt colorsys/__init__.py",
    "compiled code": "echo x > report.py; mkdir __pycache__; touch __pycache__/colorsys.cpython-311.pyc",
}


@pytest.mark.parametrize("kind", LEFT_BEHIND)
async def test_case_30_a_planted_module_that_does_not_come_back_is_told(kind: str, box: DockerExecutor) -> None:
    await run(box, LEFT_BEHIND[kind], "bash")
    assert any("module colorsys" in warning for warning in box.warnings("python", "print(1)"))
    await run(box, "rm -rf colorsys* __pycache__", "bash")
    assert box.warnings("python", "import colorsys") == ()


async def test_case_30_a_local_module_that_does_not_come_back_is_told(box: DockerExecutor) -> None:
    await run(box, "mkdir .own; touch .own/__init__.py; ln -s .own tools", "bash")
    assert any("tools" in warning for warning in box.warnings("python", "import tools"))


RUNS_IT = {
    "an import": ("python", "import helper\nhelper.go()"),
    "an import by another word": ("python", "from helper import go"),
    "an interpreter": ("bash", "python3 ./helper.py --fast"),
    "a program of Python's": ("python", "import runpy; runpy.run_path('/workspace/helper.py')"),
    "a process": ("python", "import subprocess; subprocess.run(['python3', 'helper.py'])"),
    "a substitution": ("bash", "echo $(python3 helper.py)"),
}


@pytest.mark.parametrize("kind", RUNS_IT)
async def test_case_40_code_that_another_block_changed_is_flagged(kind: str, box: DockerExecutor) -> None:
    (box.work_dir / "helper.py").write_text("def go(): print('mine')\n")
    language, code = RUNS_IT[kind]
    assert (await run(box, code, language)).exit_code == 0
    assert box.warnings(language, code) == ()  # it is the user's own
    await run(box, "echo 'def go(): print(1)' > helper.py", "bash")
    assert any("helper.py" in warning and "earlier block" in warning for warning in box.warnings(language, code))
    await run(box, "rm helper.py", "bash")


async def test_data_that_another_block_made_is_not_flagged(box: DockerExecutor) -> None:
    await run(box, "echo a,b > table.csv; echo '# notes' > notes.md", "bash")
    assert box.warnings("python", "print(open('table.csv').read())") == ()
    assert box.warnings("bash", "wc -l table.csv notes.md") == ()


async def test_a_directory_is_no_package_by_its_name(box: DockerExecutor) -> None:
    await run(box, "mkdir test; echo 1 > test/out.txt", "bash")
    assert box.warnings("python", "print(1)") == ()


async def test_what_was_planted_before_the_start_is_told(tmp_path: Path) -> None:
    (tmp_path / "colorsys.py").write_text("x")
    (tmp_path / "json").mkdir()
    (tmp_path / "json/__init__.py").write_text("x")
    (tmp_path / "test").mkdir()
    resumed = DockerExecutor(policy=boxes.SMALL, work_dir=tmp_path)
    told = resumed.warnings("python", "import helper")
    assert [warning.split(",")[0] for warning in sorted(told)] == ["colorsys.py", "json/__init__.py"]


async def test_case_30_odd_names_come_back_or_are_named(box: DockerExecutor) -> None:
    result = await run(
        box,
        r"""
names = [b'new\nline', b'quote\'"', b'q' * 255, b'bytes\xff\xfe', b'esc\x1b[31m', 'snow\u2603'.encode(), b'back\\slash',
         'bidi\u202egpj.exe'.encode(), b'-rf', b' blank ']
for name in names:
    open(b'/workspace/' + name, 'w').write('x')
""",
    )
    back = {change.path for change in result.files}
    assert back == {"quote'\"", "q" * 255, "snow☃", "-rf", " blank "}
    assert boxes.names(box.work_dir) == back
    assert len(result.left_behind) == 5
    assert all(name.isprintable() for name in result.left_behind)


async def test_files_of_the_host_go_in(box: DockerExecutor, tmp_path: Path) -> None:
    data = tmp_path / "data"
    (data / ".git").mkdir(parents=True)
    (data / ".git/config").write_text("x")
    (data / ".env").write_text("KEY=1")
    (data / "table.csv").write_text("a,b\n1,2\n")
    (data / "passwd").symlink_to("/etc/passwd")
    (tmp_path / ".env").write_text("KEY=2")
    left = await box.put_files([data, tmp_path / ".env", tmp_path / "missing.csv"])
    assert set(left) == {"data/passwd: not a regular file", ".env: hidden", "missing.csv: No such file or directory"}
    result = await run(box, "find . -type f | sort; cat data/table.csv", "bash")
    assert result.output == "./_block.sh\n./data/table.csv\na,b\n1,2\n"
    assert result.files == ()


async def test_the_hosts_changes_are_seen_by_the_next_block(box: DockerExecutor) -> None:
    path = box.work_dir / "notes.txt"
    path.write_text("one")
    assert (await run(box, "cat notes.txt", "bash")).output == "one"
    path.write_text("two, longer")
    assert (await run(box, "cat notes.txt", "bash")).output == "two, longer"
    path.unlink()
    assert "No such file" in (await run(box, "cat notes.txt", "bash")).output


async def test_the_users_own_file_survives_its_deletion_inside(box: DockerExecutor) -> None:
    path = box.work_dir / "mine.txt"
    path.write_text("mine")
    result = await run(box, "rm mine.txt; echo x > made.txt", "bash")
    assert path.read_text() == "mine"
    assert result.left_behind == ("mine.txt: deleted in the sandbox; your own file is kept",)
    result = await run(box, "ls; rm made.txt", "bash")
    assert result.output == "_block.sh\nmade.txt\n"
    assert [(change.path, change.change) for change in result.files] == [("made.txt", "deleted")]
    path.unlink()
