#!/usr/bin/env python3
"""An extension of gjc that keeps notes in the session. It needs only Python's standard library.

It offers the model a tool, note, and the user a command, /notes. It refuses to let the model edit *.lock files, and it
reminds the model of the notes when a turn begins. docs/extensions.md describes the protocol.
"""

import json
import sys

notes = []
last_id = 0


def send(message):
    message["jsonrpc"] = "2.0"
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def request(method, params):
    """Send gjc a request. The answer is not awaited, because a handler that waits would block the next message."""
    global last_id
    last_id += 1
    send({"id": "n%d" % last_id, "method": method, "params": params})


def initialize(params):
    notes.extend(entry["data"]["text"] for entry in params["state"] if entry["type"] == "note")
    return {
        "name": "notes",
        "events": ["turn_start", "tool_call"],
        "tools": [
            {
                "name": "note",
                "description": "Keeps a short note for the rest of the session.",
                "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
            }
        ],
        "commands": [{"name": "notes", "description": "Show the notes of this session"}],
    }


def event(params):
    if params["event"] == "turn_start" and notes:
        return {"context": "Notes so far:\n" + "\n".join("- " + n for n in notes)}
    if params["event"] == "tool_call" and params["tool"]["kind"] == "edit":
        if any(path.endswith(".lock") for path in params["tool"]["paths"]):
            return {"block": True, "reason": "lock files are made by tools; run the tool instead"}
    return None


def tool_call(params):
    text = params["input"]["text"]
    notes.append(text)
    request("session/append", {"type": "note", "data": {"text": text}})
    return {"content": [{"type": "text", "text": "Noted: " + text}]}


def command_run(params):
    return {"text": "\n".join("- " + n for n in notes) or "There are no notes."}


HANDLERS = {
    "initialize": initialize,
    "event": event,
    "tool/call": tool_call,
    "command/run": command_run,
    "shutdown": lambda params: {},
}


def main():
    for line in sys.stdin:
        message = json.loads(line)
        if "method" not in message or "id" not in message:
            continue  # an answer, or a notification such as cancel
        handler = HANDLERS.get(message["method"])
        if handler is None:
            send({"id": message["id"], "error": {"code": -32601, "message": "unknown method " + message["method"]}})
            continue
        try:
            send({"id": message["id"], "result": handler(message.get("params") or {})})
        except Exception as err:
            send({"id": message["id"], "error": {"code": -32603, "message": str(err)}})
        if message["method"] == "shutdown":
            return


if __name__ == "__main__":
    main()
