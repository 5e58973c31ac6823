// An editor on the official TypeScript SDK. It drives one agent through a whole session and prints what came of it as
// JSON. The checks are the caller's.
//
//	node sdk-client.mjs WORKSPACE AGENT [ARGUMENT...]
//
// AGENT is a command, or the address of one that listens.

import { spawn } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { client, methods } from "@agentclientprotocol/sdk";
import { open } from "./stream.mjs";

const [workspace, command, ...args] = process.argv.slice(2);
const agent = open(command, args);

const summary = { calls: {}, updates: {}, permissions: [], stops: {}, errors: {} };
const count = (table, key) => (table[key] = (table[key] ?? 0) + 1);

// watch has who waits for an update or a call.
let watch = [];
const seen = (what) => {
  watch = watch.filter((w) => !(w.ok(what) && (w.resolve(), true)));
};
const until = (ok) => new Promise((resolve) => watch.push({ ok, resolve }));

// What one prompt, or one load, brought.
let current;
const begin = () => (current = { text: "", thoughts: "", user: "", tools: {}, diffs: [], plan: [], terminals: [] });
begin();

function update({ params }) {
  const u = params.update;
  count(summary.updates, u.sessionUpdate);
  switch (u.sessionUpdate) {
    case "agent_message_chunk":
      current.text += u.content.text ?? "";
      break;
    case "agent_thought_chunk":
      current.thoughts += u.content.text ?? "";
      break;
    case "user_message_chunk":
      current.user += u.content.text ?? "";
      break;
    case "plan":
      current.plan = u.entries.map((e) => e.content);
      break;
    case "available_commands_update":
      summary.commands = u.availableCommands.map((c) => c.name);
      break;
    case "session_info_update":
      summary.title = u.title ?? summary.title;
      break;
    case "tool_call":
    case "tool_call_update": {
      const tool = (current.tools[u.toolCallId] ??= {});
      for (const key of ["title", "kind", "status"]) if (u[key]) tool[key] = u[key];
      for (const c of u.content ?? []) {
        if (c.type === "diff" && u.status === "completed") current.diffs.push({ path: c.path, oldText: c.oldText, newText: c.newText });
        if (c.type === "terminal" && !current.terminals.includes(c.terminalId)) current.terminals.push(c.terminalId);
      }
    }
  }
  seen(u);
}

const terminals = new Map();

const handlers = {
  [methods.client.fs.readTextFile]: async ({ params }) => {
    const lines = (await readFile(params.path, "utf8")).split(/(?<=\n)/);
    const from = (params.line ?? 1) - 1;
    return { content: lines.slice(from, params.limit == null ? undefined : from + params.limit).join("") };
  },
  [methods.client.fs.writeTextFile]: async ({ params }) => {
    await writeFile(params.path, params.content);
    return {};
  },
  [methods.client.session.requestPermission]: ({ params }) => {
    summary.permissions.push({ title: params.toolCall.title, kinds: params.options.map((o) => o.kind) });
    const option = params.options.find((o) => o.kind === answer);
    return { outcome: { outcome: "selected", optionId: option.optionId } };
  },
  [methods.client.terminal.create]: ({ params }) => {
    const id = `terminal-${terminals.size + 1}`;
    const env = { ...process.env, ...Object.fromEntries((params.env ?? []).map((v) => [v.name, v.value])) };
    const child = spawn(params.command, params.args ?? [], { cwd: params.cwd, env, detached: true });
    const terminal = { child, output: "", exit: new Promise((resolve) => child.on("close", (code, signal) => resolve({ exitCode: code, signal }))) };
    child.stdout.on("data", (data) => (terminal.output += data));
    child.stderr.on("data", (data) => (terminal.output += data));
    terminals.set(id, terminal);
    return { terminalId: id };
  },
  [methods.client.terminal.waitForExit]: ({ params }) => terminals.get(params.terminalId).exit,
  [methods.client.terminal.output]: ({ params }) => ({ output: terminals.get(params.terminalId).output, truncated: false }),
  [methods.client.terminal.kill]: ({ params }) => {
    kill(terminals.get(params.terminalId));
    return {};
  },
  [methods.client.terminal.release]: ({ params }) => {
    const terminal = terminals.get(params.terminalId);
    kill(terminal);
    terminal.released = true;
    return {};
  },
};

