package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// avante.nvim writes an empty line after each message, sends no client information, answers a write with null, and
// supports only requests for files and permissions.
func TestProfiles_Avante(t *testing.T) {
	t.Parallel()
	p := startPeer(t, peerOptions{})
	path := filepath.Join(p.work, "a.txt")
	writeFile(t, path, "one\n")
	p.send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{"fs":{"readTextFile":true,"writeTextFile":true}}}}` + "\n")
	p.answer("1")
	p.send(`{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":` + quoted(t, p.work) + `,"mcpServers":[]}}` + "\n")
	m, _ := p.answer("2")
	var session struct{ SessionID string }
	if err := json.Unmarshal(m.Result, &session); err != nil {
		t.Fatal(err)
	}
	p.send(`{"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":` + quoted(t, session.SessionID) +
		`,"prompt":[{"type":"text","text":"!edit a.txt one => two\n!bash touch b.txt"}]}}` + "\n")
	reply := func(to message, result string) {
		t.Helper()
		p.send(`{"jsonrpc":"2.0","id":` + string(to.ID) + `,"result":` + result + "}\n")
	}
	answered := false
	for !answered {
		m, _ := p.until("a call or the answer", func(m message) bool { return len(m.ID) > 0 })
		var params struct {
			Path, Content string
			Options       []struct{ OptionID string }
		}
		if m.Method != "" {
			if err := json.Unmarshal(m.Params, &params); err != nil {
				t.Fatal(err)
			}
		}
		switch m.Method {
		case "fs/read_text_file":
			data, err := os.ReadFile(params.Path)
			if err != nil {
				t.Fatal(err)
			}
			reply(m, `{"content":`+quoted(t, string(data))+"}")
		case "fs/write_text_file":
			writeFile(t, params.Path, params.Content)
			reply(m, "null")
		case "session/request_permission":
			reply(m, `{"outcome":{"outcome":"selected","optionId":`+quoted(t, params.Options[0].OptionID)+"}}")
		case "":
			answered = true
			if !strings.Contains(m.line, `"end_turn"`) || string(m.ID) != "3" {
				t.Errorf("the answer is %s", m.line)
			}
		default:
			t.Fatalf("avante does not know %s", m.Method)
		}
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != "two\n" {
		t.Errorf("the file holds %q, %v", data, err)
	}
	if _, err := os.Stat(filepath.Join(p.work, "b.txt")); err != nil {
		t.Error(err)
	}
	p.stop()
}

func quoted(t *testing.T, s string) string {
	t.Helper()
	raw, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
