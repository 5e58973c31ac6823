package providertest

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/testenv"
	"github.com/gajae-code/gjc/providers"
)

// A fixture is a server and a model that uses it.
type fixture struct {
	*testing.T
	server *Server
	model  providers.Model
}

func (target implementation) start(t *testing.T, change func(*providers.Config), steps ...Step) *fixture {
	t.Helper()
	testenv.NoLeaks(t)
	server := NewServer(steps...)
	t.Cleanup(server.Close)
	cfg := providers.Config{
		Info: providers.ModelInfo{
			Provider: "test", ID: "m1", ContextWindow: 200_000, MaxOutput: 8000, Images: true,
			Thinking: []providers.ThinkingLevel{providers.ThinkingLow, providers.ThinkingHigh},
		},
		BaseURL: server.URL(target.Format), APIKey: testKey, HTTPClient: providers.NewHTTPClient(),
	}
	t.Cleanup(cfg.HTTPClient.CloseIdleConnections)
	if change != nil {
		change(&cfg)
	}
	model, err := target.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return &fixture{t, server, model}
}

// ask sends req and returns the answer.
func (f *fixture) ask(ctx context.Context, req *providers.Request) (m providers.Message, events []providers.Event, err error) {
	f.Helper()
	ended := false
	for ev, e := range f.model.Stream(ctx, req) {
		if ended {
			f.Error("the stream continues after its end")
		}
		if isUsage(ev) {
			continue // they may come at any time; testCutOff checks them
		}
		if e != nil {
			err, ended = e, true
			continue
		}
		if done, ok := ev.(providers.Done); ok {
			m, ended = done.Message, true
			continue
		}
		events = append(events, ev)
	}
	if !ended {
		f.Error("the stream has no end")
	}
	return m, events, err
}

// must asks and requires an answer.
func (f *fixture) must(req *providers.Request) (providers.Message, []providers.Event) {
	f.Helper()
	m, events, err := f.ask(f.Context(), req)
	if err != nil {
		f.Fatal(err)
	}
	return m, events
}

// mustFail asks and requires an error of the model.
func (f *fixture) mustFail(req *providers.Request) *providers.Error {
	f.Helper()
	_, _, err := f.ask(f.Context(), req)
	e, ok := errors.AsType[*providers.Error](err)
	if !ok {
		f.Fatalf("err = %v, want a providers.Error", err)
	}
	return e
}

func hello() *providers.Request {
	return &providers.Request{System: "Be brief.", Messages: []providers.Message{User("hello")}}
}

// suite tests the behavior that every model over HTTP must have.
func suite(t *testing.T, target implementation) {
	for _, test := range []struct {
		name string
		fn   func(*testing.T, implementation)
	}{
		{"Text", testText},
		{"Thinking", testThinking},
		{"ToolCalls", testToolCalls},
		{"CutToolInput", testCutToolInput},
		{"Images", testImages},
		{"Output", testOutput},
		{"StopReasons", testStopReasons},
		{"Usage", testUsage},
		{"CutOff", testCutOff},
		{"CutAnywhere", testCutAnywhere},
		{"SplitCharacters", testSplitCharacters},
		{"Nameless", testNameless},
		{"StatusDecides", testStatusDecides},
		{"MalformedUsage", testMalformedUsage},
		{"LooseTypes", testLooseTypes},
		{"RepeatedIDs", testRepeatedIDs},
		{"Prefix", testPrefix},
		{"Reuse", testReuse},
		{"Errors", testErrors},
		{"ErrorInStream", testErrorInStream},
		{"Broken", testBroken},
		{"Stall", testStall},
		{"HugeEvent", testHugeEvent},
		{"InvalidUTF8", testInvalidUTF8},
		{"Cancel", testCancel},
		{"Break", testBreak},
		{"Unreachable", testUnreachable},
		{"NoKeyInErrors", testNoKeyInErrors},
		{"Chunks", testChunks},
		{"Silence", testSilence},
		{"EmptyAnswer", testEmptyAnswer},
		{"ForeignHistory", testForeignHistory},
		{"Redirect", testRedirect},
		{"Strangers", testOtherServers},
		{"WrongPath", testWrongPath},
		{"HugeMessage", testHugeMessage},
		{"TricklingError", testTricklingError},
	} {
		t.Run(test.name, func(t *testing.T) { test.fn(t, target) })
	}
}

