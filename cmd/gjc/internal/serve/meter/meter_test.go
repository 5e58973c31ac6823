package meter_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/gajae-code/gjc/cmd/gjc/internal/serve/access"
	"github.com/gajae-code/gjc/cmd/gjc/internal/serve/meter"
)

// log is an audit log in memory.
type log struct {
	mu  sync.Mutex
	b   strings.Builder
	err error
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return 0, l.err
	}
	return l.b.Write(p)
}

// events returns the lines without times.
func (l *log) events(t *testing.T) []string {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []string
	for line := range strings.Lines(l.b.String()) {
		var e map[string]any
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		words := []string{fmt.Sprint(e["event"])}
		for _, name := range []string{"user", "token", "method", "session", "outcome", "code"} {
			if e[name] != nil {
				words = append(words, fmt.Sprint(e[name]))
			}
		}
		all = append(all, strings.Join(words, " "))
	}
	return all
}

// metered is a meter with what it writes.
type metered struct {
	*meter.Meter
	log      *log
	counters *meter.Counters
	now      time.Time
}

func newMetered(t *testing.T, ledger string) *metered {
	m := &metered{log: new(log), counters: meter.NewCounters(), now: time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)}
	clock := func() time.Time { return m.now }
	m.Meter = meter.New(meter.Options{Audit: m.log, Counters: m.counters, Clock: clock, Ledger: meter.OpenLedger(ledger, clock)})
	return m
}

func (m *metered) metric(t *testing.T, name string) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.counters.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	for line := range strings.Lines(w.Body.String()) {
		if rest, ok := strings.CutPrefix(line, name+" "); ok {
			return strings.TrimSpace(rest)
		}
	}
	return "none"
}

// client is a client whose engine is a function.
type client struct {
	t    *testing.T
	in   *io.PipeWriter
	out  *bufio.Reader
	done chan error
}

