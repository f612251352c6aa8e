// A session with the official TypeScript SDK: `sdk.mjs REVISION URL` or `sdk.mjs REVISION COMMAND ARGUMENT...`.
// The older revision is spoken by its first generation, the newer by its second.
//
// It lists the tools, makes a call, makes another whose outcome is unknown, and has it settled; then it prints
// what it was answered as one JSON object.

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

const transport = where[0].startsWith("http")
  ? new StreamableHTTPClientTransport(new URL(where[0]))
  : new StdioClientTransport({ command: where[0], args: where.slice(1) });
const options = old ? {} : { versionNegotiation: { mode: { pin: revision } } };
const client = new Client({ name: "tests", version: "1.0.0" }, options);
await client.connect(transport);

let progress = 0;
const call = (name, input, more) => {
  const params = { name, arguments: input };
  return old ? client.callTool(params, undefined, more) : client.callTool(params, more);
};
const { tools } = await client.listTools();
const done = await call("c__act", { n: 1 }, { onprogress: () => (progress += 1) });
const unknown = await call("c__act", { n: 2 });
const asked = { request_id: unknown.structuredContent.request_id };
const settled = await call("inspect_outcome", asked);
const fetched = await call("fetch_result", asked);
const answers = { done, unknown, settled, fetched };
const each = (of) => Object.fromEntries(Object.entries(answers).map(([name, answer]) => [name, of(answer)]));
console.log(
  JSON.stringify({
    revision,
    tools: tools.map((tool) => tool.name),
    progress,
    answers: each((answer) => answer.structuredContent),
    errors: each((answer) => answer.isError ?? false),
  }),
);
await client.close();
