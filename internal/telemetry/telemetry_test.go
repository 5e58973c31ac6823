package telemetry_test

import (
	"compress/gzip"
	"context"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/gajae-code/gjc/internal/telemetry"
	"github.com/gajae-code/gjc/internal/testenv"
)

// collector receives spans over HTTP.
type collector struct {
	*httptest.Server
	mu       sync.Mutex
	requests []*http.Request
	spans    []*tracepb.ResourceSpans
}

// newCollector starts a collector whose answers come from answer; nil for 200.
func newCollector(t *testing.T, answer func(n int, w http.ResponseWriter, r *http.Request)) *collector {
	t.Helper()
	c := new(collector)
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := io.Reader(r.Body)
		if r.Header.Get("Content-Encoding") == "gzip" {
			unpacked, err := gzip.NewReader(r.Body)
			if err != nil {
				t.Error(err)
				return
			}
			body = unpacked
		}
		data, err := io.ReadAll(body)
		if err != nil {
			return // the exporter has given up
		}
		var got tracepb.TracesData // the wire form of ExportTraceServiceRequest is the same
		if err := proto.Unmarshal(data, &got); err != nil {
			t.Errorf("decoding %x: %v", data, err)
		}
		c.mu.Lock()
		c.requests = append(c.requests, r)
		n := len(c.requests)
		c.mu.Unlock()
		if answer != nil {
			answer(n, w, r)
			return
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.spans = append(c.spans, got.GetResourceSpans()...)
	}))
	t.Cleanup(c.Close)
	return c
}

// tracer returns a tracer for variables. It must have no problems.
func tracer(t *testing.T, warn func(string), env map[string]string) *telemetry.Tracer {
	t.Helper()
	tr, problems := telemetry.FromEnviron(func(name string) string { return env[name] }, "1.2.3", warn)
	if len(problems) > 0 || tr == nil {
		t.Fatalf("%v: %q", tr, problems)
	}
	return tr
}

func fatal(t *testing.T) func(string) { return func(text string) { t.Error(text) } }

// values returns attributes by key.
func values(all []*commonpb.KeyValue) map[string]any {
	m := make(map[string]any)
	for _, kv := range all {
		switch v := kv.GetValue().GetValue().(type) {
		case *commonpb.AnyValue_StringValue:
			m[kv.GetKey()] = v.StringValue
		case *commonpb.AnyValue_IntValue:
			m[kv.GetKey()] = v.IntValue
		case *commonpb.AnyValue_DoubleValue:
			m[kv.GetKey()] = v.DoubleValue
		case *commonpb.AnyValue_BoolValue:
			m[kv.GetKey()] = v.BoolValue
		case *commonpb.AnyValue_ArrayValue:
			var list []string
			for _, one := range v.ArrayValue.GetValues() {
				list = append(list, one.GetStringValue())
			}
			m[kv.GetKey()] = list
		}
	}
	return m
}

