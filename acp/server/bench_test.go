package server_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/google/uuid"

	"github.com/gajae-code/gjc/acp/acptest"
	"github.com/gajae-code/gjc/acp/server"
	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/tools"
	"github.com/gajae-code/gjc/bridges"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/providertest"
	"github.com/gajae-code/gjc/sessions"
)

// benchEditor returns an editor of a server whose model answers with steps.
func benchEditor(b *testing.B, steps ...providertest.Step) *acptest.Editor {
	b.Helper()
	info := providers.ModelInfo{Provider: "test", ID: "script", ContextWindow: 1000}
	return benchServer(b, providertest.NewScript(info, steps...), acptest.EditorOptions{})
}

func benchServer(b *testing.B, model providers.Model, opts acptest.EditorOptions) *acptest.Editor {
	b.Helper()
	x, y := net.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- server.Serve(context.Background(), y, y, y, server.Options{
			Version: "bench", NewID: uuid.NewString, OS: "linux",
			Models: server.ModelOptions{Models: &models{list: []providers.Model{model}}},
			Sessions: server.SessionOptions{
				Store: sessions.NewStore(filepath.Join(b.TempDir(), "sessions"), nil), Tools: func() []agent.Tool { return tools.All(new(tools.Settings)) },
			},
			Machine: machine(bridges.Local{Shell: bridges.FindShell(""), Env: os.Environ()}),
		})
	}()
	e := acptest.NewEditor(context.Background(), x, x, x, opts)
	if _, err := e.Initialize(b.Context()); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = e.Close()
		if err := <-done; err != nil {
			b.Error(err)
		}
	})
	return e
}

func BenchmarkNewSession(b *testing.B) {
	e := benchEditor(b)
	dir := b.TempDir()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := e.NewSession(b.Context(), dir); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkStream5000Deltas(b *testing.B) {
	long := providertest.Repeat(5000, func(i int) providertest.Action { return providertest.Text("word" + strconv.Itoa(i) + " ") })
	var steps []providertest.Step
	for range 2000 {
		steps = append(steps, long)
	}
	e := benchEditor(b, steps...)
	s, err := e.NewSession(b.Context(), b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := e.Prompt(b.Context(), s.SessionID, "go"); err != nil {
			b.Fatal(err)
		}
	}
}
