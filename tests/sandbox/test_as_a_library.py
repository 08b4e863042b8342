"""The executor in place of AutoGen's own: its constructor, its component form, its results."""

import os
from pathlib import Path
from typing import Any

import pytest
from autogen_core import CancellationToken
from autogen_core.code_executor import CodeBlock, CodeExecutor, with_requirements
from autogen_ext.code_executors.docker import DockerCommandLineCodeExecutor
from docker.types import DeviceRequest

from sandbox import DockerExecutor, SandboxPolicy
from tests.sandbox import box as boxes
from utils.errors import ConfigurationError

pytestmark = [pytest.mark.docker, pytest.mark.asyncio(loop_scope="module")]


async def execute(executor: CodeExecutor, *blocks: tuple[str, str]) -> Any:
    return await executor.execute_code_blocks(
        [CodeBlock(language=language, code=code) for language, code in blocks], CancellationToken()
    )


async def test_blocks_run_up_to_the_first_that_fails(box: DockerExecutor) -> None:
    assert isinstance(box, DockerCommandLineCodeExecutor)
    result = await execute(box, ("python", "print(1)"), ("sh", "echo 2; exit 7"), ("python", "print(3)"))
    assert (result.exit_code, result.output) == (7, "1\n2\n")
    named = await execute(box, ("python", "# filename: made.py\nprint('x')"))
    assert named.code_file == str(box.work_dir / "made.py")
    assert (box.work_dir / "made.py").is_file()


async def test_what_is_no_block(box: DockerExecutor) -> None:
    with pytest.raises(ValueError, match="No code blocks"):
        await execute(box)
    with pytest.raises(ValueError, match="Unsupported language"):
        await execute(box, ("cobol", "x"))
    outside = await execute(box, ("python", "# filename: /tmp/x.py\nprint(1)"))
    assert (outside.exit_code, outside.output) == (1, "Filename is not in the workspace")


async def test_code_runs_as_it_was_given(box: DockerExecutor) -> None:
    code = "import sys\nsource = open(sys.argv[0]).read()\n# pip install x\nprint(repr(source[-20:]))\n! = 1" + "\r\n"
    result = await execute(box, ("python", code))
    assert "SyntaxError" in result.output  # AutoGen's would have changed a line that starts like this one
    result = await execute(box, ("bash", "cat $0 | od -c | tail -n 2 # \r"))
    assert "\\r" in result.output


async def test_a_time_out_looks_like_autogens(tmp_path: Path) -> None:
    async with DockerExecutor(policy=boxes.SMALL, timeout=1, work_dir=tmp_path) as own:
        assert own.timeout == 1
        result = await execute(own, ("bash", "sleep 100"))
        assert (result.exit_code, result.output) == (124, "\n Timeout")


async def test_it_needs_a_start(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="Must first be started"):
        await execute(DockerExecutor(work_dir=tmp_path), ("python", "print(1)"))


async def test_a_temporary_work_directory_goes_with_it() -> None:
    async with DockerExecutor(policy=boxes.SMALL) as own:
        await execute(own, ("bash", "echo x > made"))
        directory = own.work_dir
        assert (directory / "made").is_file()
    assert not directory.exists()


async def test_restart_gives_a_fresh_container(own_box: DockerExecutor) -> None:
    before = boxes.inspect(own_box.container_name, "{{.Id}}")
    await execute(own_box, ("bash", "echo x > kept; ln -s kept lost"))
    await own_box.restart()
    assert boxes.inspect(own_box.container_name, "{{.Id}}") != before
    assert (await execute(own_box, ("bash", "ls"))).output == "_block.sh\nkept\n"


def double(number: int) -> int:
    """Twice the number."""
    return 2 * number


@with_requirements(python_packages=["a-package-that-is-not-there"])
def needy() -> int:
    import a_package_that_is_not_there  # type: ignore[import-not-found]  # noqa: F401  # that is what is tested

    return 1


@with_requirements(global_imports=["a_package_that_is_not_there"], python_packages=["a-package-that-is-not-there"])
def needy_at_once() -> int:
    return 1


async def test_functions(tmp_path: Path) -> None:
    async with DockerExecutor(policy=boxes.SMALL, functions=[double], work_dir=tmp_path) as own:
        result = await execute(own, ("python", "from functions import double\nprint(double(21))"))
        assert result.output == "42\n"


@pytest.mark.parametrize("function", [needy, needy_at_once], ids=["when it is called", "when it is loaded"])
async def test_functions_whose_packages_are_missing(function: Any, tmp_path: Path) -> None:
    async with DockerExecutor(policy=boxes.SMALL, functions=[function], work_dir=tmp_path) as own:
        with pytest.raises(ValueError, match="they need a-package-that-is-not-there"):
            await execute(own, ("python", "print(1)"))


