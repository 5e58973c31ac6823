package server_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/server"
	"github.com/gajae-code/gjc/internal/testenv"
)

// called lists the client methods that the agent calls if the client advertises them.
var called = []string{
	"auth/status_update", "elicitation/complete", "elicitation/create", "fs/read_text_file", "fs/write_text_file", "mcp/message",
	"session/request_permission", "session/update", "terminal/create", "terminal/kill", "terminal/output", "terminal/release",
	"terminal/wait_for_exit",
}

// TestReference holds docs/reference/protocol.md to the method table, the schema's updates, the server's responses and the kinds of
// errors. -update rewrites it.
func TestReference(t *testing.T) {
	var doc strings.Builder
	doc.WriteString(`# ACP methods, updates and errors

ACP version 1: every method and update of the schema in @agentclientprotocol/sdk 2.4.0, its unstable parts too. [Protocol](../protocol.md) has what goes beyond it.

## Methods

Served: the agent answers it. Called: the agent calls it, if the condition holds. Refused: answered -32601. Methods that are not listed are refused, and unknown notifications ignored; that includes nes/*, document/* and proxies.

| Method | Kind | Handled by | Schema | gjc | If | Shown by |
|---|---|---|---|---|---|---|
`)
	methodTable(t, &doc)
	doc.WriteString(`
## Updates

| session/update | gjc | If | Shown by |
|---|---|---|---|
`)
	updateTable(t, &doc)
	doc.WriteString("\n## Kinds of errors\n\n| data.kind | What |\n|---|---|\n")
	for _, k := range server.ErrorKinds() {
		fmt.Fprintf(&doc, "| `%s` | %s |\n", k[0], k[1])
	}
	testenv.Document(t, "docs/reference/protocol.md", doc.String())
}

func methodTable(t *testing.T, doc *strings.Builder) {
	e := start(t)
	seen := make(map[string]bool)
	for _, m := range acp.Methods() {
		stability, status := "stable", "refused"
		if m.Unstable {
			stability = "unstable"
		}
		switch {
		case m.Side == acp.SideAgent && m.Kind == acp.KindRequest:
			status = "served"
			if m.Name == "session/close" || m.Name == "initialize" {
				break // calling them would break this test
			}
			err := e.Conn.Call(t.Context(), m.Name, m.NewParams(), nil)
			if errors.Is(err, &acp.Error{Code: acp.ErrorCodeMethodNotFound}) {
				status = "refused"
			}
		case m.Name == acp.MethodSessionCancel.Name, m.Name == acp.MethodCancelRequest.Name, m.Side == acp.SideAgent:
			status = "served"
		case slices.Contains(called, m.Name) && m.Side == acp.SideClient:
			status = "called"
		case m.Side == acp.SideClient:
			status = "not called"
		case m.Kind == acp.KindNotification:
			status = "ignored"
		}
		key := m.Name
		if m.Side == acp.SideAgent && key == "mcp/message" {
			key += " notification"
		}
		r, ok := methodRows[key]
		if !ok {
			t.Errorf("there is no row for %s", key)
		}
		seen[key] = true
		fmt.Fprintf(doc, "| `%s` | %s | %s | %s | %s | %s | %s |\n", m.Name, m.Kind, m.Side, stability, status, r.when, r.tests)
	}
	for key := range methodRows {
		if !seen[key] {
			t.Errorf("there is a row for %s, which is no method", key)
		}
	}
}

// updateTable returns the table of updates. It reads their kinds from the generated decoder.
func updateTable(t *testing.T, doc *strings.Builder) {
	code, err := os.ReadFile(filepath.Join(testenv.ModuleRoot(t), "acp", "unions_gen.go"))
	if err != nil {
		t.Fatal(err)
	}
	_, decoder, _ := strings.Cut(string(code), "func DecodeSessionUpdate(")
	decoder, _, _ = strings.Cut(decoder, "\n}\n")
	found := regexp.MustCompile(`case "(\w+)":`).FindAllStringSubmatch(decoder, -1)
	if len(found) != len(updateRows) {
		t.Errorf("the schema has %d updates, there are rows for %d", len(found), len(updateRows))
	}
	for _, f := range found {
		r, ok := updateRows[f[1]]
		if !ok {
			t.Errorf("there is no row for %s", f[1])
		}
		status := "sent"
		if r.tests == "" {
			status = "not sent"
		}
		fmt.Fprintf(doc, "| `%s` | %s | %s | %s |\n", f[1], status, r.when, r.tests)
	}
}
