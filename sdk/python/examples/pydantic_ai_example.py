"""A Pydantic AI agent whose toolset runs Python. The model is a script, so that it needs no key."""

from __future__ import annotations

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from carboy import Sandbox
from carboy.adapters.pydantic_ai import python_toolset


def returned(messages: list[ModelMessage]) -> list[ToolReturnPart]:
    """What tools have said so far."""
    parts = [part for message in messages for part in message.parts]
    return [part for part in parts if isinstance(part, ToolReturnPart)]


def scripted(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """Calls the tool once, then repeats what the tool said."""
    said = returned(messages)
    if said:
        return ModelResponse(parts=[TextPart(str(said[0].content))])
    (tool,) = info.function_tools
    print("tool:", tool.name, "strict" if tool.strict else "not strict")
    print("instructions:", (info.instructions or "").splitlines()[0])
    return ModelResponse(parts=[ToolCallPart(tool.name, {"code": "sum(range(shops()))"})])


def shops() -> int:
    """How many shops there are."""
    return 12


with Sandbox(policy="low", tools=[shops]) as box:
    agent = Agent(FunctionModel(scripted), toolsets=[python_toolset(box)])
    run = agent.run_sync("Add up the numbers of our shops.")
    print(run.output)
    # The program finds the outcome itself beside what the model was told.
    print("outcome:", returned(run.all_messages())[0].metadata)