@pytest.mark.parametrize(
    "argument",
    [
        {"bind_dir": "/elsewhere"},
        {"extra_volumes": {"/": {"bind": "/host"}}},
        {"device_requests": [DeviceRequest(count=-1)]},
        {"init_command": "true"},
        {"auto_remove": False},
        {"stop_container": False},
        {"extra_hosts": {"a": "host-gateway"}},
    ],
    ids=lambda argument: next(iter(argument)),
)
async def test_arguments_that_would_break_a_promise_are_refused(argument: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=next(iter(argument))):
        DockerExecutor(work_dir=tmp_path, **argument)


async def test_what_is_dumped_loads_back_as_ours(tmp_path: Path) -> None:
    policy = SandboxPolicy(memory_mib=2048, warm=True)
    executor = DockerExecutor(policy=policy, timeout=7, work_dir=tmp_path, container_name="roundtable-x")
    dumped = executor.dump_component()
    assert dumped.provider == "sandbox.executor.DockerExecutor"
    for loader in (CodeExecutor, DockerCommandLineCodeExecutor, DockerExecutor):
        loaded = loader.load_component(dumped.model_dump())
        assert type(loaded) is DockerExecutor
        assert loaded.policy == policy.model_copy(update={"timeout_s": 7})
        assert (loaded.container_name, loaded.work_dir) == ("roundtable-x", tmp_path)
        assert loaded.policy.digest == executor.policy.digest


async def test_another_programs_container_is_not_taken_over(tmp_path: Path) -> None:
    name = f"roundtable-taken-{os.getpid()}"
    async with DockerExecutor(policy=boxes.SMALL, container_name=name, work_dir=tmp_path) as first:
        # The same name again is ours to take, as with AutoGen's.
        async with DockerExecutor(policy=boxes.SMALL, container_name=name, work_dir=tmp_path) as second:
            assert (await execute(second, ("bash", "echo second"))).output == "second\n"
        assert first.container_name == second.container_name
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sandbox.container.OWNER_LABEL", "somebody.else")
        foreign = DockerExecutor(policy=boxes.SMALL, container_name=name, work_dir=tmp_path)
        await foreign.start()
    try:
        with pytest.raises(ConfigurationError, match="Another container is named"):
            await DockerExecutor(policy=boxes.SMALL, container_name=name, work_dir=tmp_path).start()
    finally:
        await foreign.stop()


LANGUAGES = {
    "python": "print('hello')",
    "bash": "echo hello",
    "sh": "echo hello",
    "javascript": "console.log('hello')",
    "c": '#include <stdio.h>\nint main(void) { puts("hello"); }',
    "c++": '#include <iostream>\nint main() { std::cout << "hello\\n"; }',
    "perl": 'print "hello\\n";',
}
STANDARD_INPUT = {
    "python": "import sys; print(len(sys.stdin.read()))",
    "bash": "wc -c",
    "sh": "wc -c",
    "javascript": "console.log(require('fs').readFileSync(0).length)",
    "c": '#include <stdio.h>\nint main(void) { printf("%d\\n", getchar() == EOF ? 0 : 1); }',
    "c++": "#include <iostream>\nint main() { std::cout << (std::cin.get() == EOF ? 0 : 1) << '\\n'; }",
    "perl": "my @lines = <STDIN>; print scalar(@lines), qq(\\n);",
}


@pytest.mark.parametrize("language", LANGUAGES)
async def test_every_language_of_the_default_image(language: str, box: DockerExecutor) -> None:
    result = await execute(box, (language, LANGUAGES[language]), (language, STANDARD_INPUT[language]))
    assert (result.exit_code, result.output) == (0, "hello\n0\n")
    assert set(box.languages.values()) >= set(LANGUAGES)


@pytest.mark.parametrize("language", ["c", "c++"])
async def test_a_compile_error_is_the_programs_output(language: str, box: DockerExecutor) -> None:
    result = await boxes.run(box, "int main() { return nonsense; }", language)
    assert result.exit_code == 1
    assert "nonsense" in result.output
    assert result.files == ()


async def test_the_compilers_time_limit_is_its_own(tmp_path: Path) -> None:
    async with DockerExecutor(policy=boxes.policy(timeout_s=20, compile_timeout_s=1), work_dir=tmp_path) as own:
        await boxes.run(own, "mkfifo endless.h", "bash")
        result = await boxes.run(own, '#include "endless.h"', "c")
        assert (result.exit_code, result.timed_out) == (124, True)
        assert 1 <= result.duration_s < 5
