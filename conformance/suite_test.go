package conformance

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// A check whose subject did not happen is skipped, with the reason. A strict run reports it as a failure, unless the agent does not
// advertise the feature.
func TestSkips(t *testing.T) {
	for _, strict := range []bool{false, true} {
		opts := fakeOptions(regexp.MustCompile(`^(plan\.whole|auth\.logout\.works)$`))
		opts.Strict = strict
		opts.Prompts[PurposePlan] = ""
		d := &defect{out: advertising(cut("auth"))}
		report, err := run(t.Context(), opts, fakeInside(d))
		if err != nil {
			t.Fatal(err)
		}
		logout, plan := report.Results[0], report.Results[1]
		if logout.Status != StatusSkipped || logout.Reason != ReasonNotAdvertised {
			t.Errorf("strict %t: what is not advertised is %+v", strict, logout)
		}
		want := map[bool]Status{false: StatusSkipped, true: StatusFailed}[strict]
		if plan.Status != want || plan.Reason != ReasonNotSeen || !strings.Contains(plan.Detail, `"plan"`) {
			t.Errorf("strict %t: what cannot be had is %+v", strict, plan)
		}
		if report.Conformant == strict {
			t.Errorf("strict %t: conformant is %t", strict, report.Conformant)
		}
	}
}

// A failed check of tier should is only a warning.
func TestWarnings(t *testing.T) {
	report, err := run(t.Context(), fakeOptions(exact(ids("init.agent-info"))), fakeInside(findDefect("nameless")))
	if err != nil {
		t.Fatal(err)
	}
	if !report.Conformant || report.Warnings != 1 || report.Failed != 0 {
		t.Errorf("the report is %+v", report)
	}
	var text strings.Builder
	if err := report.WriteText(&text, false); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"warn init.agent-info", pageInitialize, `| `, "conformant: 0 passed, 0 failed, 1 warnings"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the text lacks %q:\n%s", want, &text)
		}
	}
}