func testText(t *testing.T, target implementation) {
	f := target.start(t, nil, Step{Text("Hel"), Text("lo 🌍\n"), Text("\u2028\"</script>")})
	m, events := f.must(hello())
	want := []providers.Event{
		providers.TextDelta{Text: "Hel"}, providers.TextDelta{Text: "lo 🌍\n"}, providers.TextDelta{Text: "\u2028\"</script>"},
	}
	if diff := cmp.Diff(want, events); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if m.Role != providers.RoleAssistant || m.Text() != "Hello 🌍\n\u2028\"</script>" || m.StopReason != providers.StopEnd {
		t.Errorf("message = %+v", m)
	}
	if m.Provider != "test" || m.Model != "m1" || m.API == "" {
		t.Errorf("the message comes from %q %q %q", m.API, m.Provider, m.Model)
	}
}

func testThinking(t *testing.T, target implementation) {
	f := target.start(t, nil, Step{Think("let me "), SignedThink("see", "sig"), Text("42")}, Step{Text("yes")})
	req := hello()
	req.Thinking = providers.ThinkingHigh
	m, events := f.must(req)
	want := []providers.Event{
		providers.ThinkingDelta{Text: "let me "}, providers.ThinkingDelta{Text: "see"}, providers.TextDelta{Text: "42"},
	}
	if diff := cmp.Diff(want, events); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	parts := []providers.Part{
		providers.Thinking{Text: "let me see", Signature: target.signature, Field: target.field}, providers.Text{Text: "42", Signature: target.textSignature},
	}
	if diff := cmp.Diff(parts, m.Parts); diff != "" {
		t.Errorf("parts (-want +got):\n%s", diff)
	}
	// The thinking goes back to the model that made it, and to no other.
	req.Messages = append(req.Messages, m, User("sure?"))
	f.must(req)
	if body := string(f.server.Requests()[1].Body); !strings.Contains(body, "let me see") {
		t.Errorf("the thinking is not replayed: %s", body)
	}
	f.server.Add(Step{Text("yes")})
	req.Messages[1].Model = "another"
	f.must(req)
	if body := string(f.server.Requests()[2].Body); strings.Contains(body, "let me see") {
		t.Errorf("another model's thinking is replayed: %s", body)
	}
}

