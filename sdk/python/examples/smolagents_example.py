"""A smolagents agent whose code runs in jars. The model is a script, so that it needs no key."""

from __future__ import annotations

from typing import Any

from smolagents import ChatMessage, CodeAgent, MessageRole, Model, tool

from carboy.adapters.smolagents import INSTRUCTIONS, CarboyExecutor

STEPS = [
    "<code>import statistics\nsales = read_sales('north')\nprint(len(sales), 'sales')</code>",
    "<code>open('/etc/shadow')</code>",
    "<code>final_answer({'mean': statistics.mean(sales)})</code>",
]


class Scripted(Model):  # type: ignore[misc]  # smolagents has no types.
    """Says what stands in the script, whatever it is asked."""

    def generate(self, messages: list[Any], **options: Any) -> ChatMessage:
        return ChatMessage(role=MessageRole.ASSISTANT, content=STEPS.pop(0))


@tool  # type: ignore[untyped-decorator]
def read_sales(region: str) -> list[int]:
    """Reads the sales of a region. It runs here, outside of the jar.

    Args:
        region: the name of the region
    """
    return {"north": [3, 5, 10]}.get(region, [])


with CodeAgent(
    tools=[read_sales],
    model=Scripted(),
    executor=CarboyExecutor(policy="low"),
    instructions=INSTRUCTIONS,
    verbosity_level=0,
) as agent:
    print("answer:", agent.run("What is the mean of the sales in the north?"))
    for step in agent.memory.steps[1:]:
        print("error:" if step.error else "observed:", step.error or step.observations)
