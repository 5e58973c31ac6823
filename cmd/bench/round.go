package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/acptest"
	"github.com/gajae-code/gjc/internal/proc"
	"github.com/gajae-code/gjc/providers/providertest"
)

// deltas is how many pieces the long answer has.
const deltas = 5000

// manySessions is how many sessions are opened at once.
const manySessions = 10

// steps are what a round measures, with the aims in milliseconds and megabytes on a machine with two cores.
var steps = []struct {
	name        string
	aim, memory float64
}{
	{"spawn to initialize", 10, 0},
	{"session/new", 2, 20},
	{"prompt to first chunk", 5, 0},
	{"5,000 deltas", 60, 28},
	{"tool call in the client's terminal", 0, 0},
	{"ten sessions", 10, 3},
	// Of servers.
	{"session/new without MCP servers", 2, 0},
	{"session/new with 1 MCP server", 2, 0},
	{"session/new with 5 MCP servers", 2, 0},
	{"first prompt with 5 MCP servers", 0, 0},
	{"ten sessions prompting at once", 0, 0},
	// Of load.
	{"session/load of 10,000 entries", 0, 0},
	// Of cancels.
	{"cancel of a model that streams", 5, 0},
	{"cancel until a command is gone", 50, 0},
	// Of languages.
	{"edit to diagnostics of gopls, broken", 500, 0},
	{"edit to diagnostics of gopls, mended", 500, 0},
	{"definition by gopls", 0, 0},
	{"computing in 200 ms, idle, gopls running", 0.5, 0},
	// Of debugging.
	{"debug launch of a binary by dlv, to a breakpoint", 0, 0},
	{"debug step by dlv with its snapshot", 0, 0},
	{"debug expression by dlv", 0, 0},
	{"debug call that asks the adapter nothing", 0, 0},
	{"debug terminate", 0, 0},
}

// loadStep is the step that has a rate, minReplay the least of it, in MB/s.
const (
	loadStep  = 11
	minReplay = 50
)

// round starts one gjc and takes it through every step.
func round(ctx context.Context, binary, dir string) (_ []measure, err error) {
	work := filepath.Join(dir, "work")
	if err := os.MkdirAll(work, 0o755); err != nil {
		return nil, err
	}
	model := providertest.NewServer(
		providertest.Step{providertest.Text("hi")}, // warms the connection up
		providertest.Step{providertest.Text("first"), providertest.Text("second")},
		providertest.Repeat(deltas, func(i int) providertest.Action { return providertest.Text("word" + strconv.Itoa(i) + " ") }),
		providertest.Step{providertest.Call("c1", "bash", `{"command":"true"}`)},
		providertest.Step{providertest.Text("done")},
	)
	defer model.Close()
	// A title is a request that no round counts with.
	env := proc.Environ(os.Environ(), "GJC_NO_TITLE=1", "GJC_CODING_AGENT_DIR="+filepath.Join(dir, "agent"),
		"ANTHROPIC_API_KEY=sk-ant-bench", "ANTHROPIC_BASE_URL="+model.AnthropicURL())

	first := make(chan time.Time, 1)
	begin := time.Now()
	agent, err := acptest.Start(ctx, acptest.ProcessOptions{
		Path: binary, Args: []string{"acp", "--model", benchModel}, Dir: work, Env: env,
	}, acptest.EditorOptions{Updated: func(n *acp.SessionNotification) {
		if _, ok := n.Update.(*acp.AgentMessageChunk); ok {
			select {
			case first <- time.Now():
			default:
			}
		}
	}})
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("%w\n%s", err, agent.Process.Stderr())
		}
		agent.Process.Kill()
		_ = agent.Close() // the measuring is over
	}()
	var all []measure
	take := func(begin time.Time) {
		all = append(all, measure{took: time.Since(begin), memory: memory(agent.Process.PID())})
	}
	if _, err := agent.Initialize(ctx); err != nil {
		return nil, err
	}
	take(begin)

	begin = time.Now()
	session, err := agent.NewSession(ctx, work)
	if err != nil {
		return nil, err
	}
	take(begin)
	id := session.SessionID

	if _, err := agent.Prompt(ctx, id, "hello"); err != nil {
		return nil, err
	}
	<-first
	begin = time.Now()
	if _, err := agent.Prompt(ctx, id, "hello"); err != nil {
		return nil, err
	}
	all = append(all, measure{took: (<-first).Sub(begin), memory: memory(agent.Process.PID())})

	begin = time.Now()
	if _, err := agent.Prompt(ctx, id, "speak"); err != nil {
		return nil, err
	}
	take(begin)

	begin = time.Now()
	if _, err := agent.Prompt(ctx, id, "run"); err != nil {
		return nil, err
	}
	take(begin)

	before := memory(agent.Process.PID())
	begin = time.Now()
	for range manySessions {
		if _, err := agent.NewSession(ctx, work); err != nil {
			return nil, err
		}
	}
	took := time.Since(begin)
	all = append(all, measure{took: took, memory: max(0, memory(agent.Process.PID())-before) / manySessions})
	if got := len(model.Requests()); got != 5 {
		return nil, fmt.Errorf("the model got %d requests, want 5", got)
	}
	return all, nil
}

// benchModel is any model of the catalogue; what it says comes from the scripted server.
const benchModel = "anthropic/claude-sonnet-5-5"

// memory returns a process's proportional set size in MB, or 0 where the system does not tell.
func memory(pid int) float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return 0
	}
	for line := range bytes.Lines(text) {
		if fields := bytes.Fields(line); len(fields) == 3 && string(fields[0]) == "Pss:" {
			kb, err := strconv.ParseFloat(string(fields[1]), 64)
			if err == nil {
				return kb / 1024
			}
		}
	}
	return 0
}