func TestRun_Errors(t *testing.T) {
	if _, err := Run(t.Context(), Options{Command: []string{"relative"}}); err == nil {
		t.Error("a relative command is taken")
	}
	if _, err := run(t.Context(), fakeOptions(regexp.MustCompile("^nothing$")), fakeInside(nil)); !errors.Is(err, ErrNoChecks) {
		t.Errorf("got %v", err)
	}
	stop := errors.New("stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	opts := fakeOptions(regexp.MustCompile("^init"))
	opts.Progress = func(Result) { cancel(stop) }
	if _, err := run(ctx, opts, fakeInside(nil)); !errors.Is(err, stop) {
		t.Errorf("a run that is cancelled ends with %v", err)
	}
}

// A check that panics fails, and its agent is ended.
func TestPanic(t *testing.T) {
	s := &suite{ctx: t.Context(), opts: fakeOptions(nil), start: fakeInside(nil), dir: t.TempDir()}
	tried, err := s.try(t.Context(), time.Minute, "x", func(t *trial) {
		t.session(bare)
		panic("oh")
	})
	if err != nil || tried.result.Status != StatusFailed || !strings.Contains(tried.result.Detail, "oh") {
		t.Errorf("got %+v, %v", tried.result, err)
	}
	if left, _ := os.ReadDir(s.dir); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

func TestEnvironment(t *testing.T) {
	s := &suite{opts: Options{Env: []string{"HOME=/old", "KEY=1", "TMPDIR=/old"}}}
	env := s.environment("/run/x", "/run/x/home")
	for _, want := range []string{"HOME=/run/x/home", "KEY=1", "TMPDIR=" + filepath.Join("/run/x", "tmp"), markVariable + "=x"} {
		if !slices.Contains(env, want) {
			t.Errorf("the environment lacks %s: %v", want, env)
		}
	}
	if slices.Contains(env, "HOME=/old") {
		t.Errorf("the old home is still there: %v", env)
	}
	s.opts.Home = "/given"
	if env := s.environment("/run/x", "/run/x/home"); !slices.Contains(env, "HOME=/given") || slices.ContainsFunc(env, func(e string) bool { return strings.HasPrefix(e, "XDG_") }) {
		t.Errorf("with a home of its own: %v", env)
	}
}

func TestReadPrompts(t *testing.T) {
	write := func(text string) string {
		path := filepath.Join(t.TempDir(), "prompts")
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	p, err := ReadPrompts(write("say: 'do {text}'\nplan: ''\n"))
	if err != nil || p[PurposeSay] != "do {text}" || p[PurposePlan] != "" || p[PurposeRead] == "" {
		t.Errorf("got %v, %v", p, err)
	}
	if p, err := ReadPrompts(write(`{"ask": "what?"}`)); err != nil || p[PurposeAsk] != "what?" {
		t.Errorf("JSON: got %v, %v", p, err)
	}
	if p, err := ReadPrompts("gjc"); err != nil || p[PurposeFail] == "" {
		t.Errorf("gjc: got %v, %v", p, err)
	}
	for _, bad := range []string{write("sing: x"), write("say: [1"), filepath.Join(t.TempDir(), "none")} {
		if _, err := ReadPrompts(bad); err == nil {
			t.Errorf("%s is taken", bad)
		}
	}
	if got := fill("put {text} into {file}, {text}", "text", "{file}", "file", "f"); got != "put {file} into f, {file}" {
		t.Errorf("got %q", got)
	}
}

func TestSchema(t *testing.T) {
	const call = `{"sessionId":"s","update":{"sessionUpdate":"tool_call","toolCallId":"t","title":"x"`
	for _, tt := range []struct{ definition, value, want string }{
		{"NewSessionResponse", `{"sessionId":"s"}`, ""},
		{"NewSessionResponse", `{"sessionId":"s","modes":null,"_meta":{"any":{"thing":1}}}`, ""},
		{"NewSessionResponse", `{}`, "/sessionId: missing member"},
		{"NewSessionResponse", `{"sessionId":7}`, "/sessionId: 7 has the wrong type"},
		{"NewSessionResponse", `{"sessionId":"s","own":1}`, "/own: the protocol knows no such member"},
		{"NewSessionResponse", `[]`, "wrong type"},
		{"SessionNotification", call + `}}`, ""},
		{"SessionNotification", call + `,"rawInput":{"any":{"thing":1}}}}`, ""},
		{"SessionNotification", call + `,"own":1}}`, "/update/own"},
		{"SessionNotification", call + `,"status":"running"}}`, "/update/status"},
		{"SessionNotification", call + `,"locations":[{"path":"/x","line":-1}]}}`, "/update/locations/0/line"},
		{"SessionNotification", call + `,"content":[{"type":"diff","path":"/x"}]}}`, "/update/content/0/newText"},
		{"SessionNotification", call + `,"content":[{"type":"poem"}]}}`, "/update/content/0"},
		{"SessionNotification", `{"sessionId":"s","update":{"sessionUpdate":"mood"}}`, "/update"},
		{"PromptResponse", `{"stopReason":"end_turn"}`, ""},
		{"PromptResponse", `{"stopReason":"done"}`, "/stopReason"},
		{"PromptResponse", `{"stopReason":"end_turn","usage":{"totalTokens":1,"inputTokens":1,"outputTokens":0}}`, "/usage"},
		{"Error", `{"code":-32000,"message":"x","data":[1]}`, ""},
		{"Error", `{"code":1.5,"message":"x"}`, "/code"},
		{"InitializeResponse", `{"protocolVersion":1,"authMethods":[{"id":"a","name":"A"},{"id":"b","name":"B","type":"terminal","args":[]}]}`, ""},
		{"InitializeResponse", `{"protocolVersion":1,"authMethods":[{"id":"a","name":"A","type":"env_var"}]}`, "/authMethods/0/type"},
		{"SetSessionConfigOptionResponse", `{"configOptions":[{"id":"a","name":"A","type":"boolean","currentValue":true}]}`, ""},
		{"SetSessionConfigOptionResponse", `{"configOptions":[{"id":"a","name":"A","type":"boolean","currentValue":"x"}]}`, "/configOptions/0/currentValue"},
		{"CreateElicitationRequest", `{"mode":"form","message":"m","sessionId":"s","requestedSchema":{"type":"object","properties":{"a":{"type":"string","enum":["x"]}}}}`, ""},
		{"Nothing", `{}`, "no Nothing"},
	} {
		var v any
		if err := jsonx.Unmarshal([]byte(tt.value), &v); err != nil {
			t.Fatal(err)
		}
		err := stableSchema().check(tt.definition, v)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s %s: got %v, want %q", tt.definition, tt.value, err, tt.want)
		}
	}
	var v any
	if err := jsonx.Unmarshal([]byte(`{"stopReason":"end_turn","usage":{"totalTokens":1,"inputTokens":1,"outputTokens":0}}`), &v); err != nil {
		t.Fatal(err)
	}
	if err := fullSchema().check("PromptResponse", v); err != nil {
		t.Errorf("the full schema has usage: %v", err)
	}
}

// No output of an agent makes the suite fail.
func FuzzMessage(f *testing.F) {
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":1,"result":{"sessionId":"s","configOptions":[{"id":1,"options":[{"options":[7]}]}]}}`,
		`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call","content":[1],"locations":{}}}}`,
		`{"method":"session/request_permission","id":"x","params":[]}`, `{"error":7,"id":null}`, `[]`, "\xff", `{"error":{"code":"x"}}`,
	} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		m := readMessage(line)
		_ = m.String()
		_, body := m.update()
		for _, o := range slices.Concat(options(m.result), options(body)) {
			_ = o.other()
		}
		for _, c := range toolCalls([]*message{m}) {
			_ = c.String()
		}
		_ = fillForm(m.params)
		for name := range rootShapes {
			_, definition, value := subject(m, map[string]string{m.id: strings.TrimPrefix(name, "response ")})
			if definition != "" {
				_ = stableSchema().check(definition, value)
			}
		}
	})
}
