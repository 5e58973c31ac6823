package offline_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/offline"
	"github.com/gajae-code/gjc/providers/providertest"
)

// answer reads a whole answer. A stream without an end fails the test.
func answer(t *testing.T, req *providers.Request) (providers.Message, []providers.Event, error) {
	t.Helper()
	var events []providers.Event
	for ev, err := range offline.New().Stream(t.Context(), req) {
		if err != nil {
			return providers.Message{}, events, err
		}
		if done, ok := ev.(providers.Done); ok {
			return done.Message, events, nil
		}
		events = append(events, ev)
	}
	t.Fatal("the stream has no end")
	panic("unreachable")
}

func request(text string, tools ...string) *providers.Request {
	req := &providers.Request{Messages: []providers.Message{providertest.User(text)}}
	for _, name := range tools {
		req.Tools = append(req.Tools, providertest.Tool(name))
	}
	return req
}

func TestModel_CommandMakesToolInput(t *testing.T) {
	tests := []struct{ line, tool, input string }{
		{`!read a.go`, "read", `{"path":"a.go"}`},
		{`!read "my file.go"`, "read", `{"path":"my file.go"}`},
		{`!write a.txt one\n\ttwo\\n`, "write", `{"content":"one\n\ttwo\\n","path":"a.txt"}`},
		{`!write empty`, "write", `{"content":"","path":"empty"}`},
		{`!edit a.go a - b => a + b`, "edit", `{"edits":[{"new_text":"a + b","old_text":"a - b"}],"path":"a.go"}`},
		{`!edit a.go x\ny =>`, "edit", `{"edits":[{"new_text":"","old_text":"x\ny"}],"path":"a.go"}`},
		{`!bash go test ./... && echo "a  b"`, "bash", `{"command":"go test ./... && echo \"a  b\""}`},
		{`!search func \w+`, "search", `{"pattern":"func \\w+"}`},
		{`!find **/*.go`, "find", `{"paths":["**/*.go"]}`},
		{
			`!plan [x] read; [>] fix ;; test`, "todo_write",
			`{"todos":[{"content":"read","priority":"medium","status":"completed"},` +
				`{"content":"fix","priority":"medium","status":"in_progress"},` +
				`{"content":"test","priority":"medium","status":"pending"}]}`,
		},
		{
			`!ask Which one? | A | B`, "ask",
			`{"questions":[{"id":"question","options":[{"label":"A"},{"label":"B"}],"question":"Which one?"}]}`,
		},
		{
			`!ask Go on?`, "ask",
			`{"questions":[{"id":"question","options":[{"label":"Yes"},{"label":"No"}],"question":"Go on?"}]}`,
		},
		{`!ask Your name? |`, "ask", `{"questions":[{"id":"question","options":[],"question":"Your name?"}]}`},
		{
			`!choose Which ones? | A || B |`, "ask",
			`{"questions":[{"id":"question","multi":true,"options":[{"label":"A"},{"label":"B"}],"question":"Which ones?"}]}`,
		},
		{
			`!todo [>] fix`, "todo_write",
			`{"todos":[{"content":"fix","priority":"medium","status":"in_progress"}]}`,
		},
		{`!task look around\n!read a.go`, "task", `{"tasks":[{"assignment":"look around\n!read a.go","description":"look around","id":"task1"}]}`},
		{`!task @critic look | !read b`, "task", `{"agent":"critic","tasks":[{"assignment":"look","description":"look","id":"task1"},{"assignment":"!read b","description":"!read b","id":"task2"}]}`},
		{`!present Move it | # Plan\n1. Move`, "present_plan", `{"plan":"# Plan\n1. Move","title":"Move it"}`},
		{`!mcpres db demo://static/a b `, "mcp_read_resource", `{"server":"db","uri":"demo://static/a b"}`},
		{`!lsp definition main.go line=12 symbol=Add`, "lsp", `{"action":"definition","file":"main.go","line":12,"symbol":"Add"}`},
		{`!debug launch {"program":"./cmd"}`, "debug", `{"action":"launch","program":"./cmd"}`},
		{`!mcp mcp__db_query {"sql": "select 1"}`, "mcp__db_query", `{"sql": "select 1"}`},
		{`!mcp query`, "mcp__db_query", `{}`},
	}
	for _, test := range tests {
		t.Run(test.line, func(t *testing.T) {
			m, events, err := answer(t, request("Please:\n"+test.line+"\r\n", "ask", "lsp", "debug", "task", "present_plan", "mcp_read_resource", "mcp__db_query"))
			if err != nil {
				t.Fatal(err)
			}
			calls := m.ToolCalls()
			if len(calls) != 1 || m.StopReason != providers.StopTools {
				t.Fatalf("calls = %v, stop %q, text %q; want one call", calls, m.StopReason, m.Text())
			}
			if calls[0].Name != test.tool {
				t.Errorf("tool = %q, want %q", calls[0].Name, test.tool)
			}
			if diff := cmp.Diff(test.input, string(calls[0].Input)); diff != "" {
				t.Errorf("input (-want +got):\n%s", diff)
			}
			var streamed strings.Builder
			for _, ev := range events {
				if d, ok := ev.(providers.ToolCallDelta); ok {
					streamed.WriteString(d.Input)
				}
			}
			if streamed.String() != test.input {
				t.Errorf("streamed input = %s", streamed.String())
			}
		})
	}
}

