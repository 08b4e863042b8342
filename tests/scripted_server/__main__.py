"""Run the server for a program in another process: `python -m tests.scripted_server SCRIPT.json [--port 0]`.

SCRIPT.json holds a list of replies, or an object with `replies`, `refuse` and `key`. The first line on standard output
is the base URL. It ends with its standard input. `--log FILE` appends each request's body as a JSON line.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from tests.scripted_server.script import Request
from tests.scripted_server.server import ScriptedServer


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.scripted_server")
    parser.add_argument("script", type=Path)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--log", type=Path)
    arguments = parser.parse_args()
    script = json.loads(arguments.script.read_text(encoding="utf-8"))
    options = script if isinstance(script, dict) else {"replies": script}

    def log(request: Request) -> None:
        if arguments.log is not None:
            with arguments.log.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"to": request.to, **request.body}) + "\n")

    server = ScriptedServer(**options, port=arguments.port, on_request=log).start()
    sys.stdout.write(f"{server.base_url}\n")
    sys.stdout.flush()
    sys.stdin.read()
    server.stop()


main()
