package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/acptest"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
)

// load measures the replay of sessions of 1, 10 and 50 MB, each by a new process.
func load(ctx context.Context, binary, dir string) (all []measure, err error) {
	for _, size := range []int64{1, 10, 50} {
		m, err := loadOf(ctx, binary, filepath.Join(dir, fmt.Sprint(size)), size<<20)
		if err != nil {
			return nil, err
		}
		m.step = fmt.Sprintf("session/load of %d MB", size)
		all = append(all, m)
	}
	return all, nil
}

// compactEvery is the number of bytes between two compactions: about the context window of a model.
const compactEvery = 1 << 20

// loadOf measures the replay of a session whose file has at least size bytes: a third each of prompts, answers with a
// call, and results, with compactions in between.
func loadOf(ctx context.Context, binary, dir string, size int64) (m measure, err error) {
	store := sessions.NewStore(filepath.Join(dir, "agent", "sessions"), &sessions.StoreOptions{Sync: sessions.SyncNever})
	log, err := store.Create(ctx, sessions.Header{Cwd: filepath.Join(dir, "work")})
	if err != nil {
		return m, err
	}
	text := strings.Repeat("The quick brown fox jumps over the lazy dog. ", 40)
	last := ""
	for i, compacted := 0, int64(0); ; i++ {
		info, err := os.Stat(log.Path())
		if err == nil && info.Size() >= size {
			break
		}
		if err == nil && info.Size()-compacted >= compactEvery {
			compacted = info.Size()
			if _, err := log.Append(&sessions.Compaction{Summary: text, FirstKeptEntryID: last, TokensBefore: compactEvery / 4}); err != nil {
				return m, err
			}
		}
		call := providers.ToolCall{ID: fmt.Sprintf("call%d", i), Name: "read", Input: []byte(`{"path":"main.go"}`)}
		for _, m := range []providers.Message{
			{Role: providers.RoleUser, Parts: []providers.Part{providers.Text{Text: text[:400]}}},
			{Role: providers.RoleAssistant, Provider: "offline", Model: "demo", Parts: []providers.Part{providers.Thinking{Text: text[:800]}, providers.Text{Text: text}, call}},
			{Role: providers.RoleTool, ToolCallID: call.ID, ToolName: "read", Parts: []providers.Part{providers.Text{Text: text + text}}},
		} {
			m.ID = fmt.Sprintf("m%d-%s", i, m.Role)
			if last, err = log.AppendMessage(&m); err != nil {
				return measure{}, err
			}
		}
	}
	if err := log.Close(); err != nil {
		return m, err
	}
	var bytes atomic.Int64
	agent, work, err := startOffline(ctx, binary, dir, acptest.EditorOptions{Trace: func(sent bool, line []byte) {
		if !sent {
			bytes.Add(int64(len(line)))
		}
	}})
	if err != nil {
		return m, err
	}
	defer end(agent)
	before := bytes.Load()
	begin := time.Now()
	if _, err := acp.MethodSessionLoad.Call(ctx, agent.Conn, &acp.LoadSessionRequest{SessionID: acp.SessionID(log.ID()), Cwd: work}); err != nil {
		return m, err
	}
	took := time.Since(begin)
	return measure{took: took, memory: memory(agent.Process.PID()), rate: float64(bytes.Load()-before) / 1e6 / took.Seconds()}, nil
}

// list measures the list of many sessions, page by page: by the first process that sees them, by the next one, and a
// second time by that one.
func list(ctx context.Context, binary, dir string) (all []measure, err error) {
	const many, projects = 10_000, 20
	agentDir := filepath.Join(dir, "agent")
	store := sessions.NewStore(filepath.Join(agentDir, "sessions"), &sessions.StoreOptions{Sync: sessions.SyncNever})
	for i := range many {
		log, err := store.Create(ctx, sessions.Header{Cwd: filepath.Join(dir, fmt.Sprintf("project%d", i%projects))})
		if err != nil {
			return nil, err
		}
		_, err = log.AppendMessage(&providers.Message{
			ID: "m", Role: providers.RoleUser, Parts: []providers.Part{providers.Text{Text: fmt.Sprintf("Please fix bug %d.", i)}},
		})
		if err != nil {
			return nil, err
		}
		if err := log.Close(); err != nil {
			return nil, err
		}
	}
	// The directories must look old: one that has just changed is read again.
	entries, err := os.ReadDir(filepath.Join(agentDir, "sessions"))
	if err != nil {
		return nil, err
	}
	yesterday := time.Now().Add(-24 * time.Hour)
	for _, e := range entries {
		if err := os.Chtimes(filepath.Join(agentDir, "sessions", e.Name()), yesterday, yesterday); err != nil {
			return nil, err
		}
	}
	// pages requests the list page by page, and measures the first page and all of them.
	pages := func(agent *acptest.Agent, step string) (time.Duration, error) {
		begin, req, n := time.Now(), &acp.ListSessionsRequest{}, 0
		for {
			page, err := acp.MethodSessionList.Call(ctx, agent.Conn, req)
			if err != nil {
				return 0, err
			}
			if n == 0 {
				all = append(all, measure{step: step, took: time.Since(begin), memory: memory(agent.Process.PID())})
			}
			n += len(page.Sessions)
			if req.Cursor = page.NextCursor; req.Cursor == "" {
				break
			}
		}
		if n != many {
			return 0, fmt.Errorf("%d sessions are listed, want %d", n, many)
		}
		return time.Since(begin), nil
	}
	for _, steps := range [][]string{{"session/list of 10,000, first ever"}, {"session/list of 10,000, next process", "session/list of 10,000, warm"}} {
		agent, _, err := startOffline(ctx, binary, dir, acptest.EditorOptions{})
		if err != nil {
			return nil, err
		}
		var took time.Duration
		for _, step := range steps {
			if took, err = pages(agent, step); err != nil {
				break
			}
		}
		if err == nil {
			err = agent.Process.Stdin().Close()
		}
		if err == nil {
			_, err = agent.Process.Wait(ctx)
		}
		end(agent)
		if err != nil {
			return nil, err
		}
		if len(steps) > 1 {
			all = append(all, measure{step: "session/list of 10,000, warm, all pages", took: took})
		}
	}
	return all, nil
}