func TestModel_OneCallPerAnswerThenSummary(t *testing.T) {
	req := request("!read a\n!think hm\n!bash false\n!say done soon\n!find *")
	ids := map[string]bool{}
	var said strings.Builder
	results := []struct {
		text  string
		error bool
	}{{"file a", false}, {"out\n\nCommand exited with code 1", true}, {"a\nb", false}}
	for i, want := range []string{"read", "bash", "find"} {
		m, _, err := answer(t, req)
		if err != nil {
			t.Fatal(err)
		}
		calls := m.ToolCalls()
		if len(calls) != 1 || calls[0].Name != want {
			t.Fatalf("answer %d calls %v, want %s", i, calls, want)
		}
		if ids[calls[0].ID] {
			t.Errorf("the id %q came twice", calls[0].ID)
		}
		ids[calls[0].ID] = true
		said.WriteString(m.Text())
		result := providertest.ResultOf(calls[0], results[i].text)
		result.IsError = results[i].error
		req.Messages = append(req.Messages, m, result)
	}
	m, _, err := answer(t, req)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(said.String(), "done soon") {
		t.Errorf("said %q, want the text of !say", said.String())
	}
	for _, want := range []string{"3 tool calls", "1 of them failed", "bash failed: Command exited with code 1"} {
		if !strings.Contains(m.Text(), want) {
			t.Errorf("summary %q lacks %q", m.Text(), want)
		}
	}
	// The same commands in a later turn run again, with other ids.
	req.Messages = append(req.Messages, m, req.Messages[0])
	again, _, err := answer(t, req)
	if err != nil {
		t.Fatal(err)
	}
	if calls := again.ToolCalls(); len(calls) != 1 || calls[0].Name != "read" || ids[calls[0].ID] {
		t.Errorf("second turn calls %v, want read with a new id", calls)
	}
}

func TestModel_WithoutCommandsExplains(t *testing.T) {
	m, events, err := answer(t, request("hello! what can you do?\n! not a command\n![image](x.png)"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"gjc login", "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "models.yml", "!bash CMD", "!wait"} {
		if !strings.Contains(m.Text(), want) {
			t.Errorf("the explanation lacks %q", want)
		}
	}
	if strings.Contains(m.Text(), "COMMANDS") || len(events) < 50 {
		t.Errorf("%d events, text:\n%s", len(events), m.Text())
	}
}

func TestModel_SaysWhatItCanNotDo(t *testing.T) {
	for _, line := range []string{
		"!ask Q | A", "!lsp hover", "!debug launch", "!mcp nothing {}", "!mcp", "!mcpres a b", "!present T | P", "!task x", "!choose Q", "!dance", "!read", "!read a b", "!edit a b",
		"!edit a  => b", "!plan ;", "!stop now", "!fail never", "!lsp", "!sleep", "!sleep -1", "!sleep 600001", "!sleep x",
		"!usage", "!usage -1", "!usage x",
	} {
		m, _, err := answer(t, request(line))
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		if len(m.ToolCalls()) != 0 || m.StopReason != providers.StopEnd || len(m.Text()) < 20 {
			t.Errorf("%s: calls %v, stop %q, text %q", line, m.ToolCalls(), m.StopReason, m.Text())
		}
	}
}

func TestModel_SayStreamsWords(t *testing.T) {
	m, events, err := answer(t, request("!say 5000"))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(strings.Fields(strings.TrimSuffix(m.Text(), "\nDone."))); n != 5000 || len(events) != 5002 {
		t.Errorf("%d words in %d events, want 5000, the usage and the summary", n, len(events))
	}
}

func TestModel_StopReasons(t *testing.T) {
	for arg, want := range map[string]providers.StopReason{"length": providers.StopLength, "refusal": providers.StopRefusal} {
		m, _, err := answer(t, request("!stop "+arg+"\n!read never"))
		if err != nil || m.StopReason != want || len(m.ToolCalls()) != 0 {
			t.Errorf("!stop %s: stop %q, calls %v, err %v", arg, m.StopReason, m.ToolCalls(), err)
		}
	}
}

func TestModel_FailsTyped(t *testing.T) {
	for _, kind := range []providers.ErrorKind{
		providers.KindAuth, providers.KindRateLimit, providers.KindQuota, providers.KindOverloaded, providers.KindServer,
		providers.KindNetwork, providers.KindTimeout, providers.KindContextOverflow, providers.KindInvalid,
		providers.KindModel, providers.KindProtocol,
	} {
		_, _, err := answer(t, request("!fail "+string(kind)))
		if e, ok := errors.AsType[*providers.Error](err); !ok || e.Kind != kind {
			t.Errorf("!fail %s: %v", kind, err)
		}
	}
}

func TestModel_WaitEndsWithTheContext(t *testing.T) {
	cause := errors.New("the user cancelled")
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	var got error
	for ev, err := range offline.New().Stream(ctx, request("!say 2\n!wait")) {
		if d, ok := ev.(providers.TextDelta); ok && d.Text == "text " {
			cancel(cause)
		}
		got = err
	}
	if !errors.Is(got, cause) {
		t.Errorf("err = %v, want the cause", got)
	}
}

func TestModel_SleepsBetweenCommands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		m, _, err := answer(t, request("!sleep 250\n!say hello\n!sleep 1000\n!read a"))
		if err != nil || len(m.ToolCalls()) != 1 || !strings.Contains(m.Text(), "hello") {
			t.Errorf("%v, %v", m, err)
		}
		if took := time.Since(begun); took != 1250*time.Millisecond {
			t.Errorf("it took %v", took)
		}
		cause := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(cause) })
		var got error
		for ev, err := range offline.New().Stream(ctx, request("!sleep 60000\n!say never")) {
			if _, usage := ev.(providers.UsageSoFar); ev != nil && !usage {
				t.Errorf("event %v", ev)
			}
			got = err
		}
		if took := time.Since(begun); !errors.Is(got, cause) || took != 2250*time.Millisecond {
			t.Errorf("err = %v after %v", got, took)
		}
	})
}

