// The official TypeScript SDK, told what to do line by line: `steps.mjs REVISION URL` or
// `steps.mjs REVISION COMMAND ARGUMENT...`. A URL is asked with the token in the environment's `TOKEN`. The older
// revision is spoken by the SDK's first generation, the newer by its second.
//
// A line of standard input is `{"tool": NAME, "arguments": {...}}`, or `{}` for the list of tools. Each line of
// standard output is one JSON object: `progress` as it comes, and `tools` or `answer`, as the SDK gives them.

import { createInterface } from "node:readline";

const [revision, ...where] = process.argv.slice(2);
const old = revision === "2025-11-25";

const { Client } = await import(
  old ? "@modelcontextprotocol/sdk/client/index.js" : "@modelcontextprotocol/client"
);
const { StreamableHTTPClientTransport } = await import(
  old ? "@modelcontextprotocol/sdk/client/streamableHttp.js" : "@modelcontextprotocol/client"
);
const { StdioClientTransport } = await import(
  old ? "@modelcontextprotocol/sdk/client/stdio.js" : "@modelcontextprotocol/client/stdio"
);

const headers = { authorization: `Bearer ${process.env.TOKEN}` };
const transport = where[0].startsWith("http")
  ? new StreamableHTTPClientTransport(new URL(where[0]), { requestInit: { headers } })
  : new StdioClientTransport({ command: where[0], args: where.slice(1) });
const options = old ? {} : { versionNegotiation: { mode: { pin: revision } } };
const client = new Client({ name: "tests", version: "1.0.0" }, options);
await client.connect(transport);

const say = (what) => console.log(JSON.stringify(what));
const onprogress = ({ progress }) => say({ progress });
for await (const line of createInterface({ input: process.stdin })) {
  const { tool, arguments: input } = JSON.parse(line);
  if (tool === undefined) {
    const { tools } = await client.listTools();
    say({ tools: tools.map((tool) => tool.name) });
    continue;
  }
  const params = { name: tool, arguments: input };
  const more = { onprogress };
  const answer = await (old ? client.callTool(params, undefined, more) : client.callTool(params, more));
  // The first generation speaks no newer one.
  say({ answer, revision: old ? revision : client.getNegotiatedProtocolVersion() });
}
await client.close();
