"""A tool for any model interface that calls functions with JSON. The model's part is played here."""

from __future__ import annotations

import json

from carboy import Sandbox
from carboy.adapters.openai import PythonTool

with Sandbox(policy="low") as box:
    tool = PythonTool(box)

    # What goes to the model: client.chat.completions.create(messages=..., tools=[tool.definition])
    messages = [{"role": "system", "content": box.prompt()}]
    print(messages[0]["content"].splitlines()[0])
    print(json.dumps(tool.definition["function"]["parameters"], indent=2))

    # What comes back: response.choices[0].message.tool_calls
    calls = [
        {"id": "a", "name": "run_python", "arguments": json.dumps({"code": "max([3, 9, 4])"})},
        {
            "id": "b",
            "name": "run_python",
            "arguments": json.dumps({"code": "import os\nos.fork()"}),
        },
        {"id": "c", "name": "run_python", "arguments": '{"code": '},
    ]
    for call in calls:
        content = tool.call(call["arguments"])
        print(f"--- {call['id']}\n{content}")
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": content})
