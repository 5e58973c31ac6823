package server_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/internal/testenv"
)

// called are the client's methods that the agent calls, each only where the client advertises it.
var called = []string{
	"fs/read_text_file", "fs/write_text_file", "session/request_permission", "session/update", "terminal/create",
	"terminal/kill", "terminal/output", "terminal/release", "terminal/wait_for_exit",
}

// TestProtocolDocument holds docs/protocol.md to the method table and to what the server answers. -update rewrites it.
func TestProtocolDocument(t *testing.T) {
	e := start(t)
	var doc strings.Builder
	doc.WriteString(`# Protocol

ACP version 1, every method of the schema in @agentclientprotocol/sdk 2.4.0. The table is made from the method table and from what the built server answers (` + "`go test ./acp/server -run ProtocolDocument -update`" + `).

Served: the agent answers it. Called: the agent calls it, where the client advertises it. Not served methods are answered -32601; unknown notifications are ignored.

| Method | Kind | Handled by | Schema | gjc |
|---|---|---|---|---|
`)
	for _, m := range acp.Methods() {
		stability, status := "stable", "–"
		if m.Unstable {
			stability = "unstable"
		}
		switch {
		case m.Side == acp.SideAgent && m.Kind == acp.KindRequest:
			if m.Name == "session/close" || m.Name == "initialize" {
				status = "served" // their effect on this test would be in the way
				break
			}
			status = "served"
			err := e.Conn.Call(t.Context(), m.Name, m.NewParams(), nil)
			if errors.Is(err, &acp.Error{Code: acp.ErrorCodeMethodNotFound}) {
				status = "not served"
			}
		case m.Name == acp.MethodSessionCancel.Name, m.Name == acp.MethodCancelRequest.Name:
			status = "served"
		case m.Side == acp.SideAgent:
			status = "ignored"
		case slices.Contains(called, m.Name) && m.Side == acp.SideClient:
			status = "called"
		case m.Side == acp.SideClient:
			status = "not called"
		}
		fmt.Fprintf(&doc, "| `%s` | %s | %s | %s | %s |\n", m.Name, m.Kind, m.Side, stability, status)
	}
	path := filepath.Join(testenv.ModuleRoot(t), "docs", "protocol.md")
	if testenv.Update() {
		if err := os.WriteFile(path, []byte(doc.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	have, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(have), doc.String()); diff != "" {
		t.Errorf("docs/protocol.md (-have +want), run with -update:\n%s", diff)
	}
}
