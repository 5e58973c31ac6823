// An agent on the official TypeScript SDK and its server for WebSocket and HTTP. The first line on stdout is its
// address. A line "cut" on stdin cuts all connections, and the end of stdin ends it.

import { createServer } from "node:http";
import { createInterface } from "node:readline";
import { agent, methods } from "@agentclientprotocol/sdk";
import { createNodeHttpHandler, createNodeWebSocketUpgradeHandler } from "@agentclientprotocol/sdk/experimental/node";
import { AcpServer } from "@agentclientprotocol/sdk/experimental/server";
import { WebSocketServer } from "ws";

const m = methods.agent;
const loaded = new Set();

function createAgent() {
  const cancels = new Map();
  const say = (client, sessionId, text) =>
    client.notify(methods.client.session.update, { sessionId, update: { sessionUpdate: "agent_message_chunk", content: { type: "text", text } } });
  return agent({ name: "server" })
    .onRequest(m.initialize, () => ({ protocolVersion: 1, agentCapabilities: { loadSession: true } }))
    .onRequest(m.session.new, () => ({ sessionId: "s1" }))
    .onRequest(m.session.load, ({ params }) => (loaded.add(params.sessionId), {}))
    .onRequest(m.session.prompt, async ({ params, client }) => {
      const { sessionId } = params;
      const [{ text }] = params.prompt;
      if (text === "wait") {
        const cancelled = new Promise((resolve) => cancels.set(sessionId, resolve));
        await say(client, sessionId, "waiting");
        await cancelled;
        return { stopReason: "cancelled" };
      }
      for (let i = 0; i < 100; i++) await say(client, sessionId, `${i}`);
      const { outcome } = await client.request(methods.client.session.requestPermission, {
        sessionId,
        toolCall: { toolCallId: "t1", title: "May I?" },
        options: [{ optionId: "yes", name: "Yes", kind: "allow_once" }],
      });
      await say(client, sessionId, `${outcome.optionId}, loaded ${loaded.has(sessionId)}`);
      return { stopReason: "end_turn" };
    })
    .onNotification(m.session.cancel, ({ params }) => cancels.get(params.sessionId)?.());
}

const acp = new AcpServer({ createAgent });
const http = createServer(createNodeHttpHandler(acp));
http.on("upgrade", createNodeWebSocketUpgradeHandler(acp, new WebSocketServer({ noServer: true })));
const sockets = new Set();
http.on("connection", (socket) => {
  sockets.add(socket);
  socket.on("close", () => sockets.delete(socket));
});
http.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${http.address().port}/acp`));

for await (const line of createInterface({ input: process.stdin })) {
  if (line === "cut") for (const socket of sockets) socket.resetAndDestroy();
}
process.exit(0);
