package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/acptest"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
)

// loadEntries is how many entries the session has that is loaded.
const loadEntries = 10_000

// load measures the replay of a long session: a third each of prompts, answers with a call, and results.
func load(ctx context.Context, binary, dir string) ([]measure, error) {
	dir = filepath.Join(dir, "load")
	work := filepath.Join(dir, "work")
	store := sessions.NewStore(filepath.Join(dir, "agent", "sessions"), &sessions.StoreOptions{Sync: sessions.SyncNever})
	log, err := store.Create(ctx, sessions.Header{Cwd: work})
	if err != nil {
		return nil, err
	}
	text := strings.Repeat("The quick brown fox jumps over the lazy dog. ", 40)
	for i := 0; i < loadEntries; i += 3 {
		call := providers.ToolCall{ID: fmt.Sprintf("call%d", i), Name: "read", Input: []byte(`{"path":"main.go"}`)}
		for _, m := range []providers.Message{
			{Role: providers.RoleUser, Parts: []providers.Part{providers.Text{Text: text[:400]}}},
			{Role: providers.RoleAssistant, Provider: "offline", Model: "demo", Parts: []providers.Part{providers.Thinking{Text: text[:800]}, providers.Text{Text: text}, call}},
			{Role: providers.RoleTool, ToolCallID: call.ID, ToolName: "read", Parts: []providers.Part{providers.Text{Text: text + text}}},
		} {
			m.ID = fmt.Sprintf("m%d-%s", i, m.Role)
			if _, err := log.AppendMessage(&m); err != nil {
				return nil, err
			}
		}
	}
	if err := log.Close(); err != nil {
		return nil, err
	}
	var bytes atomic.Int64
	agent, work, err := startOffline(ctx, binary, dir, acptest.EditorOptions{Trace: func(sent bool, line []byte) {
		if !sent {
			bytes.Add(int64(len(line)))
		}
	}})
	if err != nil {
		return nil, err
	}
	defer end(agent)
	before := bytes.Load()
	begin := time.Now()
	if _, err := acp.MethodSessionLoad.Call(ctx, agent.Conn, &acp.LoadSessionRequest{SessionID: acp.SessionID(log.ID()), Cwd: work}); err != nil {
		return nil, err
	}
	took := time.Since(begin)
	return []measure{{
		took: took, memory: memory(agent.Process.PID()), rate: float64(bytes.Load()-before) / 1e6 / took.Seconds(),
	}}, nil
}