func testToolCalls(t *testing.T, target implementation) {
	f := target.start(t, nil,
		Step{Text("I look."), Call("c1", "read", `{"path"`, `:"a.go"}`), Call("c2", "search", `{"pattern":"x"}`), Call("c3", "list")},
		Step{Text("done")})
	req := hello()
	req.Tools = []providers.Tool{Tool("read"), Tool("search"), Tool("list")}
	m, events := f.must(req)
	want := []providers.Event{
		providers.TextDelta{Text: "I look."},
		providers.ToolCallStart{ID: "c1", Name: "read"},
		providers.ToolCallDelta{ID: "c1", Input: `{"path"`},
		providers.ToolCallDelta{ID: "c1", Input: `:"a.go"}`},
		providers.ToolCallStart{ID: "c2", Name: "search"},
		providers.ToolCallDelta{ID: "c2", Input: `{"pattern":"x"}`},
		providers.ToolCallStart{ID: "c3", Name: "list"},
	}
	if target.wholeCalls {
		want = slices.Replace(want, 2, 4, providers.Event(providers.ToolCallDelta{ID: "c1", Input: `{"path":"a.go"}`}))
	}
	if diff := cmp.Diff(want, events); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	calls := []providers.ToolCall{
		{ID: "c1", Name: "read", Input: jsonx.Raw(`{"path":"a.go"}`)},
		{ID: "c2", Name: "search", Input: jsonx.Raw(`{"pattern":"x"}`)},
		{ID: "c3", Name: "list", Input: jsonx.Raw(`{}`)},
	}
	if diff := cmp.Diff(calls, m.ToolCalls(), cmpopts.IgnoreFields(providers.ToolCall{}, "Signature")); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if m.StopReason != providers.StopTools {
		t.Errorf("stop = %q", m.StopReason)
	}
	failed := ResultOf(calls[1], "no such directory")
	failed.IsError = true
	req.Messages = append(req.Messages, m, ResultOf(calls[0], "package a"), failed, ResultOf(calls[2], ""))
	f.must(req)
	body := string(f.server.Requests()[1].Body)
	for _, want := range []string{"c1", "c2", "c3", "package a", "no such directory"} {
		if !strings.Contains(body, want) {
			t.Errorf("the second request lacks %q: %s", want, body)
		}
	}
	if !jsonx.Valid(f.server.Requests()[1].Body) {
		t.Error("the second request is not JSON")
	}
}

func testCutToolInput(t *testing.T, target implementation) {
	f := target.start(t, nil, Step{Call("c1", "write", `{"path":"a`), Stop(providers.StopLength)}, Step{Text("ok")})
	req := hello()
	req.Tools = []providers.Tool{Tool("write")}
	m, _ := f.must(req)
	if target.wholeCalls {
		// It must accept from other models what it cannot produce itself.
		m.Parts = []providers.Part{providers.ToolCall{ID: "c1", Name: "write", Input: jsonx.Raw(`{"path":"a`)}}
	}
	calls := m.ToolCalls()
	if m.StopReason != providers.StopLength || len(calls) != 1 || string(calls[0].Input) != `{"path":"a` {
		t.Fatalf("stop %q, calls %+v; want length and the input as it came", m.StopReason, calls)
	}
	// The broken input must not break the next request.
	req.Messages = append(req.Messages, m, ResultOf(calls[0], "the input is not valid JSON"))
	f.must(req)
	if body := f.server.Requests()[1].Body; !jsonx.Valid(body) {
		t.Errorf("the next request is not JSON: %s", body)
	}
}

func testImages(t *testing.T, target implementation) {
	f := target.start(t, nil, Step{Text("a cat")})
	call := providers.ToolCall{ID: "c1", Name: "read", Input: jsonx.Raw(`{}`)}
	result := ResultOf(call, "see")
	result.Parts = append(result.Parts, providers.Image{MIMEType: "image/jpeg", Data: []byte("JPEGDATA")})
	question := User("what is it?")
	question.Parts = append(question.Parts, providers.Image{MIMEType: "image/png", Data: []byte("PNGDATA")})
	req := &providers.Request{Messages: []providers.Message{
		question, {Role: providers.RoleAssistant, Parts: []providers.Part{call}}, result,
	}}
	f.must(req)
	body := string(f.server.Requests()[0].Body)
	sent := []string{"UE5HREFUQQ==", "SlBFR0RBVEE="}
	if !target.bareImages {
		sent = append(sent, "image/png", "image/jpeg")
	}
	for _, want := range sent {
		if !strings.Contains(body, want) {
			t.Errorf("the request lacks %q: %s", want, body)
		}
	}

	blind := target.start(t, func(cfg *providers.Config) { cfg.Info.Images = false }, Step{Text("?")})
	blind.must(req)
	if body := string(blind.server.Requests()[0].Body); strings.Contains(body, "UE5H") || !strings.Contains(body, "image was here") {
		t.Errorf("a model without images gets: %s", body)
	}
}

