"""Count lines, words and bytes of files, like wc."""

import argparse
import sys
from pathlib import Path


def count(path: Path) -> tuple[int, int, int]:
    data = path.read_bytes()
    return data.count(b"\n"), len(data.split()), len(data)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", type=Path, default=[Path(__file__)])
    parser.add_argument("-l", "--lines", action="store_true", help="lines only")
    parser.add_argument("-o", "--output", type=argparse.FileType("w"), default=sys.stdout)
    arguments = parser.parse_args(argv)
    status = 0
    for path in arguments.files:
        try:
            lines, words, size = count(path)
        except OSError as error:
            print(f"{path}: {error.strerror}", file=sys.stderr)
            status = 1
            continue
        print(lines if arguments.lines else f"{lines:8}{words:8}{size:8} {path}", file=arguments.output)
    return status


if __name__ == "__main__":
    sys.exit(main())
