// An extension of gjc in TypeScript, which Node.js 22.18 or later runs as it is: its types are erased, so it uses none that would need
// code of their own, such as enums. It offers the user a command, /greet, and the model a tool, wait, that shows its progress and can be
// cancelled. docs/extensions.md describes the protocol.
import { createInterface } from "node:readline";

type ID = number | string;

interface Message {
  id?: ID;
  method?: string;
  params?: unknown;
  result?: unknown;
  error?: { code: number; message: string };
}

interface Request extends Message {
  id: ID;
  method: string;
}

interface Tool {
  name: string;
  description: string;
  inputSchema: object;
  parallel?: boolean;
  effects?: { read?: string[]; write?: string[]; network?: boolean | string[] };
}

interface Registration {
  name: string;
  events: string[];
  tools: Tool[];
  commands: { name: string; description?: string; hint?: string }[];
}

interface Event {
  event: string;
  reason?: string;
  from?: string;
}

interface ToolCall {
  callId: string;
  name: string;
  input: { seconds: number };
}

interface CommandRun {
  name: string;
  args: string;
}

type Reply = { text: string } | { prompt: string };

function send(message: Message): void {
  process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\n");
}

function initialize(): Registration {
  return {
    name: "greeter",
    events: ["session_start"],
    tools: [
      {
        name: "wait",
        description: "Waits some seconds.",
        inputSchema: { type: "object", properties: { seconds: { type: "number", minimum: 0, maximum: 60 } }, required: ["seconds"] },
        effects: {}, // it reads and changes nothing
      },
    ],
    commands: [{ name: "greet", description: "Ask the model for a greeting", hint: "<name>" }],
  };
}

function event(e: Event): { notice: string } {
  return { notice: e.from ? `the greeter has come along from session ${e.from}` : "the greeter is ready" };
}

function command(run: CommandRun): Reply {
  return run.args ? { prompt: `Greet ${run.args} in one sentence.` } : { text: "Name somebody to greet: /greet <name>" };
}

function pause(seconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((done, cancelled) => {
    const timer = setTimeout(done, seconds * 1000);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      cancelled(new Error("cancelled"));
    });
  });
}

async function wait(call: ToolCall, signal: AbortSignal): Promise<object> {
  for (let left = call.input.seconds; left > 0; left--) {
    send({ method: "tool/progress", params: { callId: call.callId, text: `${left} seconds left` } });
    await pause(Math.min(left, 1), signal);
  }
  return { content: [{ type: "text", text: `Waited ${call.input.seconds} seconds.` }] };
}

function handle(request: Request, signal: AbortSignal): unknown {
  switch (request.method) {
    case "initialize":
      return initialize();
    case "event":
      return event(request.params as Event);
    case "command/run":
      return command(request.params as CommandRun);
    case "tool/call":
      return wait(request.params as ToolCall, signal);
    case "shutdown":
      return {};
    default:
      throw new UnknownMethod(`unknown method ${request.method}`);
  }
}

class UnknownMethod extends Error {}

const running = new Map<ID, AbortController>();

async function answer(request: Request): Promise<void> {
  const controller = new AbortController();
  running.set(request.id, controller);
  try {
    send({ id: request.id, result: await handle(request, controller.signal) });
  } catch (err) {
    const message = err instanceof Error ? err.message : String(err);
    send({ id: request.id, error: { code: err instanceof UnknownMethod ? -32601 : -32603, message } });
  } finally {
    running.delete(request.id);
  }
  if (request.method === "shutdown") {
    process.exit(0);
  }
}

function isRequest(message: Message): message is Request {
  return message.method !== undefined && message.id !== undefined;
}

for await (const line of createInterface({ input: process.stdin })) {
  const message = JSON.parse(line) as Message;
  if (message.method === "cancel") {
    running.get((message.params as { id: ID }).id)?.abort();
  } else if (isRequest(message)) {
    void answer(message);
  }
}