func testStopReasons(t *testing.T, target implementation) {
	for _, reason := range []providers.StopReason{providers.StopEnd, providers.StopLength, providers.StopRefusal} {
		if reason == providers.StopRefusal && target.noRefusals {
			continue
		}
		f := target.start(t, nil, Step{Text("so"), Stop(reason)})
		if m, _ := f.must(hello()); m.StopReason != reason || m.Text() != "so" {
			t.Errorf("%s: stop %q, text %q", reason, m.StopReason, m.Text())
		}
	}
}

var cacheMark = regexp.MustCompile(`"cache_control":\{[^}]*\},`)

// testPrefix checks that a longer conversation repeats the shorter one byte for byte, except for cache marks.
func testPrefix(t *testing.T, target implementation) {
	f := target.start(t, nil, Step{SignedThink("t", "sig"), Call("c1", "read", `{ "path": "<a&b>" }`)}, Step{Text("done")}, Step{Text("bye")})
	req := hello()
	req.Tools = []providers.Tool{{Name: "read", Schema: jsonx.Raw(`{"type":"object","z":1,"a":{"y":2,"b":3}}`)}, Tool("write")}
	m, _ := f.must(req)
	req.Messages = append(req.Messages, m, ResultOf(m.ToolCalls()[0], "text <b>"))
	m, _ = f.must(req)
	req.Messages = append(req.Messages, m, User("thanks"))
	f.must(req)

	var last map[string]jsonx.Raw
	var lastMessages []string
	for i, r := range f.server.Requests() {
		var body map[string]jsonx.Raw
		var messages []jsonx.Raw
		if err := jsonx.Unmarshal(r.Body, &body); err != nil {
			t.Fatal(err)
		}
		conversation := body["messages"]
		for _, member := range []string{"input", "contents"} {
			if conversation == nil {
				conversation = body[member]
			}
		}
		if err := jsonx.Unmarshal(conversation, &messages); err != nil {
			t.Fatal(err)
		}
		var plain []string
		for _, m := range messages {
			plain = append(plain, cacheMark.ReplaceAllString(string(m), ""))
		}
		if i > 0 {
			for _, member := range []string{"tools", "system", "model", "instructions", "systemInstruction", "generationConfig"} {
				if string(body[member]) != string(last[member]) {
					t.Errorf("request %d: %s changed\nfrom %s\nto   %s", i, member, last[member], body[member])
				}
			}
			if len(plain) <= len(lastMessages) {
				t.Fatalf("request %d has %d messages after %d", i, len(plain), len(lastMessages))
			}
			if diff := cmp.Diff(lastMessages, plain[:len(lastMessages)]); diff != "" {
				t.Errorf("request %d changes what was sent before (-before +now):\n%s", i, diff)
			}
		}
		last, lastMessages = body, plain
	}
}

func testReuse(t *testing.T, target implementation) {
	f := target.start(t, nil)
	f.server.Else(func(Recorded) Step { return Step{Text("x")} })
	for range 5 {
		f.must(hello())
	}
	if n := f.server.Connections(); n != 1 {
		t.Errorf("5 requests in a row made %d connections, want 1", n)
	}
	// A caller that leaves at the last event must not cost the connection either.
	for ev := range f.model.Stream(t.Context(), hello()) {
		if _, ok := ev.(providers.Done); ok {
			break
		}
	}
	f.must(hello())
	if n := f.server.Connections(); n != 1 {
		t.Errorf("a break at the end made %d connections, want 1", n)
	}
}

