// An editor on the official TypeScript SDK that drives what sdk-client.mjs does not: accounts, forms, switches, further
// directories, and with the SDK's unstable entry point all that it adds. It prints what came of it as JSON. The checks
// are the caller's.
//
//	node sdk-surface.mjs stable|unstable WORKSPACE FURTHER AGENT [ARGUMENT...]
//
// AGENT is a command, or the address of one that listens.

import { readFile, writeFile } from "node:fs/promises";
import { open } from "./stream.mjs";

const [flavour, workspace, further, command, ...args] = process.argv.slice(2);
const unstable = flavour === "unstable";
const sdk = await import(unstable ? "@agentclientprotocol/sdk/unstable" : "@agentclientprotocol/sdk");
const { client, methods } = sdk;
const agent = open(command, args);

const summary = { errors: {}, forms: [], tools: {}, permissions: 0 };

// What has come, by session.
const sessions = {};
const session = (id) => (sessions[id] ??= { text: "", tools: {}, kinds: [], plans: [], removed: 0, children: [], title: undefined });
let waiting = [];
const until = (ok) => new Promise((resolve) => waiting.push({ ok, resolve }));

function update({ params }) {
  const u = params.update;
  const s = session(params.sessionId);
  s.kinds.push(u.sessionUpdate);
  switch (u.sessionUpdate) {
    case "agent_message_chunk":
      s.text += u.content.text ?? "";
      break;
    case "tool_call":
    case "tool_call_update": {
      const tool = (s.tools[u.toolCallId] ??= { output: "" });
      for (const key of ["title", "kind", "status"]) if (u[key]) tool[key] = u[key];
      for (const c of u.content ?? []) if (c.content?.text) tool.output = c.content.text;
      break;
    }
    case "plan_update":
      s.plans.push(u.plan);
      break;
    case "plan_removed":
      s.removed++;
      break;
    case "subagent_update":
      s.children.push(u);
      break;
    case "session_info_update":
      s.title = u.title ?? s.title;
      break;
  }
  waiting = waiting.filter((w) => !(w.ok(params) && (w.resolve(), true)));
}

// How the user answers the next form.
let answer = "accept";

const app = client({ name: "interop" })
  .onNotification(methods.client.session.update, update)
  .onRequest(methods.client.fs.readTextFile, async ({ params }) => ({ content: await readFile(params.path, "utf8") }))
  .onRequest(methods.client.fs.writeTextFile, async ({ params }) => (await writeFile(params.path, params.content), {}))
  .onRequest(methods.client.session.requestPermission, ({ params }) => {
    summary.permissions++;
    return { outcome: { outcome: "selected", optionId: params.options.find((o) => o.kind === "allow_once").optionId } };
  })
  .onRequest(methods.client.elicitation.create, ({ params }) => {
    summary.forms.push({ mode: params.mode, message: params.message, url: params.url, fields: Object.keys(params.requestedSchema?.properties ?? {}) });
    if (answer !== "accept" || params.mode === "url") return { action: answer };
    const content = {};
    for (const [name, p] of Object.entries(params.requestedSchema.properties)) content[name] = p.enum?.[1] ?? p.oneOf?.[1]?.const ?? "words";
    return { action: "accept", content };
  });

// An MCP server that lives in the editor.
const provider = unstable ? new sdk.McpOverAcpProvider() : undefined;
if (provider) app.onRequest(methods.client.mcp.message, provider.handleRequest);
summary.mcp = [];
async function mcpServer({ method, params, notify, signal }) {
  summary.mcp.push(method);
  switch (method) {
    case "server/discover":
      return { result: { resultType: "complete", supportedVersions: [sdk.MCP_PROTOCOL_VERSION], capabilities: { tools: {} }, ttlMs: 0, cacheScope: "private" } };
    case "tools/list":
      return {
        result: {
          resultType: "complete", ttlMs: 0, cacheScope: "private",
          tools: [
            { name: "whisper", description: "Says it back.", inputSchema: { type: "object", properties: { word: { type: "string" } } }, annotations: { readOnlyHint: true } },
            { name: "sign", description: "Has the user look at a page.", inputSchema: { type: "object" }, annotations: { readOnlyHint: true } },
            { name: "stall", description: "Never answers.", inputSchema: { type: "object" }, annotations: { readOnlyHint: true } },
          ],
        },
      };
    case "tools/call":
      if (params.name === "stall") {
        stalls();
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
        summary.aborted = true;
        return { error: { code: -32800, message: "cancelled" } };
      }
      if (params.name === "sign") {
        const page = params.inputResponses?.page;
        if (page) return { result: { resultType: "complete", content: [{ type: "text", text: `the user chose ${page.action}` }] } };
        const question = { mode: "url", message: "Look at this", url: "https://sign.invalid/here", elicitationId: "e1" };
        return { result: { resultType: "input_required", inputRequests: { page: { method: "elicitation/create", params: question } } } };
      }
      return { result: { resultType: "complete", content: [{ type: "text", text: `whispered ${params.arguments.word}` }] } };
    default:
      return { error: { code: -32601, message: `no ${method}` } };
  }
}
let stalls;
const stall = new Promise((resolve) => (stalls = resolve));

