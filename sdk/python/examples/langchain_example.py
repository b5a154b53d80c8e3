"""A LangChain tool that runs Python, called as an agent would: invoked, awaited, from a tool call."""

from __future__ import annotations

import asyncio

from carboy import AsyncSandbox, Sandbox
from carboy.adapters.langchain import python_tool


async def awaited() -> str:
    async with AsyncSandbox() as box:
        return str(await python_tool(box).ainvoke({"code": "2 ** 20"}))


def main() -> None:
    with Sandbox(policy="low") as box:
        tool = python_tool(box)
        print(tool.name, list(tool.args))
        print(tool.invoke({"code": "sum(n * n for n in range(10))"}))

        # A model that calls the tool gets a message; the program finds the outcome beside it.
        call = {"type": "tool_call", "id": "1", "name": tool.name, "args": {"code": "1 / 0"}}
        message = tool.invoke(call)
        print(message.content)
        print("artifact:", message.artifact.error.kind, "at line", message.artifact.error.line)
    print(asyncio.run(awaited()))


if __name__ == "__main__":
    main()
