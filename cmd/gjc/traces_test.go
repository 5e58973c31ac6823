package main

import (
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/providertest"
)

// spansOf receives spans over HTTP. The function returns those that have come.
func spansOf(t *testing.T) (address string, all func() []*tracepb.Span) {
	t.Helper()
	var mu sync.Mutex
	var spans []*tracepb.Span
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		data, err := io.ReadAll(r.Body)
		var got tracepb.TracesData
		if err == nil {
			err = proto.Unmarshal(data, &got)
		}
		if err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		for _, resource := range got.GetResourceSpans() {
			for _, scope := range resource.GetScopeSpans() {
				spans = append(spans, scope.GetSpans()...)
			}
		}
	}))
	t.Cleanup(server.Close)
	return server.URL, func() []*tracepb.Span {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(spans)
	}
}

// tree returns the spans as lines "name attributes", each indented below its parent.
func tree(spans []*tracepb.Span, below string, indent string) (lines []string) {
	spans = slices.Clone(spans)
	slices.SortStableFunc(spans, func(a, b *tracepb.Span) int { return strings.Compare(a.GetName(), b.GetName()) })
	for _, s := range spans {
		if hex.EncodeToString(s.GetParentSpanId()) == below {
			lines = append(lines, indent+s.GetName())
			lines = append(lines, tree(spans, hex.EncodeToString(s.GetSpanId()), indent+"  ")...)
		}
	}
	return lines
}

// attributesOf returns the attributes of the first span with a name.
func attributesOf(t *testing.T, spans []*tracepb.Span, name string) map[string]string {
	t.Helper()
	i := slices.IndexFunc(spans, func(s *tracepb.Span) bool { return s.GetName() == name })
	if i < 0 {
		t.Fatalf("no span %q", name)
	}
	all := make(map[string]string)
	for _, kv := range spans[i].GetAttributes() {
		value := kv.GetValue()
		all[kv.GetKey()] = value.GetStringValue()
		if n := value.GetIntValue(); n != 0 {
			all[kv.GetKey()] = strconv.FormatInt(n, 10)
		}
	}
	return all
}

// tracedModel calls a tool and a helper in its first answer.
func tracedModel(t *testing.T) *providertest.Server {
	t.Helper()
	model := providertest.NewServer()
	t.Cleanup(model.Close)
	var mu sync.Mutex
	turn := 0
	model.Else(func(r providertest.Recorded) providertest.Step {
		if isTitle(r) {
			return providertest.Step{providertest.Text("A title")}
		}
		mu.Lock()
		defer mu.Unlock()
		turn++
		if turn == 1 {
			return providertest.Step{
				providertest.Call("c1", "read", `{"path":"private-name.txt"}`), providertest.Call("c2", "task", `{"tasks":[{"description":"a task","assignment":"private words"}]}`),
				providertest.Use(providers.Usage{Input: 100, Output: 7, CacheRead: 20}),
			}
		}
		return providertest.Step{providertest.Text("private answer")}
	})
	return model
}

// TestTraces has one turn with a tool call and a helper.
func TestTraces(t *testing.T) {
	t.Parallel()
	address, spans := spansOf(t)
	home := scripted(t, tracedModel(t), 100_000, "")
	p := startPeer(t, peerOptions{home: home, env: []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + address, "OTEL_EXPORTER_OTLP_HEADERS=x-key=private"}})
	if err := os.WriteFile(filepath.Join(p.work, "private-name.txt"), []byte("private text"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.initialize(nil)
	id := p.session("auto")
	m, before := p.answer(p.request("session/prompt", object{
		"sessionId": id, "prompt": []any{object{"type": "text", "text": "private prompt"}},
		"_meta": object{"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "tracestate": "vendor=1"},
	}))
	if m.Error != nil || !strings.Contains(m.line, "end_turn") {
		t.Fatalf("%s\n%s", m.line, strings.Join(lines(before), "\n"))
	}
	p.stop()

	all := spans()
	want := []string{
		"invoke_agent gjc",
		"  chat large", "  chat large",
		"  execute_tool read",
		"  execute_tool task",
		"    invoke_agent executor",
		"      chat large",
	}
	if diff := cmp.Diff(want, tree(all, "b7ad6b7169203331", "")); diff != "" {
		t.Errorf("the tree: %s", diff)
	}
	for _, s := range all {
		if hex.EncodeToString(s.GetTraceId()) != "0af7651916cd43dd8448eb211c80319c" || s.GetTraceState() != "vendor=1" {
			t.Errorf("%s is not part of the client's trace", s.GetName())
		}
		if strings.Contains(s.String(), "private") {
			t.Errorf("a span has content: %s", s)
		}
	}
	if diff := cmp.Diff(map[string]string{
		"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "read", "gen_ai.tool.call.id": "c1", "gen_ai.tool.type": "function",
	}, attributesOf(t, all, "execute_tool read")); diff != "" {
		t.Error(diff)
	}
	chat := attributesOf(t, all, "chat large")
	delete(chat, "gen_ai.response.finish_reasons")
	if diff := cmp.Diff(map[string]string{
		"gen_ai.operation.name": "chat", "gen_ai.provider.name": "fake", "gen_ai.request.model": "large", "gen_ai.response.model": "large",
		"gen_ai.conversation.id": id, "gen_ai.usage.input_tokens": "120", "gen_ai.usage.output_tokens": "7", "gen_ai.usage.cache_read.input_tokens": "20",
	}, chat); diff != "" {
		t.Error(diff)
	}
	if turn := attributesOf(t, all, "invoke_agent gjc"); turn["gen_ai.conversation.id"] != id || turn["gen_ai.agent.name"] != "gjc" || turn["gjc.stop_reason"] != "end_turn" {
		t.Errorf("the turn: %v", turn)
	}
}

// TestTraces_Run has the same variables for gjc run. An absent or silent collector is a line in the log, and nothing else.
func TestTraces_Run(t *testing.T) {
	t.Parallel()
	address, spans := spansOf(t)
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done() // gjc has given up
	}))
	t.Cleanup(silent.Close)
	for _, c := range []struct{ address, protocol, says string }{
		{address, "", ""},
		{"http://127.0.0.1:1", "", "traces are lost"},
		{silent.URL, "", "sending the last traces"},
		{address, "grpc", `OTEL_EXPORTER_OTLP_PROTOCOL is \"grpc\"`},
	} {
		before := len(spans())
		home := scripted(t, tracedModel(t), 100_000, "")
		cmd := exec.CommandContext(t.Context(), self(t), "run", "hello")
		cmd.Dir, cmd.Env = tempDir(t), environment(home, "OTEL_EXPORTER_OTLP_ENDPOINT="+c.address, "OTEL_EXPORTER_OTLP_PROTOCOL="+c.protocol)
		var log strings.Builder
		cmd.Stderr = &log
		out, err := cmd.Output()
		if err != nil || string(out) != "private answer\n" {
			t.Errorf("%+v: %s, %v", c, out, err)
		}
		if got := len(spans()) - before; (got > 0) != (c.says == "") {
			t.Errorf("%+v: %d spans", c, got)
		}
		if !strings.Contains(log.String(), c.says) {
			t.Errorf("%+v: %s", c, &log)
		}
	}
}
