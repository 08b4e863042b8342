"""An OpenAI-compatible server on loopback that follows a script: real HTTP, so that the real client is what is tested.

    with ScriptedServer(["```python\\nprint(1)\\n```", "Done.\\n\\nSTOP"]) as server:
        ...                                  # OPENAI_BASE_URL=server.base_url
        assert "print(1)" in server.requests[1].text

Requests of the safety reviewer are told by the JSON contract that the program adds; unless the script says otherwise
they are answered with `allow` for every block. A script that runs out answers 400 and fails the `with` statement.
"""

from tests.scripted_server.script import Reply, Request, Script
from tests.scripted_server.server import ScriptedServer

__all__ = ["Reply", "Request", "Script", "ScriptedServer"]
