"""A session with the official Python SDK: `sdk.py REVISION URL` or `sdk.py REVISION COMMAND ARGUMENT...`.

It lists the tools, makes a call, makes another whose outcome is unknown, and has it settled; then it prints
what it was answered as one JSON object.
"""

import asyncio
import json
import sys

from mcp import Client, StdioServerParameters

OLD = "2025-11-25"


async def main(revision: str, where: list[str]) -> None:
    server = where[0] if where[0].startswith("http") else StdioServerParameters(command=where[0], args=where[1:])
    steps: list[float] = []

    async def progress(step: float, total: float | None, message: str | None) -> None:
        steps.append(step)

    async with Client(server, mode="legacy" if revision == OLD else revision) as client:
        tools = (await client.list_tools()).tools
        done = await client.call_tool("c__act", {"n": 1}, progress_callback=progress)
        unknown = await client.call_tool("c__act", {"n": 2})
        asked = {"request_id": unknown.structured_content["request_id"]}
        settled = await client.call_tool("inspect_outcome", asked)
        fetched = await client.call_tool("fetch_result", asked)
        answers = {"done": done, "unknown": unknown, "settled": settled, "fetched": fetched}
        print(
            json.dumps(
                {
                    "revision": client.protocol_version,
                    "tools": [tool.name for tool in tools],
                    "progress": len(steps),
                    "answers": {name: answer.structured_content for name, answer in answers.items()},
                    "errors": {name: answer.is_error for name, answer in answers.items()},
                }
            )
        )


asyncio.run(main(sys.argv[1], sys.argv[2:]))
