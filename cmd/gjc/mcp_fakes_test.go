package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

// asMCP is the environment variable that makes the test binary an MCP server.
const asMCP = "GJC_TEST_AS_MCP"

// init runs before TestMain, which would turn the server into gjc: it inherits gjc's environment.
func init() {
	if name := os.Getenv(asMCP); name != "" {
		fakeMCP(name)
		os.Exit(0)
	}
}

// fakeServer returns the entry of a fake MCP server with this name.
func (h *mcpHost) fakeServer(name string, env ...string) object {
	h.t.Helper()
	return stdioServer(name, self(h.t), []string{}, append([]string{asMCP + "=" + name}, env...)...)
}

// fakeMCP is an MCP server over stdio, of the generation with a handshake. Its name determines its fault.
func fakeMCP(name string) {
	out, in := json.NewEncoder(os.Stdout), json.NewDecoder(os.Stdin)
	open := object{"type": "object"}
	tool := func(name string, schema any) object {
		return object{"name": name, "inputSchema": schema, "annotations": object{"readOnlyHint": true}}
	}
	tools := []any{tool("who", open), tool("run", open)}
	if name == "liar" {
		tools = append(tools, object{"name": "", "inputSchema": open}, tool("list", []any{1}), tool("wrong", object{"type": "object", "properties": 7}),
			object{"name": "promise", "inputSchema": open, "annotations": object{"readOnlyHint": true}, "outputSchema": object{
				"type": "object", "properties": object{"n": object{"type": "integer"}}, "required": []any{"n"},
			}})
	}
	text := func(s string) object { return object{"content": []any{object{"type": "text", "text": s}}} }
	if name == "hang" {
		for in.More() {
			var any json.RawMessage
			if in.Decode(&any) != nil {
				return
			}
		}
		return
	}
	var nagging json.RawMessage // the call of "nag" that asks questions
	asked, lists := 0, 0
	ask := func() {
		asked++
		_ = out.Encode(object{"jsonrpc": "2.0", "id": 1000 + asked, "method": "elicitation/create", "params": object{
			"message": fmt.Sprintf("Question %d?", asked), "requestedSchema": object{"type": "object", "properties": object{"ok": object{"type": "boolean"}}},
		}})
	}
	for {
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params struct {
				Name            string `json:"name"`
				ProtocolVersion string `json:"protocolVersion"`
				Meta            struct {
					ProgressToken any `json:"progressToken"`
				} `json:"_meta"`
			} `json:"params"`
			Error *struct{ Message string } `json:"error"`
		}
		if in.Decode(&m) != nil {
			return
		}
		if nagging != nil && m.Method == "" {
			if m.Error == nil {
				ask()
				continue
			}
			_ = out.Encode(object{"jsonrpc": "2.0", "id": nagging, "result": text(m.Error.Message)})
			nagging = nil
			continue
		}
		if name == "junk" {
			fmt.Println("debug: a message came\x00\xff")
		}
		if m.ID == nil || m.Method == "" {
			continue
		}
		answer := object{"jsonrpc": "2.0", "id": m.ID}
		switch m.Method {
		case "initialize":
			answer["result"] = object{
				"protocolVersion": m.Params.ProtocolVersion, "serverInfo": object{"name": name, "version": "0"},
				"capabilities": object{"tools": object{"listChanged": true}},
			}
		case "tools/list":
			lists++
			answer["result"] = object{"tools": tools}
		case "tools/call":
			switch {
			case m.Params.Name == "who":
				answer["result"] = text(fmt.Sprintf("pid %d who %s", os.Getpid(), os.Getenv("WHO")))
			case m.Params.Name == "run" && name == "place":
				dir, _ := os.Getwd()
				answer["result"] = text(strings.Join(append(os.Args[1:], dir), "|"))
			case m.Params.Name == "promise":
				answer["result"] = object{"content": []any{}, "structuredContent": object{"n": "many"}}
			case name == "die":
				fmt.Fprintln(os.Stderr, "panic: out of cheese")
				os.Exit(7)
			case name == "huge":
				answer["result"] = text(strings.Repeat("y", 100<<20))
			case name == "restless":
				for range 3_000 {
					_ = out.Encode(object{"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
				}
				answer["result"] = text(fmt.Sprintf("listed %d times", lists))
			case name == "nag":
				nagging = m.ID
				ask()
				continue
			case name == "wait":
				// It reports that it has begun, and never ends.
				_ = out.Encode(object{"jsonrpc": "2.0", "method": "notifications/progress", "params": object{
					"progressToken": m.Params.Meta.ProgressToken, "progress": 1, "message": "begun",
				}})
				continue
			case name == "grow":
				tools = []any{tool("grown", open)}
				_ = out.Encode(object{"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
				answer["result"] = text("grew")
			default:
				answer["result"] = text("ran " + m.Params.Name)
			}
		default:
			answer["error"] = object{"code": -32601, "message": "Method not found"}
		}
		_ = out.Encode(answer)
	}
}
