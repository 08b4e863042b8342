"""The code executor: asks where the policy says so, and runs what the gate hands out. Nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NoReturn, cast

from autogen_agentchat.agents import ApprovalRequest, ApprovalResponse
from autogen_agentchat.agents import CodeExecutorAgent as StockCodeExecutorAgent
from autogen_agentchat.base import Response
from autogen_agentchat.messages import BaseAgentEvent, BaseChatMessage
from autogen_core import CancellationToken
from autogen_core.code_executor import CodeBlock as StockCodeBlock
from autogen_core.code_executor import CodeExecutor, CodeResult
from pydantic import BaseModel

from agents import run_report
from agents.code_generator_agent import NAME as GENERATOR
from agents.desk import linked
from agents.grants import MAX_GRANTS
from agents.live_output import LiveOutput
from agents.messages import passing, say
from agents.parts import Parts
from agents.run_approval import Ruling, RunApproval
from agents.task_state import Proposal, TaskState
from safety.code_blocks import CodeBlock
from sandbox.base import ExecutionResult
from sessions.events import ErrorEvent, ExecutionEvent, FileInfo, NoticeEvent
from sessions.progress import Step
from utils.errors import NotApprovedError, SandboxError

NAME = "code_executor"

NOT_APPROVED = "Not run: code reaches this executor only through the gate, as an approved block of the proposal."


class CodeExecutorConfig(BaseModel):
    """A gated executor has no saved form: see `GatedCodeExecutorAgent`."""


def _refuse(request: ApprovalRequest) -> ApprovalResponse:
    return ApprovalResponse(approved=False, reason=NOT_APPROVED)


class GatedCodeExecutorAgent(StockCodeExecutorAgent):
    """AutoGen's `CodeExecutorAgent`, whose only way to code is the gate.

    Messages are never searched for code; the inherited methods that would run a block refuse. It cannot be dumped as a
    component: what loads back would have no gate. Its state holds the gate's and the round's.
    """

    component_config_schema = CodeExecutorConfig  # type: ignore[assignment]  # not AutoGen's: nothing loads as stock
    component_provider_override = "agents.code_executor_agent.GatedCodeExecutorAgent"

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        super().__init__(
            NAME,
            code_executor=cast(CodeExecutor, parts.sandbox),
            description="Runs approved code in the sandbox.",
            sources=[GENERATOR],
            approval_func=_refuse,
        )

    async def on_messages_stream(
        self, messages: Sequence[BaseChatMessage], cancellation_token: CancellationToken
    ) -> AsyncGenerator[BaseAgentEvent | BaseChatMessage | Response, None]:
        """Run the approved blocks of the proposal, or pass where there are none."""
        async for item in self._parts.desk.guard(self._turn(cancellation_token)):
            yield item

    async def execute_code_block(
        self, code_blocks: list[StockCodeBlock], cancellation_token: CancellationToken
    ) -> CodeResult:
        """Refuse: AutoGen's own way to run blocks goes round the gate."""
        return CodeResult(exit_code=1, output=NOT_APPROVED)

    async def _turn(self, token: CancellationToken) -> AsyncGenerator[Response, None]:
        proposal = self._parts.state.proposal
        if proposal is None:
            yield Response(chat_message=passing(NAME))
        elif proposal.to_run:
            report = await self._run_proposal(proposal, token)
            yield Response(chat_message=say(NAME, report, "result"))
        elif proposal.unrunnable and self._parts.state.stop is None:
            report = f"{proposal.unrunnable} {self._supported()}"
            self._parts.state.note_failure((), proposal.unrunnable, self._parts.retries)
            yield Response(chat_message=say(NAME, report, "result"))
        else:
            if proposal.quotation:
                text = "This code has already run in this task. Shown again, it is not run again."
                self._parts.desk.emit(NoticeEvent(source=NAME, kind="quotation", text=text))
            yield Response(chat_message=passing(NAME))

    async def _run_proposal(self, proposal: Proposal, token: CancellationToken) -> str:
        state = self._parts.state
        approval = RunApproval(self._parts, proposal, token)
        rulings = await approval.decide()
        reports: list[str] = []
        digests = tuple(ruling.block.digest for ruling in rulings)
        for ruling in rulings:
            if not ruling.approved:
                reports.append(self._not_run(proposal, ruling, digests))
                break
            if problem := await self._install(approval, ruling):
                reports.append(f"Block {ruling.block.index + 1} ({ruling.block.language}) was not run: {problem}")
                state.note_failure(digests, problem, self._parts.retries)
                break
            result = await self._run_granted(approval, proposal, ruling, token, reports)
            if result is None:
                return "\n\n".join(reports)
            if result.exit_code != 0:
                state.note_failure(digests, result.output, self._parts.retries)
                break
        else:
            state.note_success(digests)
        if proposal.unsupported:
            names = ", ".join(f"`{name}`" for name in proposal.unsupported)
            reports.append(f"Not run, because it is no language of this sandbox: {names}. {self._supported()}")
        return "\n\n".join(reports)

    async def _install(self, approval: RunApproval, ruling: Ruling) -> str:
        """Have installed what was granted for a block, and what its imports need that is allowed. Returns why not."""
        grants = approval.grants
        for package in grants.foreseen(ruling.block):
            await grants.install([package])  # where that fails, the run tells what it lacks
        return (await grants.install(ruling.packages)).problem if ruling.packages else ""

    async def _run_granted(
        self, approval: RunApproval, proposal: Proposal, ruling: Ruling, token: CancellationToken, reports: list[str]
    ) -> ExecutionResult | None:
        """Run a block, and once more for each package that it lacks and is granted. None as `_run_block`."""
        for text in approval.untold(ruling.block):
            self._parts.desk.emit(NoticeEvent(source=NAME, kind="workspace", text=text))
        for grants_left in reversed(range(MAX_GRANTS + 1)):
            result = await self._run_block(proposal, ruling, token, reports)
            if result is None:
                return None
            reports.append(run_report.ran(ruling.block, result, ruling.change))
            missing = approval.grants.missing(ruling.block, result) if grants_left else None
            if missing is None:
                break
            again, told = await approval.decide_missing(ruling, missing)
            reports.append(told)
            if again is None:
                break
            ruling = again
        return result

    def _not_run(self, proposal: Proposal, ruling: Ruling, digests: tuple[str, ...]) -> str:
        state = self._parts.state
        if ruling.denied:
            if state.stop is None:
                state.note_denial(digests, self._parts.retries)
        else:
            state.reset_counters()
            state.outcome = "refused"
            state.feedback = ruling.reason or state.feedback
        after = [block for block in proposal.to_run if block.index > ruling.block.index]
        return run_report.not_run(ruling, state.review_of(ruling.block.index), after)

    async def _run_block(
        self, proposal: Proposal, ruling: Ruling, token: CancellationToken, reports: list[str]
    ) -> ExecutionResult | None:
        """Run one approved block. None when the sandbox failed and a fresh one took its place."""
        desk, sandbox, block = self._parts.desk, self._parts.sandbox, ruling.block
        # Shielded: a start that is broken off could leave a container that nobody knows of.
        await linked(asyncio.shield(sandbox.start()), token)
        taken = self._parts.gate.take(proposal.message, block.index, block.digest)
        output = LiveOutput(desk.emit, proposal.message, block.index)
        desk.progress(Step(NAME, "running", "started", detail=block.language))
        try:
            result = await sandbox.run(
                taken.language, taken.code, cancellation_token=token, on_output=output, network=ruling.network
            )
        except SandboxError as error:
            output.flush()
            await self._replace_sandbox(block, error, token, reports)
            return None
        except BaseException:
            output.drop()
            raise
        output.flush()
        desk.progress(Step(NAME, "running", "ended", duration_s=result.duration_s))
        desk.emit(_event(proposal.message, taken, result))
        result = replace(result, notes=(*result.notes, *run_report.unseen_plot(block, result, sandbox.info)))
        for note in result.notes:
            if note not in result.output:
                desk.emit(NoticeEvent(source=NAME, kind="sandbox", text=f"{note[:1].upper()}{note[1:]}"))
        if result.cancelled or token.is_cancelled():
            raise asyncio.CancelledError
        return result

    async def _replace_sandbox(
        self, block: CodeBlock, error: SandboxError, token: CancellationToken, reports: list[str]
    ) -> None:
        """Report the sandbox's own failure and start a fresh one. Raises when that fails, or fails again and again."""
        state = self._parts.state
        self._parts.desk.emit(ErrorEvent(source=NAME, kind=type(error).__name__, text=error.message, hint=error.hint))
        state.reset_counters()
        state.sandbox_failures += 1
        state.outcome = "sandbox"
        if state.sandbox_failures > 1:
            raise error
        await linked(asyncio.shield(self._parts.sandbox.start()), token)
        reports.append(
            f"The sandbox itself failed while block {block.index + 1} ({block.language}) ran: {error.message} This is "
            "no fault of the code. A fresh sandbox is ready; what the block did until then is lost."
        )

    def _supported(self) -> str:
        return f"Languages that run here: {', '.join(self._parts.sandbox.info.languages)}."

    async def on_reset(self, cancellation_token: CancellationToken) -> None:
        """Forget the task."""
        self._parts.state.replace(TaskState())

    async def save_state(self) -> Mapping[str, Any]:
        """Return the round's state and the gate's."""
        return {"task": self._parts.state.model_dump(mode="json"), "gate": self._parts.gate.save_state()}

    async def load_state(self, state: Mapping[str, Any]) -> None:
        """Take over what `save_state` returned.

        A gate that cannot be loaded (a secret in the code was not kept, so its digest is another) stays shut: the
        proposal is forgotten, and nothing of it runs.
        """
        self._parts.state.replace(TaskState.model_validate(state["task"]))
        try:
            self._parts.gate.load_state(state["gate"])
        except NotApprovedError:
            self._parts.state.proposal = self._parts.state.review = None

    def _to_config(self) -> NoReturn:
        raise ValueError("A gated code executor cannot be dumped without its gate; teams.assembly builds it.")

    @classmethod
    def _from_config(cls, config: Any) -> NoReturn:
        raise ValueError("A gated code executor cannot be loaded from a component; teams.assembly builds it.")


def _event(message: str, block: CodeBlock, result: ExecutionResult) -> ExecutionEvent:
    return ExecutionEvent(
        source=NAME,
        message=message,
        index=block.index,
        digest=block.digest,
        language=block.language,
        code=block.code,
        exit_code=result.exit_code,
        duration_s=round(result.duration_s, 4),
        output=result.output,
        truncated=result.truncated,
        timed_out=result.timed_out,
        oom=result.oom,
        cancelled=result.cancelled,
        files=tuple(
            FileInfo(path=file.path, size=file.size, sha256=file.sha256, change=file.change) for file in result.files
        ),
        left_behind=result.left_behind,
    )


def build(parts: Parts) -> GatedCodeExecutorAgent:
    """Build the agent from the team's parts."""
    return GatedCodeExecutorAgent(parts)
