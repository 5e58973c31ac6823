// The stream to an agent, for the programs here: over the stdin and stdout of a command, or, for an address ws://… or
// http://…, by the SDK's WebSocket or HTTP client. Over the network, GJC_TOKEN has the bearer token.

import { spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";
import { ndJsonStream } from "@agentclientprotocol/sdk";
import { createHttpStream } from "@agentclientprotocol/sdk/experimental/http-client";
import { createWebSocketStream } from "@agentclientprotocol/sdk/experimental/ws-client";
import { WebSocket } from "ws";

// remote returns the stream to an address; nothing for a command.
export function remote(address) {
  const headers = { Authorization: `Bearer ${process.env.GJC_TOKEN}` };
  if (address.startsWith("ws://")) return createWebSocketStream(address, { WebSocket, headers });
  if (address.startsWith("http://")) return createHttpStream(address, { headers });
}

// open starts a command, or connects to an address. end ends it, and returns the command's end.
export function open(command, args) {
  const stream = remote(command);
  if (stream) return { stream, end: async () => ({ code: 0, signal: null }) };
  const agent = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
  const exited = new Promise((resolve) => agent.on("exit", (code, signal) => resolve({ code, signal })));
  return {
    stream: ndJsonStream(Writable.toWeb(agent.stdin), Readable.toWeb(agent.stdout)),
    end: () => (agent.stdin.end(), exited),
  };
}
