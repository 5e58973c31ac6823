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

// deltas is the number of deltas of the long response.
const deltas = 5000

// manySessions is the number of concurrent sessions.
const manySessions = 10

// steps lists the measured steps with their aims, in milliseconds and megabytes, on a machine with two cores.
var steps = []struct {
	name                   string
	aim, memory, anonymous float64
}{
	{"spawn to initialize", 8, 18, 2},
	{"session/new", 2, 22, 3},
	{"spawn to session", 10, 0, 0},
	{"prompt to first chunk, first", 8, 0, 0},
	{"prompt to first chunk, warm", 2.5, 0, 0},
	{"5,000 deltas, first", 60, 0, 0},
	{"5,000 deltas, warm", 40, 28, 8},
	{"tool call in the client's terminal", 0, 0, 0},
	{"ten sessions", 10, 3, 0},

	{"session/new without MCP servers", 2, 0, 0},
	{"session/new with 1 MCP server", 2, 0, 0},
	{"session/new with 5 MCP servers", 2, 0, 0},
	{"first prompt with 5 MCP servers", 0, 0, 0},
	{"ten sessions prompting at once", 0, 0, 0},

	{"session/load of 1 MB", 60, 0, 0},
	{"session/load of 10 MB", 300, 0, 0},
	{"session/load of 50 MB", 1300, 60, 0},

	{"session/list of 10,000, first ever", 150, 0, 0},
	{"session/list of 10,000, next process", 20, 0, 0},
	{"session/list of 10,000, warm", 5, 0, 0},
	{"session/list of 10,000, warm, all pages", 0, 0, 0},

	{"bash -c true, without gjc", 0, 0, 0},
	{"tool call on this machine, first", 0, 0, 0},
	{"tool call on this machine", 5, 0, 0},
	{"cancel of a model that streams", 5, 0, 0},
	{"cancel until a command is gone", 50, 0, 0},
	{"stdin closed inside a prompt", 20, 0, 0},

	{"edit to diagnostics of gopls, broken", 500, 0, 0},
	{"edit to diagnostics of gopls, mended", 500, 0, 0},
	{"definition by gopls", 0, 0, 0},
	{"computing in 200 ms, idle, gopls running", 0.5, 0, 0},

	{"debug launch of a binary by dlv, to a breakpoint", 0, 0, 0},
	{"debug step by dlv with its snapshot", 0, 0, 0},
	{"debug expression by dlv", 0, 0, 0},
	{"debug call that asks the adapter nothing", 0, 0, 0},
	{"debug terminate", 0, 0, 0},
}

// replayStep has a rate; minReplay is its aim, in MB/s.
const (
	replayStep = "session/load of 10 MB"
	minReplay  = 50
)

// round starts one gjc and takes it through every step.
func round(ctx context.Context, binary, dir string) (_ []measure, err error) {
	work := filepath.Join(dir, "work")
	if err := os.MkdirAll(work, 0o755); err != nil {
		return nil, err
	}
	model := scriptedModel()
	defer model.Close()
	// A title would need a request that the rounds do not count.
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
		_ = agent.Close() // the measurement is over
	}()
	var all []measure
	take := func(step string, took time.Duration) {
		all = append(all, measure{step: step, took: took, memory: memory(agent.Process.PID())})
	}
	if _, err := agent.Initialize(ctx); err != nil {
		return nil, err
	}
	started := time.Since(begin)
	take("spawn to initialize", started)

	begin = time.Now()
	session, err := agent.NewSession(ctx, work)
	if err != nil {
		return nil, err
	}
	took := time.Since(begin)
	take("session/new", took)
	take("spawn to session", started+took)
	id := session.SessionID

	for _, step := range []string{"prompt to first chunk, first", "prompt to first chunk, warm"} {
		begin = time.Now()
		if _, err := agent.Prompt(ctx, id, "hello"); err != nil {
			return nil, err
		}
		take(step, (<-first).Sub(begin))
	}
	for _, step := range []string{"5,000 deltas, first", "5,000 deltas, warm", "tool call in the client's terminal"} {
		begin = time.Now()
		if _, err := agent.Prompt(ctx, id, "go on"); err != nil {
			return nil, err
		}
		take(step, time.Since(begin))
	}

	added, err := openSessions(ctx, agent, work)
	if err != nil {
		return nil, err
	}
	all = append(all, added)
	if got := len(model.Requests()); got != 6 {
		return nil, fmt.Errorf("the model got %d requests, want 6", got)
	}
	return all, nil
}

// scriptedModel serves the responses of one round.
func scriptedModel() *providertest.Server {
	long := providertest.Repeat(deltas, func(i int) providertest.Action { return providertest.Text("word" + strconv.Itoa(i) + " ") })
	return providertest.NewServer(
		providertest.Step{providertest.Text("hi")},
		providertest.Step{providertest.Text("first"), providertest.Text("second")},
		long, long,
		providertest.Step{providertest.Call("c1", "bash", `{"command":"true"}`)},
		providertest.Step{providertest.Text("done")},
	)
}

// openSessions measures how much time and memory many sessions take; the memory is each session's share.
func openSessions(ctx context.Context, agent *acptest.Agent, work string) (measure, error) {
	before := memory(agent.Process.PID())
	begin := time.Now()
	for range manySessions {
		if _, err := agent.NewSession(ctx, work); err != nil {
			return measure{}, err
		}
	}
	took := time.Since(begin)
	added := memory(agent.Process.PID()).minus(before)
	return measure{step: "ten sessions", took: took, memory: memoryUse{added.pss / manySessions, added.anonymous / manySessions}}, nil
}

// benchModel is any model of the catalogue; the scripted server answers for it.
const benchModel = "anthropic/claude-sonnet-5-5"

// memoryUse holds a process's proportional set size and its share of anonymous pages, in MB. Both are 0 if the system
// does not report them.
type memoryUse struct{ pss, anonymous float64 }

func (m memoryUse) minus(other memoryUse) memoryUse {
	return memoryUse{max(0, m.pss-other.pss), max(0, m.anonymous-other.anonymous)}
}

func memory(pid int) (m memoryUse) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return m
	}
	for line := range bytes.Lines(text) {
		fields := bytes.Fields(line)
		if len(fields) != 3 {
			continue
		}
		kb, err := strconv.ParseFloat(string(fields[1]), 64)
		if err != nil {
			continue
		}
		switch string(fields[0]) {
		case "Pss:":
			m.pss = kb / 1024
		case "Pss_Anon:":
			m.anonymous = kb / 1024
		}
	}
	return m
}