func TestModel_Usage(t *testing.T) {
	for text, want := range map[string]int{"!usage 150000": 150_000, "!usage 0\n!read a": 0, "!say 3": 2} {
		m, events, err := answer(t, request(text))
		if err != nil || m.Usage.Input != want || m.Usage.Output == 0 {
			t.Errorf("%s: usage %+v, %v; want %d", text, m.Usage, err, want)
		}
		reported := 0 // usage of an answer that is cut off
		for _, ev := range events {
			if ev, ok := ev.(providers.UsageSoFar); ok {
				reported = ev.Usage.Input
			}
		}
		if reported != want {
			t.Errorf("%s: %d tokens of input were reported before the end, want %d", text, reported, want)
		}
	}
}

func TestModel_Compaction(t *testing.T) {
	const prompt = "Summarise the conversation.\n\n<conversation>\n%s\n</conversation>\n\nKeep above all:\n!read a"
	req := request(fmt.Sprintf(prompt, "[User]: fix the test\nplease\n\n[Agent]: ok\n\n[User]: thanks"))
	req.System = "You write the compaction of a conversation."
	m, _, err := answer(t, req)
	const want = "The conversation had 3 messages, 2 of them from the user. It began with: fix the test"
	if err != nil || m.Text() != want || m.StopReason != providers.StopEnd || len(m.ToolCalls()) != 0 {
		t.Errorf("%q, %v, want %q", m.Text(), err, want)
	}
	req.Messages = []providers.Message{providertest.User(fmt.Sprintf(prompt, ""))}
	if m, _, err := answer(t, req); err != nil || m.Text() != "The conversation had 0 messages, 0 of them from the user." {
		t.Errorf("of nothing: %q, %v", m.Text(), err)
	}
	req.System = "You are a coding agent."
	if m, _, err := answer(t, req); err != nil || len(m.ToolCalls()) != 1 {
		t.Errorf("a prompt that only begins so: %q, %v", m.Text(), err)
	}
}

// The user sees the list, so it must contain every command.
func TestCommands_AreAllListed(t *testing.T) {
	commands, err := os.ReadFile("commands.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range offline.CommandNames() {
		if !strings.Contains(string(commands), "!"+name) {
			t.Errorf("!%s is not in the list", name)
		}
	}
	for line := range strings.Lines(string(commands)) {
		name, _, _ := strings.Cut(strings.TrimPrefix(line, "!"), " ")
		if name == "wait" {
			continue // runs forever
		}
		m, _, err := answer(t, request("!"+name+" 1", "ask", "task", "lsp", "debug", "mcp_read_resource"))
		if strings.Contains(m.Text(), "Unknown command") {
			t.Errorf("!%s is listed: %v, %v", name, m.Text(), err)
		}
	}
}

func TestModel_StopsWhenTheReaderDoes(t *testing.T) {
	n := 0
	for range offline.New().Stream(t.Context(), request("!say 100\n!read a")) {
		if n++; n == 3 {
			break
		}
	}
	if n != 3 {
		t.Errorf("%d events after a break at 3", n)
	}
}