func testErrors(t *testing.T, target implementation) {
	resets := time.Now().Add(time.Hour).Truncate(time.Second).UTC()
	for _, test := range []struct {
		name string
		step Action
		want providers.Error
		try  bool
	}{
		{"auth", Fail(&providers.Error{Kind: providers.KindAuth, Message: "no"}), providers.Error{Kind: providers.KindAuth, Status: 401}, false},
		{"quota", Fail(&providers.Error{Kind: providers.KindQuota}), providers.Error{Kind: providers.KindQuota, Status: 402}, false},
		{"rate", Fail(&providers.Error{Kind: providers.KindRateLimit}), providers.Error{Kind: providers.KindRateLimit, Status: 429}, true},
		{
			"rate with a wait", Fail(&providers.Error{Kind: providers.KindRateLimit, RetryAfter: 1500 * time.Millisecond, ResetsAt: resets}),
			providers.Error{Kind: providers.KindRateLimit, Status: 429, RetryAfter: 1500 * time.Millisecond, ResetsAt: resets},
			true,
		},
		{"overloaded", Fail(&providers.Error{Kind: providers.KindOverloaded}), providers.Error{Kind: providers.KindOverloaded, Status: 529}, true},
		{"server", Fail(&providers.Error{Kind: providers.KindServer}), providers.Error{Kind: providers.KindServer, Status: 500}, true},
		{"overflow", Fail(&providers.Error{Kind: providers.KindContextOverflow}), providers.Error{Kind: providers.KindContextOverflow, Status: 400}, false},
		{"invalid", Fail(&providers.Error{Kind: providers.KindInvalid}), providers.Error{Kind: providers.KindInvalid, Status: 400}, false},
		{"model", Fail(&providers.Error{Kind: providers.KindModel, Message: "no such model"}), providers.Error{Kind: providers.KindModel, Status: 404}, false},
		{"page", Status(502, "<html><head><title>x</title></head><body><h1>Bad gateway</h1></body></html>", nil), providers.Error{Kind: providers.KindServer, Status: 502}, true},
		{"empty", Status(503, "", map[string]string{"Retry-After": "2"}), providers.Error{Kind: providers.KindOverloaded, Status: 503, RetryAfter: 2 * time.Second}, true},
		{"string", Status(400, `{"error":"the request exceeds the available context size"}`, nil), providers.Error{Kind: providers.KindContextOverflow, Status: 400}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := target.start(t, nil, Step{test.step})
			e := f.mustFail(hello())
			if e.Kind != test.want.Kind || e.Status != test.want.Status || e.RetryAfter != test.want.RetryAfter || !e.ResetsAt.Equal(test.want.ResetsAt) {
				t.Errorf("error = %+v\nwant    %+v", e, test.want)
			}
			if e.Retryable() != test.try || e.Provider != "test" || e.Model != "m1" || e.Message == "" || strings.Contains(e.Message, "<") {
				t.Errorf("error = %+v", e)
			}
			if n := len(f.server.Requests()); n != 1 {
				t.Errorf("%d requests; the model must not try again by itself", n)
			}
		})
	}
}

func testErrorInStream(t *testing.T, target implementation) {
	f := target.start(t, nil, Step{Text("so far"), Fail(&providers.Error{Kind: providers.KindOverloaded, Message: "busy"})})
	_, events, err := f.ask(t.Context(), hello())
	e, ok := errors.AsType[*providers.Error](err)
	if !ok || e.Kind != providers.KindOverloaded || !strings.Contains(e.Message, "busy") || len(events) != 1 {
		t.Errorf("events %v, err %v", events, err)
	}
}

func testBroken(t *testing.T, target implementation) {
	for _, test := range []struct {
		name string
		last Action
		want providers.ErrorKind
	}{
		{"drop", Drop(), providers.KindNetwork},
		{"quit", Quit(), providers.KindNetwork},
		{"malformed", Raw("data: {\"type\": oops\n\n"), providers.KindProtocol},
		{"wrong type", Raw("data: [1,2]\n\n"), providers.KindProtocol},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := target.start(t, nil, Step{Text("so far"), test.last})
			_, events, err := f.ask(t.Context(), hello())
			e, ok := errors.AsType[*providers.Error](err)
			if !ok || e.Kind != test.want || !e.Retryable() {
				t.Fatalf("err = %v, want kind %s", err, test.want)
			}
			if len(events) != 1 {
				t.Errorf("events = %v, want what came before", events)
			}
		})
	}
}