function kill(terminal) {
  try {
    process.kill(-terminal.child.pid, "SIGKILL");
  } catch {
    // It has ended already.
  }
}

// How the user answers the next question.
let answer = "allow_once";

const app = client({ name: "interop" }).onNotification(methods.client.session.update, update);
for (const [method, handle] of Object.entries(handlers)) {
  app.onRequest(method, (context) => {
    count(summary.calls, method);
    seen(method);
    return handle(context);
  });
}

await app.connectWith(agent.stream, async (to) => {
  const m = methods.agent;
  summary.initialize = await to.request(m.initialize, {
    protocolVersion: 1,
    clientCapabilities: { fs: { readTextFile: true, writeTextFile: true }, terminal: true },
    clientInfo: { name: "interop", version: "1" },
  });
  const where = { cwd: workspace, mcpServers: [] };
  const session = await to.request(m.session.new, where);
  const { sessionId } = session;
  summary.session = { modes: session.modes, options: session.configOptions.map((o) => o.id) };

  const prompt = async (name, text) => {
    const turn = begin();
    const response = await to.request(m.session.prompt, { sessionId, prompt: [{ type: "text", text }] });
    summary.stops[name] = response.stopReason;
    summary[name] = { ...turn, tools: Object.values(turn.tools) };
  };
  await prompt("work", "!think hm\n!plan look; change\n!read a.txt\n!edit a.txt one => two\n!bash cat a.txt; echo from the terminal");
  summary.file = await readFile(join(workspace, "a.txt"), "utf8");
  summary.terminal = terminals.get("terminal-1")?.output;

  answer = "reject_once";
  await prompt("refused", "!bash touch refused.txt");
  answer = "allow_once";

  const waiting = until((what) => what === methods.client.terminal.waitForExit);
  const cancelled = prompt("cancelled", "!bash sleep 600");
  await waiting;
  await to.notify(m.session.cancel, { sessionId });
  await cancelled;

  await to.request(m.session.setMode, { sessionId, modeId: "plan" });
  await prompt("planning", "!write b.txt no");
  const set = await to.request(m.session.setConfigOption, { sessionId, configId: "mode", value: "auto" });
  summary.mode = set.configOptions.find((o) => o.id === "mode").currentValue;

  const failing = async (name, method, params) => {
    try {
      await to.request(method, params);
      summary.errors[name] = 0;
    } catch (error) {
      summary.errors[name] = error.code;
    }
  };
  await failing("unknown session", m.session.prompt, { sessionId: "nobody", prompt: [{ type: "text", text: "x" }] });
  await failing("relative cwd", m.session.new, { cwd: "x", mcpServers: [] });
  await failing("unknown method", "session/nope", {});
  await failing("model failure", m.session.prompt, { sessionId, prompt: [{ type: "text", text: "!fail auth" }] });

  await to.request(m.session.close, { sessionId });
  summary.list = (await to.request(m.session.list, { cwd: workspace })).sessions.map((s) => ({ same: s.sessionId === sessionId, title: s.title }));
  const replay = begin();
  await to.request(m.session.load, { sessionId, ...where });
  summary.replay = { ...replay, tools: Object.values(replay.tools) };
  await prompt("loaded", "!say again");
  await to.request(m.session.close, { sessionId });
  await to.request(m.session.resume, { sessionId, ...where });
  await prompt("resumed", "!say and again");

  summary.unreleased = [...terminals.values()].filter((t) => !t.released).length;
});
summary.exit = await agent.end();
console.log(JSON.stringify(summary));
process.exit(0);
