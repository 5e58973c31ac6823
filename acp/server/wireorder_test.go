package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/acp/server"
	"github.com/gajae-code/gjc/internal/testenv"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/providertest"
)

// rawPeer is an editor that writes several lines at once, in the order that the test requires.
type rawPeer struct {
	t    *testing.T
	conn net.Conn
	in   *bufio.Reader
	dir  string
}

func startRaw(t *testing.T, change ...func(*config)) *rawPeer {
	t.Helper()
	testenv.NoLeaks(t)
	a, b := net.Pipe()
	c := newConfig(t, change...)
	done := make(chan error, 1)
	go func() { done <- server.Serve(context.Background(), b, b, b, c.server) }()
	t.Cleanup(func() {
		_ = a.Close()
		if err := <-done; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	p := &rawPeer{t: t, conn: a, in: bufio.NewReaderSize(a, 1<<20), dir: t.TempDir()}
	p.send(`{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":1}}`)
	p.answer("init")
	return p
}

func (p *rawPeer) send(lines ...string) {
	p.t.Helper()
	go func() { _, _ = p.conn.Write([]byte(strings.Join(lines, "\n") + "\n")) }() // ends with the connection
}

type rawMessage struct {
	ID     any
	Method string
	Params struct{ Update map[string]any }
	Result map[string]any
	Error  map[string]any
}

func (p *rawPeer) next() rawMessage {
	p.t.Helper()
	line, err := p.in.ReadString('\n')
	if err != nil {
		p.t.Fatal(err)
	}
	var m rawMessage
	if err := json.Unmarshal([]byte(line), &m); err != nil {
		p.t.Fatal(err)
	}
	return m
}

// answer reads up to the response to a request, and returns the updates before it too.
func (p *rawPeer) answer(id string) (m rawMessage, updates []map[string]any) {
	p.t.Helper()
	for {
		m = p.next()
		if m.ID == id && m.Method == "" {
			return m, updates
		}
		if m.Method == "session/update" {
			updates = append(updates, m.Params.Update)
		}
	}
}

func (p *rawPeer) session() string {
	p.t.Helper()
	p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":"new","method":"session/new","params":{"cwd":%q,"mcpServers":[]}}`, p.dir))
	m, _ := p.answer("new")
	id, _ := m.Result["sessionId"].(string)
	return id
}

// A cancellation after steering that began a turn stops that turn.
func TestSteering_ThenCancel(t *testing.T) {
	p := startRaw(t, scripted(), func(c *config) {
		c.server.Models.Models.(*models).list[0].(*providertest.Script).Else(func(*providers.Request) providertest.Step {
			return providertest.Repeat(100_000, func(int) providertest.Action { return providertest.Text("on and on ") })
		})
	})
	id := p.session()
	for n := range 20 {
		p.send(
			fmt.Sprintf(`{"jsonrpc":"2.0","id":"steer","method":"_session/steering","params":{"sessionId":%q,"prompt":[{"type":"text","text":"go"}]}}`, id),
			fmt.Sprintf(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":%q}}`, id),
			fmt.Sprintf(`{"jsonrpc":"2.0","id":"last","method":"session/prompt","params":{"sessionId":%q,"prompt":[{"type":"text","text":"/session"}]}}`, id),
		)
		_, updates := p.answer("last")
		chunks := 0
		for _, u := range updates {
			if u["sessionUpdate"] == "agent_message_chunk" {
				chunks++
			}
		}
		if chunks > 1000 {
			t.Fatalf("round %d: the turn went on for %d chunks after the cancel", n, chunks)
		}
	}
}

// Consecutive steering keeps its order.
func TestSteering_KeepsTheOrder(t *testing.T) {
	gate := providertest.NewGate()
	defer gate.Open()
	var script *providertest.Script
	p := startRaw(t, scripted(providertest.Step{providertest.Text("working"), gate.Hold()}, providertest.Step{providertest.Text("done")}), func(c *config) {
		script = c.server.Models.Models.(*models).list[0].(*providertest.Script)
	})
	id := p.session()
	p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":"turn","method":"session/prompt","params":{"sessionId":%q,"prompt":[{"type":"text","text":"begin"}]}}`, id))
	for {
		if m := p.next(); m.Params.Update["sessionUpdate"] == "agent_message_chunk" {
			break
		}
	}
	var lines, want []string
	for i := range 30 {
		want = append(want, fmt.Sprint("note ", i))
		lines = append(lines, fmt.Sprintf(`{"jsonrpc":"2.0","id":"s%d","method":"_session/steering","params":{"sessionId":%q,"prompt":[{"type":"text","text":"note %d"}]}}`, i, id, i))
	}
	p.send(lines...)
	for answered := 0; answered < len(lines); {
		if m := p.next(); m.Result["outcome"] == "injected" {
			answered++
		}
	}
	gate.Open()
	p.answer("turn")
	var got []string
	for _, m := range script.Requests()[1].Messages[2:] {
		got = append(got, m.Text())
	}
	if strings.Join(got, ",") != strings.Join(want, ",") {
		t.Errorf("the model got %q", got)
	}
}

// Of consecutive changes to a setting, the last one is sent last, and each response has its own value.
func TestSettings_LastIsSentLast(t *testing.T) {
	p := startRaw(t)
	id := p.session()
	modes := []string{"plan", "strict", "auto", "default", "plan", "auto"}
	current := func(options any) string {
		for _, o := range options.([]any) {
			if o := o.(map[string]any); o["id"] == "mode" {
				return o["currentValue"].(string)
			}
		}
		return ""
	}
	for round := range 15 {
		var lines []string
		for i, mode := range modes {
			lines = append(lines, fmt.Sprintf(`{"jsonrpc":"2.0","id":"%d","method":"session/set_config_option","params":{"sessionId":%q,"configId":"mode","value":%q}}`, i, id, mode))
		}
		for i, mode := range modes {
			lines = append(lines, fmt.Sprintf(`{"jsonrpc":"2.0","id":"m%d","method":"session/set_mode","params":{"sessionId":%q,"modeId":%q}}`, i, id, mode))
		}
		p.send(append(lines, fmt.Sprintf(`{"jsonrpc":"2.0","id":"end","method":"session/set_mode","params":{"sessionId":%q,"modeId":"default"}}`, id))...)
		lastOption, lastMode, next := "", "", 0
		for {
			m := p.next()
			switch m.Params.Update["sessionUpdate"] {
			case "config_option_update":
				lastOption = current(m.Params.Update["configOptions"])
			case "current_mode_update":
				lastMode = m.Params.Update["currentModeId"].(string)
			}
			if options, ok := m.Result["configOptions"]; ok {
				if m.ID != fmt.Sprint(next) || current(options) != modes[next] {
					t.Fatalf("round %d: answer %v says %s, want answer %d with %s", round, m.ID, current(options), next, modes[next])
				}
				next++
			}
			if m.ID == "end" && m.Method == "" {
				break
			}
		}
		if lastOption != "default" || lastMode != "auto" {
			t.Fatalf("round %d: sent last: option %s, mode %s", round, lastOption, lastMode)
		}
	}
}

// A load after a delete finds nothing, even if the load before the delete has not ended.
func TestDelete_ThenLoad(t *testing.T) {
	p := startRaw(t)
	for range 10 {
		id := p.session()
		p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":"turn","method":"session/prompt","params":{"sessionId":%q,"prompt":[{"type":"text","text":"!say x"}]}}`, id))
		p.answer("turn")
		load := fmt.Sprintf(`"method":"session/load","params":{"sessionId":%q,"cwd":%q,"mcpServers":[]}}`, id, p.dir)
		p.send(
			fmt.Sprintf(`{"jsonrpc":"2.0","id":"close","method":"session/close","params":{"sessionId":%q}}`, id),
			`{"jsonrpc":"2.0","id":"one",`+load,
			fmt.Sprintf(`{"jsonrpc":"2.0","id":"delete","method":"session/delete","params":{"sessionId":%q}}`, id),
			`{"jsonrpc":"2.0","id":"two",`+load,
		)
		got := make(map[any]rawMessage)
		for len(got) < 4 {
			if m := p.next(); m.Method == "" {
				got[m.ID] = m
			}
		}
		if got["delete"].Error != nil {
			t.Fatalf("delete: %v", got["delete"].Error)
		}
		if code := got["two"].Error["code"]; code != float64(-32002) {
			t.Fatalf("the load after the delete: %+v", got["two"])
		}
	}
}