func testStall(t *testing.T, target implementation) {
	gate := NewGate()
	f := target.start(t, func(cfg *providers.Config) { cfg.StallTimeout = 2 * time.Second }, Step{Text("so far"), gate.Hold()})
	defer gate.Open()
	_, events, err := f.ask(t.Context(), hello())
	if e, ok := errors.AsType[*providers.Error](err); !ok || e.Kind != providers.KindTimeout || len(events) != 1 {
		t.Errorf("events %v, err %v; want a timeout", events, err)
	}
	<-f.server.Disconnected()
}

func testHugeEvent(t *testing.T, target implementation) {
	huge := strings.Repeat("0123456789abcde\n", 512<<10) // 8 MiB
	f := target.start(t, nil, Step{Text("a"), Text(huge), Text("b")})
	if m, _ := f.must(hello()); m.Text() != "a"+huge+"b" {
		t.Errorf("got %d bytes, want %d", len(m.Text()), len(huge)+2)
	}
}

func testInvalidUTF8(t *testing.T, target implementation) {
	f := target.start(t, nil, Step{RawText("a\xffb\xc3"), Text("c")}, Step{Text("d")})
	m, _ := f.must(hello())
	if s := m.Text(); !utf8.ValidString(s) || !strings.HasPrefix(s, "a\uFFFDb") || !strings.HasSuffix(s, "c") {
		t.Errorf("text = %q", s)
	}
	req := hello()
	req.Messages = append(req.Messages, m, User("bad \xff bytes"))
	f.must(req)
	if body := f.server.Requests()[1].Body; !utf8.Valid(body) {
		t.Error("the request is not UTF-8")
	}
}

// script is an endless answer with all kinds of events.
func script(gate *Gate) Step {
	return Step{Text("a"), Think("b"), Text("c"), Call("c1", "read", `{"a":`, `1}`), Text("d"), gate.Hold()}
}

// events is the number of events in script.
func (target implementation) events() int {
	if target.wholeCalls {
		return 6
	}
	return 7
}

func testCancel(t *testing.T, target implementation) {
	cause := errors.New("the user cancelled")
	for at := range target.events() + 1 {
		gate := NewGate()
		f := target.start(t, nil, script(gate))
		ctx, cancel := context.WithCancelCause(t.Context())
		var got error
		n := 0
		if at == 0 {
			cancel(cause)
		}
		for ev, err := range f.model.Stream(ctx, hello()) {
			if got = err; err != nil || isUsage(ev) {
				continue
			}
			if n++; n == at {
				cancel(cause)
			}
		}
		if !errors.Is(got, cause) || n != at {
			t.Errorf("cancelled at event %d: err = %v after %d events", at, got, n)
		}
		if at > 0 {
			<-f.server.Disconnected()
		}
		cancel(nil)
		gate.Open()
	}

	// Before the header of the response, and in the middle of the stream.
	for _, hold := range []func(*Gate) Action{(*Gate).HoldAll, (*Gate).Hold} {
		gate := NewGate()
		f := target.start(t, nil, Step{hold(gate)})
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() {
			<-gate.Reached()
			cancel(cause)
		}()
		if _, _, err := f.ask(ctx, hello()); !errors.Is(err, cause) {
			t.Errorf("err = %v, want the cause", err)
		}
		<-f.server.Disconnected()
		gate.Open()
	}
}

func testBreak(t *testing.T, target implementation) {
	for at := 1; at <= target.events(); at++ {
		gate := NewGate()
		f := target.start(t, nil, script(gate))
		n := 0
		for ev, err := range f.model.Stream(t.Context(), hello()) {
			if err != nil {
				t.Fatal(err)
			}
			if isUsage(ev) {
				continue
			}
			if n++; n == at {
				break
			}
		}
		<-f.server.Disconnected()
		gate.Open()
	}
}