await app.connectWith(agent.stream, async (to) => {
  const m = methods.agent;
  const code = async (name, method, params) => {
    try {
      await to.request(method, params);
      summary.errors[name] = 0;
    } catch (error) {
      summary.errors[name] = error.code;
    }
  };
  const capabilities = {
    fs: { readTextFile: true, writeTextFile: true },
    session: { configOptions: { boolean: {} }, notices: {}, compaction: {} },
    auth: { terminal: true },
    elicitation: { form: {}, url: {} },
  };
  if (unstable) Object.assign(capabilities, { plan: {}, subagents: {} });
  summary.initialize = await to.request(m.initialize, { protocolVersion: 1, clientCapabilities: capabilities, clientInfo: { name: "interop", version: "1" } });

  // Accounts: there is a stored key, until the user logs out.
  const account = async () => (unstable ? (await to.request(m.auth.status, {})).state : undefined);
  summary.before = await account();
  await to.request(m.logout, {});
  summary.after = await account();
  await to.request(m.authenticate, { methodId: "agent" });
  await code("terminal method", m.authenticate, { methodId: "terminal" });

  const opened = await to.request(m.session.new, { cwd: workspace, mcpServers: [], additionalDirectories: [further] });
  const { sessionId } = opened;
  summary.options = opened.configOptions.map((o) => `${o.id} ${o.type}`);
  const say = async (text, id = sessionId) => {
    const s = session(id);
    s.text = "";
    s.tools = {};
    s.kinds = [];
    const { stopReason } = await to.request(m.session.prompt, { sessionId: id, prompt: [{ type: "text", text }] });
    return { stopReason, text: s.text, kinds: s.kinds, tools: Object.values(s.tools) };
  };

  // A further directory is inside: nobody is asked.
  summary.further = (await say(`!read ${further}/far.txt`)).tools;
  summary.permissionsForFurther = summary.permissions;

  for (answer of ["accept", "decline", "cancel"]) summary.tools[answer] = (await say("!ask Which way? | left | right")).tools;

  const toggle = async (value) => {
    const { configOptions } = await to.request(m.session.setConfigOption, { sessionId, configId: "show_thinking", type: "boolean", value });
    return configOptions.find((o) => o.id === "show_thinking").currentValue;
  };
  summary.toggled = [await toggle(false)];
  summary.hidden = (await say("!think hm\n!say x")).kinds.includes("agent_thought_chunk");
  summary.toggled.push(await toggle(true));
  summary.shown = (await say("!think hm\n!say x")).kinds.includes("agent_thought_chunk");

  summary.compaction = [...new Set((await say("/compact")).kinds)].filter((k) => k.startsWith("compaction")).sort();

  // A method beyond the protocol, as other agents have it.
  const running = until(({ update: u }) => u.sessionUpdate === "agent_thought_chunk");
  const turn = say("!think begun\n!sleep 60000");
  await running;
  const more = [{ type: "text", text: "!say steered" }];
  summary.steered = await to.request("_session/steering", { sessionId, prompt: more });
  await to.notify(m.session.cancel, { sessionId });
  summary.steeredStop = (await turn).stopReason;
  summary.idleSteering = await to.request("_session/steering", { sessionId, prompt: more, _meta: { steering: { idleBehavior: "promptRequired" } } });

  if (unstable) await drive(to, m, sessionId, say, code);

  const ids = async (filter) => (await to.request(m.session.list, { cwd: workspace, ...filter })).sessions;
  summary.listed = (await ids()).find((s) => s.sessionId === sessionId)?.additionalDirectories;
  await to.request(m.session.delete, { sessionId });
  await to.request(m.session.delete, { sessionId });
  summary.left = (await ids()).some((s) => s.sessionId === sessionId);
  await code("load of a deleted session", m.session.load, { sessionId, cwd: workspace, mcpServers: [] });
});

