"""All fifteen languages in the full image (`make image-full`): `make test-full`."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from autogen_core import CancellationToken

from sandbox.base import ExecutionResult
from sandbox.executor import DockerExecutor
from sandbox.languages import TABLE
from sandbox.policy import SandboxPolicy

pytestmark = [pytest.mark.docker, pytest.mark.asyncio(loop_scope="module")]

HELLO = {
    "python": 'print("hello")',
    "bash": "echo hello",
    "sh": "echo hello",
    "javascript": 'console.log("hello")',
    "c": '#include <stdio.h>\nint main(void) { puts("hello"); }',
    "c++": '#include <iostream>\nint main() { std::cout << "hello\\n"; }',
    "perl": 'print "hello\\n";',
    "go": 'package main\nimport "fmt"\nfunc main() { fmt.Println("hello") }',
    "rust": 'fn main() { println!("hello"); }',
    "java": 'public class Block { public static void main(String[] a) { System.out.println("hello"); } }',
    "ruby": 'puts "hello"',
    "php": '<?php echo "hello\\n";',
    "lua": 'print("hello")',
    "r": 'cat("hello\\n")',
    "typescript": 'const word: string = "hello"; console.log(word);',
}

BROKEN = {
    "c": "int main(void) { return missing; }",
    "c++": "int main() { return missing; }",
    "go": "package main\nfunc main() { missing() }",
    "rust": "fn main() { missing(); }",
    "java": "public class Block { public static void main(String[] a) { missing(); } }",
    "typescript": 'const word: number = "text"; console.log(word);',
}
"""A compile error in each compiled language: exit code not 0, and the compiler's own words."""

READS = {
    "python": "import sys\nprint(repr(sys.stdin.read()))",
    "bash": "cat | wc -c",
    "sh": "cat | wc -c",
    "javascript": "console.log(require('fs').readFileSync(0).length)",
    "c": '#include <stdio.h>\nint main(void) { printf("%d\\n", getchar()); }',
    "c++": "#include <iostream>\nint main() { std::cout << std::cin.get() << std::endl; }",
    "perl": "my $l = <STDIN>; print defined $l ? 'some' : 'end', \"\\n\";",
    "go": 'package main\nimport ("fmt"; "io"; "os")\nfunc main() { b, _ := io.ReadAll(os.Stdin); fmt.Println(len(b)) }',
    "rust": "use std::io::Read;\nfn main() { let mut s = String::new(); "
    'let n = std::io::stdin().read_to_string(&mut s).unwrap(); println!("{}", n); }',
    "java": "public class Block { public static void main(String[] a) throws Exception "
    "{ System.out.println(System.in.read()); } }",
    "ruby": "p STDIN.read",
    "php": "<?php var_dump(fgets(STDIN));",
    "lua": "print(io.read())",
    "r": 'cat(length(readLines(file("stdin"))), "\\n")',
    "typescript": "declare const require: any; console.log(require('fs').readFileSync(0).length);",
}
END = {
    **dict.fromkeys(("bash", "sh", "javascript", "go", "rust", "r", "typescript"), "0"),
    **dict.fromkeys(("c", "c++", "java"), "-1"),
    "python": "''",
    "perl": "end",
    "ruby": '""',
    "php": "bool(false)",
    "lua": "nil",
}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def box(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[DockerExecutor]:
    policy = SandboxPolicy(variant="full", memory_mib=2048, timeout_s=60)
    executor = DockerExecutor(policy=policy, work_dir=tmp_path_factory.mktemp("work"))
    await executor.start()
    yield executor
    await executor.stop()


async def run(box: DockerExecutor, language: str, code: str) -> ExecutionResult:
    return await box.run(language, code, cancellation_token=CancellationToken())


async def test_the_table_is_covered(box: DockerExecutor) -> None:
    assert set(HELLO) == set(READS) == set(END) == {language.name for language in TABLE} == set(box.info.languages)
    assert len(HELLO) == 15


@pytest.mark.parametrize("language", HELLO)
async def test_hello(box: DockerExecutor, language: str) -> None:
    result = await run(box, language, HELLO[language])
    assert (result.exit_code, result.output) == (0, "hello\n")


@pytest.mark.parametrize("language", BROKEN)
async def test_a_compile_error_is_the_programs_output(box: DockerExecutor, language: str) -> None:
    result = await run(box, language, BROKEN[language])
    assert result.exit_code not in (0, 124, 137)
    assert ("missing" in result.output) or ("number" in result.output)


@pytest.mark.parametrize("language", READS)
async def test_what_reads_gets_the_end_of_file(box: DockerExecutor, language: str) -> None:
    result = await run(box, language, READS[language])
    assert (result.exit_code, result.output.strip()) == (0, END[language])
