"""The official Python SDK, told what to do line by line: `steps.py REVISION URL` or
`steps.py REVISION COMMAND ARGUMENT...`. A URL is asked with the token in the environment's `TOKEN`.

A line of standard input is `{"tool": NAME, "arguments": {...}}`, or `{}` for the list of tools. Each line of
standard output is one JSON object: `progress` as it comes, and `tools` or `answer`, as the SDK gives them.
"""

import asyncio
import json
import os
import sys

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

OLD = "2025-11-25"


def say(**what: object) -> None:
    print(json.dumps(what), flush=True)


async def progress(step: float, total: float | None, message: str | None) -> None:
    say(progress=step)


async def main(revision: str, where: list[str]) -> None:
    if where[0].startswith("http"):
        headers = {"authorization": "Bearer " + os.environ["TOKEN"]}
        server = streamable_http_client(where[0], http_client=httpx2.AsyncClient(headers=headers, timeout=60))
    else:
        server = StdioServerParameters(command=where[0], args=where[1:])
    async with Client(server, mode="legacy" if revision == OLD else revision) as client:
        while line := await asyncio.to_thread(sys.stdin.readline):
            step = json.loads(line)
            if "tool" not in step:
                say(tools=[tool.name for tool in (await client.list_tools()).tools])
                continue
            result = await client.call_tool(step["tool"], step["arguments"], progress_callback=progress)
            say(answer=result.model_dump(mode="json", by_alias=True), revision=client.protocol_version)


asyncio.run(main(sys.argv[1], sys.argv[2:]))
