package extensions

import (
	"github.com/gajae-code/gjc/agent/hooks"
	"github.com/gajae-code/gjc/agent/toolkit/effects"
	"github.com/gajae-code/gjc/internal/configfile"
)

// ProtocolSchema returns the schema of a message of the protocol. Its $defs hold the params and results of each method.
func ProtocolSchema() configfile.JSONSchema {
	text := func() configfile.JSONSchema { return configfile.OfKind(configfile.Text) }
	truth := func() configfile.JSONSchema { return configfile.OfKind(configfile.Boolean) }
	object := func() configfile.JSONSchema { return configfile.JSONSchema{"type": "object"} }
	any := func() configfile.JSONSchema { return configfile.JSONSchema{} }
	events := configfile.OneOf(hooks.Events())
	entry := func() configfile.JSONSchema {
		return configfile.Fields(map[string]configfile.JSONSchema{"type": text(), "data": any()}, "type")
	}
	tool := configfile.Fields(map[string]configfile.JSONSchema{
		"name": text(), "description": text(), "inputSchema": object().About("a JSON Schema of an object; by default no parameters"),
		"parallel": truth().About("calls may run at the same time as others"),
		"effects":  effects.Schema().About("what calls do beyond running the extension; without it they may do anything"),
	}, "name", "description")
	command := configfile.Fields(map[string]configfile.JSONSchema{"name": text(), "description": text(), "hint": text().About("describes the arguments")}, "name")
	part := configfile.Fields(map[string]configfile.JSONSchema{
		"type": configfile.OneOf([]string{"text", "image"}), "text": text(), "data": text().About("a picture in base64"), "mimeType": text(),
	}, "type")
	result := configfile.Fields(map[string]configfile.JSONSchema{"text": text(), "isError": truth()})
	defs := map[string]configfile.JSONSchema{
		"initialize.params": configfile.Fields(map[string]configfile.JSONSchema{
			"protocolVersion": {"const": protocolVersion}, "gjcVersion": text(), "sessionId": text(), "cwd": text(),
			"roots": configfile.ListOf(text()), "capabilities": configfile.ListOf(text()).About("the methods that gjc serves"),
			"state": configfile.ListOf(entry()).About("the extension's entries on the current branch, the oldest first"),
		}).About("gjc → extension: the first request"),
		"initialize.result": configfile.Fields(map[string]configfile.JSONSchema{
			"name": text(), "events": configfile.ListOf(events), "tools": configfile.ListOf(tool), "commands": configfile.ListOf(command),
		}),
		"event.params": configfile.JSONSchema{
			"type": "object", "required": []string{"event", "sessionId", "cwd"},
			"properties": map[string]configfile.JSONSchema{
				"event": events, "hook": text().About("the extension's name"), "sessionId": text(), "cwd": text(), "roots": configfile.ListOf(text()), "mode": text(),
				"tool": object(), "result": object(), "prompt": text(), "reason": text(), "from": text(), "messages": configfile.ListOf(object()), "question": text(),
				"target": text(), "attempt": {"type": "integer"}, "rules": configfile.ListOf(text()), "todo": configfile.ListOf(object()), "subagent": object(),
			},
		}.About("gjc → extension: an event, as hooks receive it"),
		"event.result": configfile.Fields(map[string]configfile.JSONSchema{
			"block": truth(), "reason": text(), "context": text(), "input": object(), "result": result, "messages": configfile.ListOf(object()), "summary": text(), "notice": text(),
		}).About("the answer of a hook; null for no opinion"),
		"tool/call.params": configfile.Fields(map[string]configfile.JSONSchema{"callId": text(), "name": text(), "input": object()}, "callId", "name", "input").About("gjc → extension"),
		"tool/call.result": configfile.Fields(map[string]configfile.JSONSchema{
			"content": configfile.ListOf(part), "text": text(), "isError": truth(), "details": any().About("not for the model"),
		}),
		"command/run.params":     configfile.Fields(map[string]configfile.JSONSchema{"name": text(), "args": text()}, "name", "args").About("gjc → extension"),
		"command/run.result":     configfile.Fields(map[string]configfile.JSONSchema{"text": text().About("shown to the user"), "prompt": text().About("sent to the model")}),
		"cancel.params":          configfile.Fields(map[string]configfile.JSONSchema{"id": any()}, "id").About("gjc → extension, a notification: the answer to a request is not needed any more"),
		"shutdown.params":        object().About("gjc → extension: the session ends"),
		"session/message.params": configfile.Fields(map[string]configfile.JSONSchema{"text": text(), "deliverAs": configfile.OneOf([]string{"steer", "followUp", "nextTurn"})}, "text").About("extension → gjc"),
		"session/append.params":  entry().About("extension → gjc: adds an entry to the session's log, which no model receives"),
		"session/state.result":   configfile.Fields(map[string]configfile.JSONSchema{"entries": configfile.ListOf(entry())}).About("extension → gjc"),
		"ui/notify.params":       configfile.Fields(map[string]configfile.JSONSchema{"text": text(), "level": configfile.OneOf([]string{"info", "warning", "error"})}, "text").About("extension → gjc, a notification"),
		"tool/progress.params":   configfile.Fields(map[string]configfile.JSONSchema{"callId": text(), "text": text()}, "callId", "text").About("extension → gjc, a notification"),
		"log.params":             object().About("extension → gjc, a notification: a line of gjc's log"),
	}
	return configfile.JSONSchema{
		"type": "object", "required": []string{"jsonrpc"}, "$defs": defs,
		"properties": map[string]configfile.JSONSchema{
			"jsonrpc": configfile.JSONSchema{"const": "2.0"}.About("the version of JSON-RPC"),
			"id":      configfile.JSONSchema{"type": []string{"integer", "string", "null"}}.About("of a request and its answer; a notification has none"),
			"method":  text().About("$defs has the params and results of each"), "params": object().About("what the method needs"),
			"result": any().About("the answer to a request"), "error": object().About("why a request has failed: code and message"),
		},
	}
}
