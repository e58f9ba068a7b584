// Drives a server with the official SDK: sdk_client.mjs stdio COMMAND ARG… | http URL.
// Prints what it found as one JSON object.
import { writeFileSync } from "node:fs";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [kind, ...words] = process.argv.slice(2);
const transport = kind === "stdio"
  ? new StdioClientTransport({ command: words[0], args: words.slice(1), env: process.env, stderr: "inherit" })
  : new StreamableHTTPClientTransport(new URL(words[0]), {
      requestInit: { headers: { Authorization: `Bearer ${process.env.CORDON_MCP_TOKEN}` } },
    });
const client = new Client({ name: "test", version: "1" });
await client.connect(transport);

writeFileSync("there.txt", "some words\n");
const started = await client.callTool({ name: "shell", arguments: { command: "sleep 600", background: true } });
const job = started.structuredContent.id;
const calls = {
  shell: { command: "echo hello" },
  exec: { program: "echo", args: ["hello"] },
  shell_output: { id: job },
  shell_kill: { id: job },
  read_file: { path: "there.txt" },
  write_file: { path: "made.txt", content: "x" },
  edit_file: { path: "there.txt", old_text: "some", new_text: "other" },
  list_dir: {},
  stat: { path: "there.txt" },
  glob: { pattern: "*.txt" },
  grep: { pattern: "words" },
  send_file: { path: "there.txt" },
  fetch_url: { url: "http://denied.example/" },
};
const mayFail = new Set(["fetch_url"]);

const listed = (await client.listTools()).tools.map((tool) => tool.name);
const called = [];
const failed = [];
for (const name of listed) {
  const result = await client.callTool({ name, arguments: calls[name] });
  called.push(name);
  if (result.isError !== mayFail.has(name) || !result.structuredContent) failed.push([name, result]);
}
let progress = 0;
await client.callTool(
  { name: "shell", arguments: { command: "for i in 1 2 3; do echo $i; sleep 0.9; done" } }, undefined,
  { onprogress: () => { progress += 1; } });
const stop = new AbortController();
setTimeout(() => stop.abort("enough"), 500);
let cancelled = false;
try {
  await client.callTool({ name: "shell", arguments: { command: "sleep 600" } }, undefined, { signal: stop.signal });
} catch {
  cancelled = true;
}
await client.ping();
await client.setLoggingLevel("warning");
const resources = (await client.listResources()).resources;
const policy = await client.readResource({ uri: resources[0].uri });
const prompts = (await client.listPrompts()).prompts;
const prompt = await client.getPrompt({ name: prompts[0].name });
console.log(JSON.stringify({
  server: client.getServerVersion(), listed, called, failed, progress, cancelled,
  resources: policy.contents[0].text.length, prompts: prompt.messages.length,
}));
await client.close();
process.exit(0);
