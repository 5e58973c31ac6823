package toolstest

import (
	"testing"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/tools"
	"github.com/gajae-code/gjc/agent/tools/shell"
	"github.com/gajae-code/gjc/internal/permit"
	"github.com/gajae-code/gjc/internal/webclient"
)

// Bench measures a call of the tool called name, decoding its input each time.
func Bench(b *testing.B, w *World, name string, in Input) {
	t := Tool(b, name)
	call := w.Call(b, name, in)
	b.ReportAllocs()
	for b.Loop() {
		call.Decoded = nil
		if _, err := t.Run(permit.With(b.Context(), permit.Own()), call); err != nil {
			b.Fatal(err)
		}
	}
}

// Input is the input of a call, before it is encoded.
type Input = map[string]any

// Tool returns the tool called name from a list with all optional tools.
func Tool(t testing.TB, name string) agent.Tool {
	t.Helper()
	for _, tool := range tools.All(Settings()) {
		if tool.Spec().Name == name {
			return tool
		}
	}
	t.Fatalf("no tool %q", name)
	return nil
}

// Run plans and runs a call that must succeed.
func Run(t testing.TB, w *World, name string, in any) *agent.Result {
	t.Helper()
	_, res, err := Do(t.Context(), Tool(t, name), w.Call(t, name, in))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return res
}

// Fails plans and runs a call that must fail, and returns its error.
func Fails(t testing.TB, w *World, name string, in any) error {
	t.Helper()
	_, res, err := Do(t.Context(), Tool(t, name), w.Call(t, name, in))
	if err == nil {
		t.Fatalf("%s succeeded: %s", name, res.Text)
	}
	return err
}

// MustPlan plans a call that must be valid.
func MustPlan(t testing.TB, w *World, name string, in any) *agent.CallPlan {
	t.Helper()
	p, err := Plan(t.Context(), Tool(t, name), w.Call(t, name, in))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return p
}

// Settings returns settings that enable all optional tools.
func Settings() *tools.Settings {
	return &tools.Settings{
		WebSearch: webclient.SearchOptions{SearXNG: "http://127.0.0.1:1"},
		SSH:       []shell.SSHHost{{Name: "web", Address: "web.example", User: "deploy", Port: 2222, Key: "/keys/id", Description: "the\nweb server"}, {Name: "db", Address: "db.example"}},
	}
}
