// @ts-check
// An extension of gjc in TypeScript's type comments: Node.js 20 runs this file as it is, and "tsc --checkJs" checks its types.
// It offers the user a command, /greet, and the model a tool, wait, that shows its progress and can be cancelled.
// docs/extensions.md describes the protocol.
import { createInterface } from "node:readline";

/** @typedef {{ jsonrpc: "2.0", id?: number | string, method?: string, params?: any, result?: unknown, error?: { code: number, message: string } }} Message */
/** @typedef {{ name: string, args: string }} CommandRun */
/** @typedef {{ callId: string, name: string, input: { seconds: number } }} ToolCall */

/** @param {Omit<Message, "jsonrpc">} message */
function send(message) {
  process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\n");
}

/** @type {Map<number | string, AbortController>} */
const running = new Map();

/** @type {Record<string, (params: any, signal: AbortSignal) => unknown>} */
const handlers = {
  initialize: () => ({
    name: "greeter",
    events: ["session_start"],
    tools: [
      {
        name: "wait",
        description: "Waits some seconds.",
        inputSchema: { type: "object", properties: { seconds: { type: "number", minimum: 0, maximum: 60 } }, required: ["seconds"] },
      },
    ],
    commands: [{ name: "greet", description: "Ask the model for a greeting", hint: "<name>" }],
  }),

  event: () => ({ notice: "the greeter is ready" }),

  /** @param {CommandRun} params */
  "command/run": (params) => (params.args ? { prompt: `Greet ${params.args} in one sentence.` } : { text: "Name somebody to greet: /greet <name>" }),

  /** @param {ToolCall} params */
  "tool/call": async (params, signal) => {
    for (let left = params.input.seconds; left > 0; left--) {
      send({ method: "tool/progress", params: { callId: params.callId, text: `${left} seconds left` } });
      await new Promise((done, cancelled) => {
        const timer = setTimeout(done, Math.min(left, 1) * 1000);
        signal.addEventListener("abort", () => {
          clearTimeout(timer);
          cancelled(new Error("cancelled"));
        });
      });
    }
    return { content: [{ type: "text", text: `Waited ${params.input.seconds} seconds.` }] };
  },

  shutdown: () => ({}),
};

/** @param {Message & { id: number | string, method: string }} message */
async function answer(message) {
  const handle = handlers[message.method];
  if (!handle) {
    send({ id: message.id, error: { code: -32601, message: `unknown method ${message.method}` } });
    return;
  }
  const controller = new AbortController();
  running.set(message.id, controller);
  try {
    send({ id: message.id, result: await handle(message.params ?? {}, controller.signal) });
  } catch (err) {
    send({ id: message.id, error: { code: -32603, message: err instanceof Error ? err.message : String(err) } });
  } finally {
    running.delete(message.id);
  }
  if (message.method === "shutdown") {
    process.exit(0);
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  /** @type {Message} */
  const message = JSON.parse(line);
  if (message.method === "cancel") {
    running.get(message.params.id)?.abort();
  } else if (message.method && message.id !== undefined) {
    void answer(/** @type {Message & { id: number | string, method: string }} */ (message));
  }
}