func TestTracer(t *testing.T) {
	testenv.NoLeaks(t)
	for _, compression := range []string{"", "gzip"} {
		c := newCollector(t, nil)
		tr := tracer(t, fatal(t), map[string]string{
			"OTEL_EXPORTER_OTLP_ENDPOINT": c.URL + "/base/", "OTEL_EXPORTER_OTLP_HEADERS": "x-key=a%20key, x-other = b", "OTEL_EXPORTER_OTLP_COMPRESSION": compression,
			"OTEL_RESOURCE_ATTRIBUTES": "deployment.environment.name=test,service.version=9", "OTEL_SERVICE_NAME": "agents",
		})
		remote := map[string]string{"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "tracestate": "vendor=1"}
		ctx, turn := tr.Begin(t.Context(), remote, telemetry.InvokeAgent, "gjc")
		_, call := telemetry.Start(ctx, telemetry.Client, telemetry.Chat, "m1")
		call.Set("negative", int64(-5))
		call.Set("zero", int64(0))
		call.Set("half", 0.5)
		call.Set("yes", true)
		call.Set("list", []string{"a", "", "b"})
		call.Set("bad", "caf\xc3")
		call.Set("long", strings.Repeat("x", 5000))
		call.Usage(10, 3)
		call.Fail("rate_limit")
		call.End()
		call.End()
		carried := call.Carry()
		turn.End()
		if err := tr.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if len(c.requests) != 1 || len(c.spans) != 1 {
			t.Fatalf("%d requests, %d resources", len(c.requests), len(c.spans))
		}
		r := c.requests[0]
		if r.URL.Path != "/base/v1/traces" || r.Header.Get("X-Key") != "a key" || r.Header.Get("X-Other") != "b" || r.Header.Get("Content-Type") != "application/x-protobuf" {
			t.Errorf("the request: %s %v", r.URL, r.Header)
		}
		want := map[string]any{
			"service.name": "agents", "service.version": "9", "deployment.environment.name": "test",
			"telemetry.sdk.name": "gjc", "telemetry.sdk.language": "go", "telemetry.sdk.version": "1.2.3",
		}
		if diff := cmp.Diff(want, values(c.spans[0].GetResource().GetAttributes())); diff != "" {
			t.Error(diff)
		}
		spans := c.spans[0].GetScopeSpans()[0].GetSpans()
		if len(spans) != 2 {
			t.Fatalf("%d spans", len(spans))
		}
		chat, agent := spans[0], spans[1]
		if hex.EncodeToString(agent.GetTraceId()) != "0af7651916cd43dd8448eb211c80319c" || hex.EncodeToString(agent.GetParentSpanId()) != "b7ad6b7169203331" || agent.GetTraceState() != "vendor=1" {
			t.Errorf("the client's trace: %v", agent)
		}
		if string(chat.GetParentSpanId()) != string(agent.GetSpanId()) || string(chat.GetTraceId()) != string(agent.GetTraceId()) {
			t.Errorf("the model call is not below the turn: %v", chat)
		}
		if chat.GetName() != "chat m1" || chat.GetKind() != tracepb.Span_SPAN_KIND_CLIENT || agent.GetKind() != tracepb.Span_SPAN_KIND_INTERNAL ||
			chat.GetStatus().GetCode() != tracepb.Status_STATUS_CODE_ERROR || agent.GetStatus() != nil ||
			chat.GetStartTimeUnixNano() == 0 || chat.GetEndTimeUnixNano() < chat.GetStartTimeUnixNano() {
			t.Errorf("the model call: %v", chat)
		}
		attributes := map[string]any{
			"gen_ai.operation.name": "chat", "negative": int64(-5), "zero": int64(0), "half": 0.5, "yes": true, "list": []string{"a", "", "b"}, "bad": "caf",
			"long": strings.Repeat("x", 1024), "gen_ai.usage.input_tokens": int64(10), "gen_ai.usage.output_tokens": int64(3), "error.type": "rate_limit",
		}
		if diff := cmp.Diff(attributes, values(chat.GetAttributes())); diff != "" {
			t.Error(diff)
		}
		if want := "00-0af7651916cd43dd8448eb211c80319c-" + hex.EncodeToString(chat.GetSpanId()) + "-01"; carried["traceparent"] != want || carried["tracestate"] != "vendor=1" {
			t.Errorf("what goes on: %v", carried)
		}
	}
}

// Without a tracer, nothing is allocated.
func TestOff(t *testing.T) {
	ctx := t.Context()
	if n := testing.AllocsPerRun(100, func() {
		var tr *telemetry.Tracer
		ctx, turn := tr.Begin(ctx, nil, telemetry.InvokeAgent, "gjc")
		_, call := telemetry.Start(ctx, telemetry.Client, telemetry.Chat, "m1")
		call.Usage(1, 2)
		call.Fail("x")
		call.End()
		turn.Restart()
		turn.End()
		if turn.Carry() != nil {
			t.Error("a trace goes on")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if err := (*telemetry.Tracer)(nil).Close(ctx); err != nil {
		t.Error(err)
	}
}

func TestFromEnviron(t *testing.T) {
	const endpoint = "OTEL_EXPORTER_OTLP_ENDPOINT"
	for _, c := range []struct {
		env     map[string]string
		on      bool
		problem string
	}{
		{nil, false, ""},
		{map[string]string{"OTEL_SERVICE_NAME": "x"}, false, ""},
		{map[string]string{endpoint: "http://localhost:4318"}, true, ""},
		{map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "https://c.example/x"}, true, ""},
		{map[string]string{"OTEL_TRACES_EXPORTER": "otlp"}, true, ""},
		{map[string]string{endpoint: "http://localhost:4318", "OTEL_TRACES_EXPORTER": "none"}, false, ""},
		{map[string]string{endpoint: "http://localhost:4318", "OTEL_SDK_DISABLED": "TRUE"}, false, ""},
		{map[string]string{endpoint: "http://localhost:4318", "OTEL_SDK_DISABLED": "1"}, true, "OTEL_SDK_DISABLED"},
		{map[string]string{endpoint: "localhost:4318"}, false, "is not an address such as"},
		{map[string]string{endpoint: "localhost:4318", "OTEL_TRACES_EXPORTER": "otlp"}, false, "is not an address such as"},
		{map[string]string{endpoint: "http://h", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, false, `OTEL_EXPORTER_OTLP_PROTOCOL is "grpc"`},
		{map[string]string{endpoint: "http://h", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "http/json"}, false, `OTEL_EXPORTER_OTLP_TRACES_PROTOCOL is "http/json"`},
		{map[string]string{endpoint: "http://h", "OTEL_TRACES_EXPORTER": "zipkin"}, false, `OTEL_TRACES_EXPORTER is "zipkin"`},
		{map[string]string{endpoint: "http://h", "OTEL_TRACES_SAMPLER": "jaeger_remote"}, true, "OTEL_TRACES_SAMPLER"},
		{map[string]string{endpoint: "http://h", "OTEL_TRACES_SAMPLER": "traceidratio", "OTEL_TRACES_SAMPLER_ARG": "2"}, true, "OTEL_TRACES_SAMPLER_ARG"},
		{map[string]string{endpoint: "http://h", "OTEL_EXPORTER_OTLP_TIMEOUT": "soon"}, true, "OTEL_EXPORTER_OTLP_TIMEOUT"},
		{map[string]string{endpoint: "http://h", "OTEL_BSP_MAX_QUEUE_SIZE": "-1"}, true, "OTEL_BSP_MAX_QUEUE_SIZE"},
		{map[string]string{endpoint: "http://h", "OTEL_EXPORTER_OTLP_COMPRESSION": "zstd"}, true, "gjc has only gzip"},
		{map[string]string{endpoint: "http://h", "OTEL_EXPORTER_OTLP_CERTIFICATE": "ca.pem"}, true, "OTEL_EXPORTER_OTLP_CERTIFICATE is not supported"},
		{map[string]string{endpoint: "http://h", "OTEL_EXPORTER_OTLP_HEADERS": "a secret"}, true, "an entry that is not key=value"},
	} {
		tr, problems := telemetry.FromEnviron(func(name string) string { return c.env[name] }, "1", nil)
		text := strings.Join(problems, "\n")
		if (tr != nil) != c.on || (text == "") != (c.problem == "") || !strings.Contains(text, c.problem) || strings.Contains(text, "secret") {
			t.Errorf("%v: %v, %q", c.env, tr != nil, problems)
		}
	}
}

func TestSampler(t *testing.T) {
	const on, off = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"
	for _, c := range []struct{ sampler, arg, parent, flags string }{
		{"", "", "", "01"},
		{"", "", on, "01"},
		{"", "", off, "00"},
		{"always_on", "", off, "01"},
		{"always_off", "", on, "00"},
		{"parentbased_always_off", "", on, "01"},
		{"parentbased_always_off", "", "", "00"},
		{"traceidratio", "0", on, "00"},
		{"traceidratio", "1", off, "01"},
		{"parentbased_traceidratio", "0", on, "01"},
		{"parentbased_traceidratio", "0", "", "00"},
	} {
		tr := tracer(t, nil, map[string]string{"OTEL_TRACES_EXPORTER": "otlp", "OTEL_TRACES_SAMPLER": c.sampler, "OTEL_TRACES_SAMPLER_ARG": c.arg})
		ctx, s := tr.Begin(t.Context(), map[string]string{"traceparent": c.parent}, "op", "")
		_, below := telemetry.Start(ctx, telemetry.Internal, "op", "")
		for _, s := range []*telemetry.Span{s, below} {
			if got := s.Carry()["traceparent"]; !strings.HasSuffix(got, "-"+c.flags) {
				t.Errorf("%+v: %s", c, got)
			}
		}
	}
}

// A hostile collector delays no turn, and the tracer ends in time.
func TestTracer_HostileCollector(t *testing.T) {
	testenv.NoLeaks(t)
	never := make(chan struct{})
	t.Cleanup(func() { close(never) })
	var mu sync.Mutex
	var warned []string
	warn := func(text string) {
		mu.Lock()
		defer mu.Unlock()
		warned = append(warned, text)
	}
	for name, c := range map[string]struct {
		answer func(n int, w http.ResponseWriter, r *http.Request)
		warns  bool
	}{
		"it fails": {func(_ int, w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "no", http.StatusInternalServerError)
		}, true},
		"it is too busy": {func(_ int, w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "86400")
			http.Error(w, "no", http.StatusServiceUnavailable)
		}, true},
		"it redirects": {func(_ int, w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		}, true},
		"its answer never ends": {func(_ int, w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				if _, err := w.Write(make([]byte, 1<<16)); err != nil {
					return
				}
			}
		}, false},
		"it never answers": {func(_ int, _ http.ResponseWriter, r *http.Request) {
			select {
			case <-r.Context().Done():
			case <-never:
			}
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			warned = nil
			server := newCollector(t, c.answer)
			tr := tracer(t, warn, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": server.URL, "OTEL_BSP_MAX_QUEUE_SIZE": "8", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "2"})
			for range 1000 { // more than the queue has room for
				_, s := tr.Begin(t.Context(), nil, "op", "")
				s.End()
			}
			ctx, cancel := context.WithTimeoutCause(t.Context(), 300*time.Millisecond, errors.New("the time is over"))
			defer cancel()
			_ = tr.Close(ctx)
			_, late := tr.Begin(t.Context(), nil, "op", "")
			late.End() // it goes nowhere
			if c.warns && len(warned) == 0 {
				t.Error("no word of what is lost")
			}
			for _, text := range warned {
				if strings.Contains(text, server.URL) {
					t.Errorf("the address, perhaps with a password: %s", text)
				}
			}
			server.mu.Lock()
			defer server.mu.Unlock()
			for _, r := range server.requests {
				if r.URL.Path != "/v1/traces" {
					t.Errorf("a redirect is followed to %s", r.URL)
				}
			}
		})
	}
	t.Run("it is absent", func(t *testing.T) {
		warned = nil
		tr := tracer(t, warn, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://me:password@127.0.0.1:1"})
		_, s := tr.Begin(t.Context(), nil, "op", "")
		s.End()
		if err := tr.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if len(warned) != 1 || strings.Contains(warned[0], "password") {
			t.Errorf("%q", warned)
		}
	})
}

// A collector that recovers gets the spans.
func TestTracer_Retry(t *testing.T) {
	testenv.NoLeaks(t)
	recovered := make(chan struct{})
	c := newCollector(t, func(n int, w http.ResponseWriter, _ *http.Request) {
		if n == 1 {
			http.Error(w, "busy", http.StatusServiceUnavailable)
			return
		}
		close(recovered)
	})
	tr := tracer(t, fatal(t), map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": c.URL, "OTEL_BSP_SCHEDULE_DELAY": "1"})
	_, s := tr.Begin(t.Context(), nil, "op", "")
	s.End()
	<-recovered
	if err := tr.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// FuzzTraceParent checks that a trace goes on only with a well-formed parent, and that what is sent on is well-formed.
func FuzzTraceParent(f *testing.F) {
	f.Add("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	f.Add("cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-later")
	f.Add("00-00000000000000000000000000000000-b7ad6b7169203331-01")
	f.Add("00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01")
	tr, _ := telemetry.FromEnviron(func(name string) string {
		return map[string]string{"OTEL_TRACES_EXPORTER": "otlp"}[name]
	}, "1", nil)
	f.Fuzz(func(t *testing.T, parent string) {
		_, s := tr.Begin(t.Context(), map[string]string{"traceparent": parent, "tracestate": "a=b"}, "op", "")
		carried := s.Carry()
		got := carried["traceparent"]
		if len(got) != 55 || strings.Trim(got, "0123456789abcdef-") != "" {
			t.Fatalf("%q becomes %q", parent, got)
		}
		if _, goesOn := carried["tracestate"]; goesOn != (len(parent) >= 55 && strings.HasPrefix(got[3:35], parent[3:35])) {
			t.Errorf("%q becomes %v", parent, carried)
		}
	})
}