// connect connects a client. Each message of its goes to engine, whose lines it receives.
func (m *metered) connect(t *testing.T, id *access.Identity, engine func(line string) []string) *client {
	t.Helper()
	conn, err := m.Connect(id, "127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	r, in := io.Pipe()
	out, w := io.Pipe()
	c := &client{t: t, in: in, out: bufio.NewReader(out), done: make(chan error, 1)}
	go func() {
		err := conn.Serve(t.Context(), r, w, func(_ context.Context, r io.Reader, w io.Writer) error {
			lines := bufio.NewScanner(r)
			for lines.Scan() {
				for _, line := range engine(lines.Text()) {
					if _, err := io.WriteString(w, line+"\n"); err != nil {
						return err
					}
				}
			}
			return lines.Err()
		})
		_ = w.Close()
		_ = r.Close()
		c.done <- err
	}()
	return c
}

func (c *client) send(line string) {
	c.t.Helper()
	if _, err := io.WriteString(c.in, line+"\n"); err != nil {
		c.t.Error(err)
	}
}

func (c *client) receive() string {
	c.t.Helper()
	line, err := c.out.ReadString('\n')
	if err != nil {
		c.t.Fatal(err)
	}
	return strings.TrimSpace(line)
}

func (c *client) close() error {
	_ = c.in.Close()
	return <-c.done
}

// engine answers like one with sessions.
func engine() func(line string) []string {
	sessions, price := 0, 0.0
	return func(line string) []string {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct{ SessionID string }
		}
		_ = json.Unmarshal([]byte(line), &m)
		answer := func(result string) string { return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result) }
		cost := func(session string) string {
			price += 0.5
			return fmt.Sprintf(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":%q,"update":{"sessionUpdate":"usage_update","used":1,"size":2,"cost":{"amount":%g,"currency":"USD"}}}}`, session, price)
		}
		switch m.Method {
		case "session/new":
			sessions++
			return []string{answer(fmt.Sprintf(`{"sessionId":"s%d"}`, sessions))}
		case "session/load":
			price = 10
			return []string{cost(m.Params.SessionID), answer(`{}`)}
		case "session/prompt":
			ask := fmt.Sprintf(`{"jsonrpc":"2.0","id":"q","method":"session/request_permission","params":{"sessionId":%q,"toolCall":{"title":"rm secret-name"}}}`, m.Params.SessionID)
			return []string{ask, cost(m.Params.SessionID), answer(`{"stopReason":"end_turn"}`)}
		case "session/fails":
			return []string{fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"the file secret-name is missing","data":{"kind":"bad"}}}`, m.ID)}
		}
		if m.Method == "" || m.ID == nil {
			return nil
		}
		return []string{answer(`{}`)}
	}
}

func TestServe(t *testing.T) {
	m := newMetered(t, filepath.Join(t.TempDir(), "costs.json"))
	c := m.connect(t, &access.Identity{User: "ann", Token: "t1"}, engine())
	c.send(`{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/"}}`)
	if got := c.receive(); got != `{"jsonrpc":"2.0","id":1,"result":{"sessionId":"s1"}}` {
		t.Error(got)
	}
	if got := m.metric(t, "gjc_sessions"); got != "1" {
		t.Errorf("sessions: %s", got)
	}
	c.send(`{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":"s1","prompt":[{"type":"text","text":"secret-name"}]}}`)
	for range 3 {
		c.receive()
	}
	c.send(`{"jsonrpc":"2.0","id":"q","result":{"outcome":{"outcome":"selected","optionId":"allow"}}}`)
	c.send(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s1"}}`)
	c.send(`{"jsonrpc":"2.0","id":{},"method":"session/fails","params":{"sessionId":"s1"}}`)
	c.receive()
	c.send(`not JSON`)
	c.send(`{"jsonrpc":"2.0","id":3,"method":"session/close","params":{"sessionId":"s1"}}`)
	c.receive()
	if got := m.metric(t, "gjc_sessions"); got != "0" {
		t.Errorf("sessions: %s", got)
	}
	if err := c.close(); err != nil {
		t.Error(err)
	}
	want := []string{
		"connected ann t1",
		"request ann t1 session/new s1 ok",
		"request ann t1 session/prompt s1 end_turn",
		"answer ann t1 session/request_permission s1 allow",
		"notification ann t1 session/cancel s1",
		"request ann t1 session/fails s1 bad -32602",
		"request ann t1 session/close s1 ok",
		"disconnected ann t1 ok",
	}
	if diff := cmp.Diff(want, m.log.events(t)); diff != "" {
		t.Error(diff)
	}
	if strings.Contains(m.log.b.String(), "secret-name") {
		t.Error("the audit log has content of the conversation")
	}
	for name, want := range map[string]string{
		"gjc_connections": "0", "gjc_turns": "0", "gjc_cost_dollars_total": "0.5", `gjc_requests_total{method="session/prompt",outcome="ok"}`: "1",
		`gjc_requests_total{method="other",outcome="error"}`: "1",
	} {
		if got := m.metric(t, name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}

func TestLimits(t *testing.T) {
	m := newMetered(t, filepath.Join(t.TempDir(), "costs.json"))
	id := &access.Identity{User: "ann", Token: "t1", Limits: access.Limits{Connections: 2, Sessions: 2}}
	first, second := m.connect(t, id, engine()), m.connect(t, id, engine())
	if _, err := m.Connect(id, "x"); !errors.Is(err, meter.ErrLimit) {
		t.Errorf("a third connection: %v", err)
	}
	if conn, err := m.Connect(&access.Identity{User: "bob", Token: "t2", Limits: id.Limits}, "x"); err != nil {
		t.Errorf("the connection of another one: %v", err)
	} else {
		conn.Close()
	}
	for i := range 2 {
		first.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"session/new","params":{}}`, i))
		first.receive()
	}
	// The sessions of all connections of a token count.
	second.send(`{"jsonrpc":"2.0","id":9,"method":"session/load","params":{"sessionId":"s7"}}`)
	want := `{"jsonrpc":"2.0","id":9,"error":{"code":-32603,"message":"a limit of your token is reached: 2 sessions; close one","data":{"kind":"limit","retryable":true}}}`
	if diff := cmp.Diff(want, second.receive()); diff != "" {
		t.Error(diff)
	}
	if err := first.close(); err != nil {
		t.Error(err)
	}
	second.send(`{"jsonrpc":"2.0","id":9,"method":"session/load","params":{"sessionId":"s7"}}`)
	second.receive()
	if got := second.receive(); !strings.Contains(got, `"result"`) {
		t.Errorf("after the other connection has ended: %s", got)
	}
	if err := second.close(); err != nil {
		t.Error(err)
	}
	if got := m.metric(t, "gjc_sessions"); got != "0" {
		t.Errorf("sessions: %s", got)
	}
}

func TestDrain(t *testing.T) {
	m := newMetered(t, filepath.Join(t.TempDir(), "costs.json"))
	c := m.connect(t, &access.Identity{User: "ann", Token: "t1"}, engine())
	if err := m.Draining(); err != nil {
		t.Error(err)
	}
	m.Drain()
	if err := m.Draining(); !errors.Is(err, meter.ErrDraining) {
		t.Error(err)
	}
	for method, want := range map[string]string{
		"session/new": `"kind":"shutdown"`, "session/load": "connect again in a moment", "session/prompt": "the server is shutting down", "session/close": `"result":{}`,
	} {
		c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{"sessionId":"s1"}}`, method))
		if got := c.receive(); !strings.Contains(got, want) {
			t.Errorf("%s: %s", method, got)
		}
	}
	if err := c.close(); err != nil {
		t.Error(err)
	}
}

func TestLimits_Cost(t *testing.T) {
	file := filepath.Join(t.TempDir(), "costs.json")
	id := &access.Identity{User: "ann", Token: "t1", Limits: access.Limits{Cost: 0.9}}
	prompt := func(c *client) string {
		c.send(`{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":"s1"}}`)
		for {
			if line := c.receive(); strings.HasPrefix(line, `{"jsonrpc":"2.0","id":2`) {
				return line
			}
		}
	}
	m := newMetered(t, file)
	c := m.connect(t, id, engine())
	c.send(`{"jsonrpc":"2.0","id":1,"method":"session/load","params":{"sessionId":"s1"}}`) // it has cost $10 before
	c.receive()
	c.receive()
	for range 2 {
		if got := prompt(c); !strings.Contains(got, "end_turn") {
			t.Error(got)
		}
	}
	if got := prompt(c); !strings.Contains(got, "$0.90 a day; $1.00 are spent") {
		t.Error(got)
	}
	if err := c.close(); err != nil {
		t.Error(err)
	}
	// Also after a restart, until the next day.
	again := newMetered(t, file)
	c = again.connect(t, id, engine())
	if got := prompt(c); !strings.Contains(got, "$1.00 are spent") {
		t.Error(got)
	}
	again.now = again.now.Add(12 * time.Hour)
	if got := prompt(c); !strings.Contains(got, "end_turn") {
		t.Error(got)
	}
	if err := c.close(); err != nil {
		t.Error(err)
	}
}

func TestLimits_Rate(t *testing.T) {
	file := filepath.Join(t.TempDir(), "costs.json")
	synctest.Test(t, func(t *testing.T) {
		m := newMetered(t, file)
		c := m.connect(t, &access.Identity{Token: "t1", Limits: access.Limits{Requests: 3}}, engine())
		status := func() bool {
			c.send(`{"jsonrpc":"2.0","id":1,"method":"session/status"}`)
			return strings.Contains(c.receive(), "result")
		}
		for i, want := range []bool{true, true, true, false} {
			if got := status(); got != want {
				t.Errorf("request %d: %t", i, got)
			}
		}
		time.Sleep(20 * time.Second)
		if !status() {
			t.Error("after a third of a minute there is none again")
		}
		if err := c.close(); err != nil {
			t.Error(err)
		}

		// Bytes are delayed.
		c = m.connect(t, &access.Identity{Token: "t2", Limits: access.Limits{Bytes: 600}}, engine())
		long := `{"jsonrpc":"2.0","id":1,"method":"session/status","x":"` + strings.Repeat("x", 1200) + `"}`
		begin := time.Now()
		c.send(long)
		c.receive()
		if took := time.Since(begin); took < time.Minute || took > 3*time.Minute {
			t.Errorf("%d bytes took %s", len(long), took)
		}
		if err := c.close(); err != nil {
			t.Error(err)
		}
	})
}

// TestCounters_Format checks the output with the parser of Prometheus.
func TestCounters_Format(t *testing.T) {
	m := newMetered(t, filepath.Join(t.TempDir(), "costs.json"))
	c := m.connect(t, &access.Identity{Token: "t1"}, engine())
	c.send(`{"jsonrpc":"2.0","id":1,"method":"a \"method\n of a client's","params":{}}`)
	c.receive()
	if err := c.close(); err != nil {
		t.Error(err)
	}
	m.counters.Watch("gjc_engines", func() float64 { return 2 })
	w := httptest.NewRecorder()
	m.counters.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"gjc_connections", "gjc_engines", "gjc_requests_total", "gjc_request_seconds", "go_goroutines", "gjc_bytes_total", "gjc_refused_total"} {
		if families[name] == nil {
			t.Errorf("there is no metric %s", name)
		}
	}
}

// TestAudit_Fails checks that nothing is done that cannot be recorded.
func TestAudit_Fails(t *testing.T) {
	m := newMetered(t, filepath.Join(t.TempDir(), "costs.json"))
	c := m.connect(t, &access.Identity{Token: "t1"}, engine())
	c.send(`{"jsonrpc":"2.0","id":1,"method":"session/new","params":{}}`)
	c.receive()
	full := errors.New("no space left on device")
	m.log.mu.Lock()
	m.log.err = full
	m.log.mu.Unlock()
	c.send(`{"jsonrpc":"2.0","id":2,"method":"session/status","params":{}}`)
	if err := <-c.done; !errors.Is(err, full) {
		t.Errorf("it ends with %v", err)
	}
	if err := m.Refused(nil, "x", access.ErrUnknown); !errors.Is(err, full) {
		t.Errorf("a refusal: %v", err)
	}
}