// drive is what the unstable entry point adds.
async function drive(to, m, sessionId, say, code) {
  const u = (summary.unstable = {});
  const fork = await to.request(m.session.fork, { sessionId, cwd: workspace });
  u.forked = fork.sessionId !== sessionId;
  u.fork = (await say("!say in the fork", fork.sessionId)).text;
  const status = async () => (await to.request(m.session.status, { sessionId: fork.sessionId })).status;
  u.status = [await status()];
  u.title = (await to.request(m.session.setTitle, { sessionId: fork.sessionId, title: "  The   fork " })).title;
  await to.request(m.session.archive, { sessionId: fork.sessionId });
  u.status.push(await status());
  const has = async (archived) =>
    (await to.request(m.session.list, { cwd: workspace, archived })).sessions.some((s) => s.sessionId === fork.sessionId && s.title === "The fork");
  u.archived = [await has("exclude"), await has("only"), await has("include")];
  await to.request(m.session.unarchive, { sessionId: fork.sessionId });
  u.unarchived = await has("exclude");
  await code("status of an unknown session", m.session.status, { sessionId: "nobody" });

  // A system prompt of one's own is smaller than gjc's.
  const size = async (systemPrompt) => {
    const { sessionId: id } = await to.request(m.session.new, { cwd: workspace, mcpServers: [], systemPrompt });
    const said = (await say("/context", id)).text;
    await to.request(m.session.close, { sessionId: id });
    return Number(/System prompt: (\d+)/.exec(said)?.[1]);
  };
  const content = [{ type: "text", text: "Be a pirate. ".repeat(20) }];
  u.prompts = [await size({ mode: "override", content }), await size(undefined), await size({ mode: "append", content })];

  // Where requests go.
  const providers = async () => (await to.request(m.providers.list, {})).providers;
  const first = (await providers()).find((p) => !p.required);
  u.provider = first.providerId;
  await to.request(m.providers.set, { providerId: first.providerId, apiType: first.supported[0], baseUrl: "http://127.0.0.1:1/v1", headers: { "x-team": "a" } });
  u.set = (await providers()).find((p) => p.providerId === first.providerId).current?.baseUrl;
  await to.request(m.providers.disable, { providerId: first.providerId });
  u.disabled = !(await providers()).find((p) => p.providerId === first.providerId)?.current;
  await code("unknown provider", m.providers.set, { providerId: "nobody", apiType: "openai", baseUrl: "http://127.0.0.1:1", headers: {} });

  // Plans that are updated and taken away, children, and the tokens of a turn.
  const planned = await say("!plan one; [x] two");
  u.planKinds = [...new Set(planned.kinds)].filter((k) => k.startsWith("plan"));
  u.plan = session(sessionId).plans.at(-1);
  await say("/clear");
  u.removed = session(sessionId).removed;
  const parent = await say("!task !say child speaks");
  const children = session(sessionId).children;
  // Over HTTP the updates of a child come by another stream than the answer, perhaps after it.
  const until = async (there) => {
    for (let i = 0; i < 1000 && !there(); i++) await new Promise((resolve) => setTimeout(resolve, 10));
  };
  await until(() => session(children[0]?.sessionId).text.endsWith("Done."));
  u.children = children.map((c) => c.state?.state ?? c.state?.type ?? "?");
  u.childSaid = session(children[0]?.sessionId).text;
  u.parentSaid = parent.text;
  const response = await to.request(m.session.prompt, { sessionId, prompt: [{ type: "text", text: "!say tokens" }] });
  u.usage = response.usage?.totalTokens > 0;

  // An MCP server in the editor, for one session.
  const registration = provider.registerServer(to, { name: "pocket", handler: mcpServer });
  const { sessionId: id } = await to.request(m.session.new, { cwd: workspace, mcpServers: [registration.declaration] });
  u.whisper = (await say('!mcp whisper {"word":"hush"}', id)).tools;
  u.elsewhere = (await say('!mcp whisper {"word":"hush"}')).text;
  answer = "accept";
  u.sign = (await say("!mcp sign {}", id)).tools;
  const turn = say("!mcp stall {}", id);
  await stall;
  await to.notify(m.session.cancel, { sessionId: id });
  u.stalled = (await turn).stopReason;
  await registration.dispose();
  const gone = await say('!mcp whisper {"word":"hush"}', id);
  u.gone = gone.tools.map((t) => t.status).concat(/no tool/.test(gone.text) ? ["no tool"] : []);
  await to.request(m.session.close, { sessionId: id });
}

summary.exit = await agent.end();
console.log(JSON.stringify(summary));
process.exit(0);
