// A command that passes an editor's messages on to an agent by the SDK's WebSocket or HTTP client, as gjc connect does
// by gjc's.
//
//	node pump.mjs ADDRESS

import { createInterface } from "node:readline";
import { remote } from "./stream.mjs";

const stream = remote(process.argv[2]);
const writer = stream.writable.getWriter();

// The client is the judge of what it sends. What is no JSON cannot reach it.
const editor = (async () => {
  for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
    if (line.trim()) await writer.write(JSON.parse(line));
  }
})();

const agent = (async () => {
  for await (const message of stream.readable) process.stdout.write(JSON.stringify(message) + "\n");
})();

await Promise.race([editor, agent]);
await writer.close().catch(() => {}); // it is closed already
process.exit(0);
