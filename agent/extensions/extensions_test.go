package extensions_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/extensions"
	"github.com/gajae-code/gjc/agent/hooks"
	"github.com/gajae-code/gjc/extension"
	"github.com/gajae-code/gjc/internal/trust"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/providertest"
	"github.com/gajae-code/gjc/sessions"
)

// play runs as a fake program and returns its exit status.
type play func(in io.Reader, out io.Writer) int

// programs are fake programs, by the name in the command.
type programs struct {
	mu      sync.Mutex
	plays   map[string]play
	started []string
	running atomic.Int64
}

func (p *programs) LookPath(name string) (string, error) {
	if p.plays[name] == nil {
		return "", fs.ErrNotExist
	}
	return "/bin/" + name, nil
}

func (*programs) Output(context.Context, agent.Program, int) ([]byte, error) {
	return nil, errors.New("not used")
}

func (p *programs) StartProgram(_ context.Context, prog agent.LongProgram) (agent.RunningProgram, error) {
	name := strings.TrimPrefix(prog.Path, "/bin/")
	p.mu.Lock()
	p.started = append(p.started, name)
	p.mu.Unlock()
	in, feed := io.Pipe()
	r := &runningProgram{feed: feed, done: make(chan struct{}), killed: make(chan struct{})}
	p.running.Add(1)
	go func() {
		defer close(r.done)
		defer p.running.Add(-1)
		r.code = p.plays[name](in, output{r, prog.OnOutput})
		_ = in.Close()
	}()
	return r, nil
}

func (p *programs) starts() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.started)
}

type output struct {
	of *runningProgram
	to func([]byte)
}

func (o output) Write(b []byte) (int, error) {
	select {
	case <-o.of.killed:
		return 0, io.ErrClosedPipe
	default:
		o.to(b)
		return len(b), nil
	}
}

type runningProgram struct {
	feed   *io.PipeWriter
	done   chan struct{}
	killed chan struct{}
	once   sync.Once
	code   int
}

func (r *runningProgram) Write(b []byte) (int, error) { return r.feed.Write(b) }
func (r *runningProgram) CloseInput() error           { return r.feed.Close() }
func (r *runningProgram) Done() <-chan struct{}       { return r.done }
func (r *runningProgram) Status() agent.ExitStatus    { return agent.ExitStatus{Code: r.code} }

func (r *runningProgram) Kill() {
	r.once.Do(func() {
		close(r.killed)
		_ = r.feed.CloseWithError(io.ErrUnexpectedEOF)
	})
}

func (r *runningProgram) Terminate(context.Context) error {
	r.Kill()
	<-r.done
	return nil
}

// serves returns a program that is an extension.
func serves(e *extension.Extension) play {
	return func(in io.Reader, out io.Writer) int {
		_ = e.Serve(context.Background(), in, out)
		return 0
	}
}

// answers is a program that answers initialize, and passes each further line to fn.
func answers(result string, fn func(line string, out io.Writer) (code int, over bool)) play {
	return func(in io.Reader, out io.Writer) int {
		lines := bufio.NewScanner(in)
		lines.Buffer(nil, 1<<20)
		for first := true; lines.Scan(); first = false {
			if first {
				id, _, _ := strings.Cut(strings.SplitAfter(lines.Text(), `"id":`)[1], ",")
				fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", strings.TrimSuffix(id, "}"), result)
				continue
			}
			if code, over := fn(lines.Text(), out); over {
				return code
			}
		}
		return 0
	}
}

// noFiles is a workspace without files.
type noFiles struct{ agent.FS }

func (noFiles) ReadFile(context.Context, string) ([]byte, error) { return nil, fs.ErrNotExist }

func (noFiles) Stat(context.Context, string) (os.FileInfo, error) { return nil, fs.ErrNotExist }

func (noFiles) ReadDir(context.Context, string) ([]os.DirEntry, error) { return nil, fs.ErrNotExist }
func (noFiles) RealPath(p string) string                               { return p }

// world is a session with extensions.
type world struct {
	t        *testing.T
	dir      string
	programs *programs
	manager  *extensions.Manager
	session  *agent.Session
	script   *providertest.Script
	store    *sessions.Store
	log      *sessions.Log
	decide   agent.Decision
	loads    int

	mu      sync.Mutex
	notices []string
	asked   []string
	logged  []string
}

func (w *world) Approve(_ context.Context, q agent.Question) (agent.Decision, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked = append(w.asked, q.Title)
	return w.decide, nil
}

func (w *world) Find(string) (providers.ModelInfo, providers.ThinkingLevel, error) {
	return w.script.Info(), "", nil
}
func (*world) Lookup(string) (providers.ModelInfo, bool) { return providers.ModelInfo{}, false }

func (w *world) Open(context.Context, providers.ModelInfo) (providers.Model, error) {
	return w.script, nil
}

func (w *world) Tools() []agent.Tool        { return w.manager.Tools(nil) }
func (*world) AwaitLoading(context.Context) {}
func (w *world) notice(_ agent.Severity, title, detail string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.notices = append(w.notices, strings.TrimSpace(title+" "+detail))
}

// all returns the notices so far.
func (w *world) all() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.notices)
}

// noticed returns how many notices contain a text.
func (w *world) noticed(text string) int {
	n := 0
	for _, notice := range w.all() {
		if strings.Contains(notice, text) {
			n++
		}
	}
	return n
}

func (w *world) want(text string) {
	w.t.Helper()
	if n := w.noticed(text); n != 1 {
		w.t.Errorf("%d notices with %q, want 1, in:\n%s", n, text, strings.Join(w.all(), "\n"))
	}
}

func (w *world) prompt(text string) agent.TurnResult {
	w.t.Helper()
	r := w.session.Prompt(agent.Prompt{Parts: []providers.Part{providers.Text{Text: text}}}).Wait(w.t.Context())
	if r.Err != nil {
		w.t.Errorf("the turn failed: %v", r.Err)
	}
	synctest.Wait() // what an extension writes before its answer may be shown or logged after that is read
	return r
}

// last returns the text of the last message of the last request.
func (w *world) last() string {
	all := w.script.Requests()
	if len(all) == 0 {
		return ""
	}
	messages := all[len(all)-1].Messages
	return messages[len(messages)-1].Text()
}

// run runs fn in a synctest bubble with a session whose extensions are fake programs. Each has a file.
func run(t *testing.T, plays map[string]play, files map[string]string, fn func(w *world), steps ...providertest.Step) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "extensions"), 0o777); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, "extensions", name+".yml"), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		info := providers.ModelInfo{Provider: "test", ID: "script", ContextWindow: 100000}
		w := &world{t: t, dir: dir, programs: &programs{plays: plays}, script: providertest.NewScript(info, steps...), decide: agent.AllowOnce}
		w.store = sessions.NewStore(t.TempDir(), &sessions.StoreOptions{Sync: sessions.SyncNever})
		var err error
		if w.log, err = w.store.Create(t.Context(), sessions.Header{Cwd: "/w"}); err != nil {
			t.Fatal(err)
		}
		w.open()
		fn(w)
		w.close()
		if n := w.programs.running.Load(); n != 0 {
			t.Errorf("%d programs are left", n)
		}
	})
}

func (w *world) open() {
	w.manager = extensions.New(&extensions.Options{
		Load: func(ctx context.Context) *extensions.Set {
			w.loads++
			return extensions.Load(ctx, extensions.LoadOptions{UserDir: w.dir})
		},
		Programs: w.programs, Session: func() *agent.Session { return w.session }, Notice: w.notice,
		Log: func(extension, line string) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.logged = append(w.logged, extension+": "+line)
		},
		Reserved: func() []string { return []string{"read"} }, Changed: func() {}, Version: "1",
	})
	var ids atomic.Int64
	w.session = agent.New(agent.Options{
		ID:             "s1",
		Environment:    agent.Environment{Workspace: agent.Workspace{Cwd: "/w"}, Programs: w.programs, FS: noFiles{}},
		Interaction:    agent.Interaction{Approver: w},
		ModelOptions:   agent.ModelOptions{Models: w, Model: w.script.Info()},
		Conversation:   agent.Conversation{Log: w.log},
		ContextOptions: agent.ContextOptions{StartExtensions: w.manager.Start, Hooks: func() *hooks.Set { return &hooks.Set{Extensions: w.manager.Handlers()} }},
		Tools:          w, Mode: approval.ModeDefault, OS: "linux",
		Emit: func(ev agent.Event) {
			if n, ok := ev.(agent.Noticed); ok {
				w.notice(n.Severity, n.Title, n.Detail)
			}
		},
		NewID: func() string { return fmt.Sprintf("m%d", ids.Add(1)) },
	})
}

func (w *world) close() {
	if err := w.session.Close(context.Background()); err != nil {
		w.t.Errorf("Close: %v", err)
	}
	w.manager.Close(context.Background())
}

// subscribes is an extension that answers one event.
func subscribes(event, answer string) play {
	return serves(&extension.Extension{Name: "a", Events: map[string]func(context.Context, extension.Event) (extension.Answer, error){
		event: func(context.Context, extension.Event) (extension.Answer, error) {
			return extension.Answer{Context: answer}, nil
		},
	}})
}

const file = "command: [a]\n"

// An extension receives the events to which it subscribes, and what it adds reaches the model as its own words.
func TestEvent(t *testing.T) {
	run(t, map[string]play{"a": subscribes("prompt", "from </extension> a")}, map[string]string{"a": file}, func(w *world) {
		if w.programs.starts() != 0 {
			t.Error("it runs before the first prompt")
		}
		w.prompt("hi")
		if got, want := w.last(), "<extension name=\"a\" event=\"prompt\">\nfrom <\\/extension> a\n</extension>"; got != want {
			t.Errorf("the model received %q, want %q", got, want)
		}
		w.prompt("again")
		if n := w.programs.starts(); n != 1 {
			t.Errorf("it was started %d times", n)
		}
	}, providertest.Step{providertest.Text("one")}, providertest.Step{providertest.Text("two")})
}

// The file of an extension limits the events that it receives.
func TestEvent_Limited(t *testing.T) {
	run(t, map[string]play{"a": subscribes("prompt", "from a")}, map[string]string{"a": file + "events: [turn_end]\n"}, func(w *world) {
		w.prompt("hi")
		if got := w.last(); got != "hi" {
			t.Errorf("the model received %q", got)
		}
	}, providertest.Step{providertest.Text("one")})
}

// A tool of an extension is a command to the user's permissions; its result and its failures reach the model.
func TestTool(t *testing.T) {
	e := &extension.Extension{Tools: []extension.Tool{{
		Name: "count", Description: "Counts.", InputSchema: []byte(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`),
		Run: func(_ context.Context, c extension.ToolCall) (extension.ToolResult, error) {
			c.Progress("half way")
			if string(c.Input) == `{"n":0}` {
				return extension.ToolResult{}, errors.New("nothing to count")
			}
			return extension.ToolResult{Text: "counted " + string(c.Input)}, nil
		},
	}}}
	for _, c := range []struct{ input, want string }{
		{`{"n":1}`, `counted {"n":1}`}, {`{"n":0}`, "the tool count of the extension a failed: nothing to count"}, {`{"n":"x"}`, "its schema is"},
	} {
		run(t, map[string]play{"a": serves(e)}, map[string]string{"a": file}, func(w *world) {
			w.prompt("go")
			if got := w.last(); !strings.Contains(got, c.want) {
				t.Errorf("%s: the model received %q, want %q", c.input, got, c.want)
			}
			if len(w.asked) != 1 && c.want != "its schema is" {
				t.Errorf("%s: asked %q", c.input, w.asked)
			}
		}, providertest.Step{providertest.Call("1", "count", c.input)}, providertest.Step{providertest.Text("ok")})
	}
}

// What a tool declares to do is judged beyond the program: an "always" for the tool does not cover files outside the workspace.
func TestTool_Effects(t *testing.T) {
	for name, c := range map[string]struct {
		effects *extension.Effects
		file    string // of the second call
		asks    bool   // at the second call
		kind    agent.ToolKind
		last    string
	}{
		"none":        {nil, `"/home/u/.ssh/id_rsa"`, false, agent.KindExecute, "looked"},
		"read inside": {&extension.Effects{Read: []string{"{file}"}}, `"sub/a.txt"`, false, agent.KindRead, "looked"},
		"read":        {&extension.Effects{Read: []string{"{file}"}}, `"/home/u/.ssh/id_rsa"`, true, agent.KindRead, "looked"},
		"write":       {&extension.Effects{Write: []string{"out/{file}.txt"}}, `["a","../../b"]`, true, agent.KindExecute, "looked"},
		"no path":     {&extension.Effects{Read: []string{"{file}"}}, `{"x":1}`, false, agent.KindRead, "file names files, so it must be a string or a list of strings"},
	} {
		e := &extension.Extension{Tools: []extension.Tool{{
			Name: "lookup", Description: "Looks up.", InputSchema: []byte(`{"type":"object","properties":{"file":{}}}`), Effects: c.effects,
			Run: func(context.Context, extension.ToolCall) (extension.ToolResult, error) {
				return extension.ToolResult{Text: "looked"}, nil
			},
		}}}
		run(t, map[string]play{"a": serves(e)}, map[string]string{"a": file}, func(w *world) {
			w.decide = agent.AllowAlways
			w.prompt("go")
			if len(w.asked) != 1 {
				t.Errorf("%s: asked %q about the program", name, w.asked)
			}
			if got := w.manager.Tools(nil)[0].Spec().Kind; got != c.kind {
				t.Errorf("%s: the tool is a %q", name, got)
			}
			w.prompt("again")
			if got := w.last(); !strings.Contains(got, c.last) {
				t.Errorf("%s: the model received %q, want %q", name, got, c.last)
			}
			if asks := len(w.asked) > 1; asks != c.asks {
				t.Errorf("%s: asked %q", name, w.asked)
			}
		}, providertest.Step{providertest.Call("1", "lookup", `{}`)}, providertest.Step{providertest.Text("ok")},
			providertest.Step{providertest.Call("2", "lookup", `{"file":`+c.file+`}`)}, providertest.Step{providertest.Text("ok")})
	}
}

// The hosts that a tool declares are judged too: each has its question.
func TestTool_Hosts(t *testing.T) {
	for network, rule := range map[any]string{true: "connects to any host", "db.example.com": "connects to db.example.com"} {
		e := &extension.Extension{Tools: []extension.Tool{{
			Name: "lookup", Description: "Looks up.", Effects: &extension.Effects{Network: network},
			Run: func(context.Context, extension.ToolCall) (extension.ToolResult, error) {
				return extension.ToolResult{Text: "looked"}, nil
			},
		}}}
		run(t, map[string]play{"a": serves(e)}, map[string]string{"a": file}, func(w *world) {
			w.manager.Start(w.t.Context())
			plan, err := w.manager.Tools(nil)[0].Plan(w.t.Context(), &agent.Call{Input: []byte("{}")})
			if err != nil || len(plan.Effects) != 2 || plan.Effects[1].Action != approval.ActionNetwork || !strings.HasSuffix(plan.Effects[1].Title, rule) {
				t.Errorf("%v: planned %+v, %v", network, plan, err)
			}
		})
	}
}

// Names that are taken, invalid schemas and unknown events are named once, and the rest works.
func TestRegister_Problems(t *testing.T) {
	tools := `{"name":"read","description":"d"},{"name":"mcp__x_y","description":"d"},{"name":"x y","description":"d"},{"name":"twice","description":"d"},{"name":"twice","description":"d"},` +
		`{"name":"mute"},{"name":"odd","description":"d","inputSchema":{"type":"string"}},{"name":"shared","description":"d"},{"name":"far","description":"d","effects":{"reads":["a"]}},{"name":"wide","description":"d","effects":[]},{"name":"brace","description":"d","effects":{"write":"a{b"}}`
	quiet := func(string, io.Writer) (int, bool) { return 0, false }
	run(t, map[string]play{
		"a": answers(`{"events":["nope"],"tools":[`+tools+`],"commands":[{"name":"a b"},{"name":"ok"}]}`, quiet),
	}, map[string]string{"a": file}, func(w *world) {
		w.prompt("go")
		var names []string
		for _, tool := range w.manager.Tools(nil) {
			names = append(names, tool.Spec().Name)
		}
		if !slices.Equal(names, []string{"twice", "shared"}) {
			t.Errorf("the tools are %q", names)
		}
		if c := w.manager.Commands(); len(c) != 1 || c[0].Name != "ok" {
			t.Errorf("the commands are %v", c)
		}
		for _, want := range []string{`no event "nope"`, `"read" is taken`, `"mcp__x_y" is taken`, `"x y" must have`, `two tools with the name "twice"`, "mute needs a description", "odd cannot be used", `far cannot be used: unknown field "reads"`, "wide cannot be used: must be a mapping", "brace cannot be used", `"a b" must have`} {
			w.want(want)
		}
		if got := w.manager.Tools([]agent.Tool{w.manager.Tools(nil)[0]}); len(got) != 1 {
			t.Errorf("with the name taken there are still %d tools", len(got))
		}
	}, providertest.Step{providertest.Text("ok")})
}

func TestCommand(t *testing.T) {
	e := &extension.Extension{Commands: []extension.Command{{Name: "hello", Description: "d", Run: func(_ context.Context, args string) (extension.Reply, error) {
		if args == "" {
			return extension.Reply{}, nil
		}
		return extension.Reply{Text: "Hello " + args}, nil
	}}}}
	run(t, map[string]play{"a": serves(e)}, map[string]string{"a": file}, func(w *world) {
		w.manager.Start(w.t.Context())
		if reply, ok, err := w.manager.Run(w.t.Context(), "hello", "you"); reply.Text != "Hello you" || !ok || err != nil {
			t.Errorf("got %v, %v, %v", reply, ok, err)
		}
		if _, ok, err := w.manager.Run(w.t.Context(), "hello", ""); !ok || err == nil || !strings.Contains(err.Error(), "neither text nor prompt") {
			t.Errorf("got %v, %v", ok, err)
		}
		if _, ok, _ := w.manager.Run(w.t.Context(), "other", ""); ok {
			t.Error("an unknown command ran")
		}
	})
}

// Messages reach the model at their time, marked as the extension's.
func TestMessage(t *testing.T) {
	for when, requests := range map[string]int{"steer": 1, "followUp": 2, "nextTurn": 1} {
		var session *extension.Session
		e := &extension.Extension{
			Start: func(_ context.Context, s *extension.Session, _ extension.Start) error { session = s; return nil },
			Events: map[string]func(context.Context, extension.Event) (extension.Answer, error){
				"turn_start": func(ctx context.Context, ev extension.Event) (extension.Answer, error) {
					return extension.Answer{}, session.Message(ctx, "note", when)
				},
			},
		}
		run(t, map[string]play{"a": serves(e)}, map[string]string{"a": file + "name: noter\n"}, func(w *world) {
			w.prompt("hi")
			all := w.script.Requests()
			if len(all) != requests {
				t.Fatalf("%s: %d requests", when, len(all))
			}
			note := "<extension name=\"noter\">\nnote\n</extension>"
			if got := w.last() == note; got != (when != "nextTurn") {
				t.Errorf("%s: the last message is %q", when, w.last())
			}
			if when == "nextTurn" {
				w.prompt("again")
				if got := w.last(); got != note {
					t.Errorf("%s: the last message is %q", when, got)
				}
			}
			if !slices.Contains(w.all(), "The extension noter sends the model a message: note") {
				t.Errorf("%s: the user was not told: %q", when, w.all())
			}
		}, providertest.Step{providertest.Text("one")}, providertest.Step{providertest.Text("two")}, providertest.Step{providertest.Text("three")})
	}
}

// Messages that cannot be delivered are refused.
func TestMessage_Refused(t *testing.T) {
	var errs []error
	e := &extension.Extension{Start: func(ctx context.Context, s *extension.Session, _ extension.Start) error {
		errs = append(errs, s.Message(ctx, "x", "now"), s.Message(ctx, " ", "steer"), s.Message(ctx, strings.Repeat("x", 17<<10), "steer"))
		_ = s.Notify("hello there", "warning")
		errs = append(errs, s.Append(ctx, "a b", 1), s.Append(ctx, "big", strings.Repeat("x", 65<<10)))
		return nil
	}}
	run(t, map[string]play{"a": serves(e)}, map[string]string{"a": file}, func(w *world) {
		w.prompt("hi")
		for i, want := range []string{"deliverAs must be", "1 to 16384 bytes", "1 to 16384 bytes", "the type must have", "at most 64 KiB"} {
			if i >= len(errs) || !errors.Is(errs[i], extension.ErrRefused) || !strings.Contains(errs[i].Error(), want) {
				t.Errorf("%d: got %v, want %q", i, errs, want)
			}
		}
		if got := w.last(); got != "hi" {
			t.Errorf("the model received %q", got)
		}
		w.want("The extension a says: hello there")
	}, providertest.Step{providertest.Text("one")})
}

// Entries are kept in the log, by branch, and come back to a later process of the extension.
func TestState(t *testing.T) {
	var mu sync.Mutex
	var began []string
	var session *extension.Session
	e := &extension.Extension{
		Start: func(_ context.Context, s *extension.Session, start extension.Start) error {
			mu.Lock()
			defer mu.Unlock()
			session = s
			began = append(began, fmt.Sprint(len(start.State)))
			return nil
		},
		Events: map[string]func(context.Context, extension.Event) (extension.Answer, error){
			"turn_end": func(ctx context.Context, ev extension.Event) (extension.Answer, error) {
				return extension.Answer{}, session.Append(ctx, "seen", map[string]int{"n": 1})
			},
			"turn_start": func(ctx context.Context, ev extension.Event) (extension.Answer, error) {
				entries, err := session.State(ctx)
				return extension.Answer{Context: fmt.Sprintf("%d entries %s", len(entries), entries)}, err
			},
		},
	}
	run(t, map[string]play{"a": serves(e)}, map[string]string{"a": file}, func(w *world) {
		w.prompt("one")
		first := w.log.Leaf()
		w.prompt("two")
		if got := w.last(); !strings.Contains(got, "1 entries") {
			t.Errorf("the model received %q", got)
		}
		id := w.log.ID()
		w.close()
		if n := w.noticed("extension a"); n > 0 {
			t.Errorf("%d notices: %q", n, w.all())
		}
		var err error
		if w.log, err = w.store.Open(w.t.Context(), id); err != nil {
			t.Fatal(err)
		}
		w.open()
		w.prompt("three")
		if !slices.Equal(began, []string{"0", "2"}) {
			t.Errorf("the processes began with %q entries", began)
		}
		if _, err := w.log.BranchWithSummary(first, sessions.BranchSummary{Summary: "left"}); err != nil {
			t.Fatal(err)
		}
		if entries, err := session.State(w.t.Context()); err != nil || len(entries) != 1 || entries[0].Type != "seen" || string(entries[0].Data) != `{"n":1}` {
			t.Errorf("the branch has %v, %v", entries, err)
		}
	}, providertest.Step{providertest.Text("1")}, providertest.Step{providertest.Text("2")}, providertest.Step{providertest.Text("3")})
}

// The entries of an extension are bounded in number and in size together, also after the session is opened again, which has all that
// were kept.
func TestState_Limits(t *testing.T) {
	for name, c := range map[string]struct{ size, kept int }{"many": {3, 1000}, "large": {60 << 10, 68}} {
		var session *extension.Session
		e := &extension.Extension{Start: func(_ context.Context, s *extension.Session, _ extension.Start) error {
			session = s
			return nil
		}}
		data := strings.Repeat("x", c.size-2)
		// fill adds entries until one is refused, and returns how many it has added.
		fill := func(w *world) (n int, err error) {
			for ; ; n++ {
				if n%25 == 24 {
					time.Sleep(time.Second) // of the bubble: more in a second would be a flood
				}
				if err = session.Append(w.t.Context(), "x", data); err != nil {
					return n, err
				}
			}
		}
		run(t, map[string]play{"a": serves(e)}, map[string]string{"a": file}, func(w *world) {
			w.prompt("one")
			if n, err := fill(w); n != c.kept || !errors.Is(err, extension.ErrRefused) || !strings.Contains(err.Error(), "at most 1000 entries of an extension, with 4096 KiB together") {
				t.Errorf("%s: %d entries, then %v", name, n, err)
			}
			id := w.log.ID()
			w.close()
			var err error
			if w.log, err = w.store.Open(w.t.Context(), id); err != nil {
				t.Fatal(err)
			}
			w.open()
			w.prompt("two")
			if entries, err := session.State(w.t.Context()); err != nil || len(entries) != c.kept || string(entries[c.kept-1].Data) != strconv.Quote(data) {
				t.Errorf("%s: %d entries after the session was opened again, %v", name, len(entries), err)
			}
			if n, err := fill(w); n != 0 || err == nil {
				t.Errorf("%s: %d more entries, %v", name, n, err)
			}
			if n := w.noticed("extension a"); n > 0 {
				t.Errorf("%s: noticed %q", name, w.all())
			}
		}, providertest.Step{providertest.Text("1")}, providertest.Step{providertest.Text("2")})
	}
}

// What an extension logs goes to gjc's log, on one line, bounded.
func TestLog(t *testing.T) {
	p := func(in io.Reader, out io.Writer) int {
		_, _ = io.WriteString(out, `{"jsonrpc":"2.0","method":"log","params":{"a":"b","c":"`+strings.Repeat("x", 8<<10)+`"}}`+"\n")
		return subscribes("prompt", "fine")(in, out)
	}
	run(t, map[string]play{"a": p}, map[string]string{"a": file}, func(w *world) {
		w.prompt("hi")
		if len(w.logged) != 1 || !strings.HasPrefix(w.logged[0], `a: {"a":"b","c":"xxx`) || len(w.logged[0]) > 5<<10 {
			t.Errorf("logged %.200q", w.logged)
		}
		if n := w.noticed("extension a"); n > 0 {
			t.Errorf("noticed %q", w.all())
		}
	}, providertest.Step{providertest.Text("ok")})
}

// FuzzMessages lets an extension write anything before and after it answers. Whatever that is, the turns go on, the user is not flooded,
// and what is not answered does not stay.
func FuzzMessages(f *testing.F) {
	for _, seed := range []string{
		"", "Welcome!\nto this", "{", "[]", "null", "\xff\xfe", `{"jsonrpc":"2.0"}`, `{"jsonrpc":"1.0","method":"log"}`, `{"jsonrpc":"2.0","id":{},"method":"log"}`,
		`{"jsonrpc":"2.0","id":1,"result":{"events":["prompt"],"tools":[{"name":"t","description":"d","effects":{"read":["{x"]}}]}}`,
		`{"jsonrpc":"2.0","id":1,"result":{"events":5}}`, `{"jsonrpc":"2.0","id":1,"result":[[]]}`, `{"jsonrpc":"2.0","id":1,"error":{"code":"x"}}`, `{"jsonrpc":"2.0","id":1,"error":5}`,
		`{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"t","description":"d","inputSchema":{"type":"object","$ref":"#"}}],"commands":[{"name":5}]}}`,
		`{"jsonrpc":"2.0","id":"e","method":"session/message","params":{"text":"x","deliverAs":"followUp"}}`, `{"jsonrpc":"2.0","id":9,"method":"session/append","params":{"type":"x","data":1e999}}`,
		`{"jsonrpc":"2.0","id":9,"method":"session/append","params":{"type":"x","data":` + strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000) + `}}`,
		`{"jsonrpc":"2.0","method":"ui/notify","params":{"text":["x"]}}`, `{"jsonrpc":"2.0","method":"ui/notify","params":{"text":"\u0000\u001b[31m","level":"error"}}`,
		`{"jsonrpc":"2.0","method":"tool/progress","params":{"callId":1}}`, `{"jsonrpc":"2.0","method":"cancel","params":{"id":null}}`, `{"jsonrpc":"2.0","id":3,"method":"fs/read"}`,
		`[{"jsonrpc":"2.0","method":"log"},{"jsonrpc":"2.0","id":4,"method":"session/state"}]`, strings.Repeat(`{"jsonrpc":"2.0","method":"log","params":{}}`+"\n", 60),
		`{"jsonrpc":"2.0","method":"log","params":"` + strings.Repeat("x", 1<<16) + `"}`, strings.Repeat(`{"a":`, 5000), `{"jsonrpc":"2.0","id":2,"result":{"block":"yes"}}`,
		`{"jsonrpc":"2.0","id":2,"result":{"block":true,"reason":5,"messages":[{"index":"x"}]}}`, `{"jsonrpc":"2.0","method":"log","method":"log","params":{}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<20 {
			return
		}
		said := append(bytes.Clone(data), '\n')
		p := func(in io.Reader, out io.Writer) int {
			_, _ = out.Write(said)
			return answers(`{"events":["turn_start"]}`, func(line string, out io.Writer) (int, bool) {
				if strings.Contains(line, `"method":"event"`) {
					_, _ = out.Write(said)
				}
				return 0, strings.Contains(line, `"method":"shutdown"`)
			})(in, out)
		}
		run(t, map[string]play{"a": p}, map[string]string{"a": file}, func(w *world) {
			for range 2 {
				if r := w.session.Prompt(agent.Prompt{Parts: []providers.Part{providers.Text{Text: "hi"}}}).Wait(w.t.Context()); r.Stop != agent.StopEndTurn && !strings.Contains(fmt.Sprint(r.Err), "a hook rejects this prompt") {
					t.Errorf("the turn ended with %+v", r)
				}
			}
			if n := len(w.all()); n > 3*50 {
				t.Errorf("%d notices", n)
			}
			for _, about := range []string{"is not a message", "cannot use; it is ignored"} {
				if n := w.noticed(about); n > 4 { // once for each of its processes
					t.Errorf("%d notices with %q", n, about)
				}
			}
			for _, n := range w.all() {
				if len(n) > 40<<10 || strings.ContainsAny(n, "\x00\x1b") {
					t.Errorf("the notice %.200q", n)
				}
			}
			for _, line := range w.logged {
				if len(line) > 5<<10 || strings.ContainsAny(line, "\n\x00\x1b") {
					t.Errorf("the line %.200q", line)
				}
			}
		}, slices.Repeat([]providertest.Step{{providertest.Text("ok")}}, 300)...)
	})
}

// A program that ends is named once and started again, up to three times; the turns go on.
func TestCrash(t *testing.T) {
	for name, p := range map[string]play{
		"at start": func(io.Reader, io.Writer) int { return 3 },
		"at an event": answers(`{"events":["prompt"]}`, func(line string, _ io.Writer) (int, bool) {
			return 3, strings.Contains(line, `"method":"event"`)
		}),
	} {
		run(t, map[string]play{"a": p}, map[string]string{"a": file}, func(w *world) {
			for range 6 {
				w.prompt("hi")
				time.Sleep(time.Minute) // of the bubble
			}
			w.want("The extension a has ended unexpectedly; gjc starts it again.")
			w.want("The extension a has ended 4 times and does not run any more in this session.")
			if n := w.programs.starts(); n != 4 {
				t.Errorf("%s: started %d times, want 4", name, n)
			}
			if w.noticed("exit status 3") == 0 {
				t.Errorf("%s: no notice names the exit status: %q", name, w.all())
			}
		}, slices.Repeat([]providertest.Step{{providertest.Text("ok")}}, 6)...)
	}
}

// A call of a tool whose program ends fails with the reason, and the tool is gone.
func TestCrash_Call(t *testing.T) {
	p := answers(`{"tools":[{"name":"boom","description":"d"}]}`, func(line string, _ io.Writer) (int, bool) {
		return 1, strings.Contains(line, "tool/call")
	})
	run(t, map[string]play{"a": p}, map[string]string{"a": file}, func(w *world) {
		w.prompt("go")
		if got := w.last(); !strings.Contains(got, "the tool boom of the extension a failed: the extension is not running: a has ended") {
			t.Errorf("the model received %q", got)
		}
		if n := len(w.manager.Tools(nil)); n != 0 {
			t.Errorf("%d tools are left", n)
		}
		time.Sleep(2 * time.Second)
		if n := len(w.manager.Tools(nil)); n != 1 {
			t.Errorf("%d tools after the new start", n)
		}
	}, providertest.Step{providertest.Call("1", "boom", `{}`)}, providertest.Step{providertest.Text("ok")})
}

// A slow extension is skipped and named; after three times it receives no more events.
func TestSlow(t *testing.T) {
	var events atomic.Int64
	p := answers(`{"events":["prompt"]}`, func(line string, _ io.Writer) (int, bool) {
		if strings.Contains(line, `"method":"event"`) {
			events.Add(1)
		}
		return 0, false
	})
	run(t, map[string]play{"a": p}, map[string]string{"a": file + "timeout: 2\n"}, func(w *world) {
		begin := time.Now()
		for range 5 {
			w.prompt("hi")
		}
		if events.Load() != 3 || time.Since(begin) > 8*time.Second {
			t.Errorf("%d events took %v", events.Load(), time.Since(begin))
		}
		w.want("it did not answer prompt within 2s")
		w.want("The extension a was too slow 3 times in a row")
	}, slices.Repeat([]providertest.Step{{providertest.Text("ok")}}, 5)...)
}

// An extension that must approve calls rejects them when it is slow or has ended, and only then.
func TestBlocking(t *testing.T) {
	tools := serves(&extension.Extension{Tools: []extension.Tool{{Name: "t", Description: "d", Run: func(context.Context, extension.ToolCall) (extension.ToolResult, error) {
		return extension.ToolResult{Text: "ran"}, nil
	}}}})
	silent := answers(`{"events":["tool_call"]}`, func(string, io.Writer) (int, bool) { return 0, false })
	gone := func(io.Reader, io.Writer) int { return 1 }
	for name, c := range map[string]struct {
		guard      play
		file, want string
	}{
		"slow, blocking": {silent, "blocking: true\n", "must approve the call, and it failed: it did not answer tool_call"},
		"gone, blocking": {gone, "blocking: true\n", "must approve the call, and it failed: the extension is not running"},
		"slow":           {silent, "", "ran"},
		"gone":           {gone, "", "ran"},
		"answers":        {subscribes("tool_call", "fine"), "blocking: true\n", "ran"},
	} {
		run(t, map[string]play{"a": tools, "guard": c.guard}, map[string]string{"a": file, "guard": "command: [guard]\n" + c.file}, func(w *world) {
			w.prompt("go")
			if got := w.last(); !strings.Contains(got, c.want) {
				t.Errorf("%s: the model received %q, want %q", name, got, c.want)
			}
		}, providertest.Step{providertest.Call("1", "t", `{}`)}, providertest.Step{providertest.Text("ok")})
	}
}

// Whatever an extension writes, the turn goes on. One that floods is ended.
func TestOutput(t *testing.T) {
	flood := func(line string) play {
		return answers(`{"events":["prompt"]}`, func(_ string, out io.Writer) (int, bool) {
			for {
				if _, err := io.WriteString(out, line); err != nil {
					return 1, true
				}
			}
		})
	}
	say := func(text string) play {
		return func(in io.Reader, out io.Writer) int {
			_, _ = io.WriteString(out, text)
			return subscribes("prompt", "fine")(in, out)
		}
	}
	for name, c := range map[string]struct {
		play          play
		notice, model string
	}{
		"garbage":                 {say("Welcome!\nto this\n"), "writes something to its output that is not a message", "fine"},
		"a huge line":             {say(strings.Repeat("x", 17<<20) + "\n"), "writes something to its output that is not a message", "fine"},
		"an unknown ID":           {say(`{"jsonrpc":"2.0","id":77,"result":{}}` + "\n"), "", "fine"},
		"a flood":                 {flood(`{"jsonrpc":"2.0","method":"log","params":{}}` + "\n"), "does not run in this session: it cannot be used: it sent more than 50 messages in a second", ""},
		"much garbage":            {flood("x\n"), "it sent more than 50 messages in a second", ""},
		"no newline":              {flood(strings.Repeat("x", 1<<20)), "", ""},
		"no program":              {nil, "does not run in this session: it cannot be used: its program a is not there", ""},
		"unknown":                 {say(`{"jsonrpc":"2.0","id":1,"method":"fs/read","params":{}}` + "\n"), "", "fine"},
		"an unknown notification": {say(strings.Repeat(`{"jsonrpc":"2.0","method":"ui/dance","params":{}}`+"\n", 3)), "The extension a sends a notification that gjc cannot use; it is ignored. ui/dance", "fine"},
		"a wrong type":            {say(strings.Repeat(`{"jsonrpc":"2.0","method":"ui/notify","params":{"text":5}}`+"\n", 3)), "sends a notification that gjc cannot use", "fine"},
		"a wrong level":           {say(`{"jsonrpc":"2.0","method":"ui/notify","params":{"text":"x","level":"loud"}}` + "\n"), "level must be info, warning or error", "fine"},
		"no text":                 {say(`{"jsonrpc":"2.0","method":"ui/notify","params":{}}` + "\n"), "ui/notify: invalid params: text is empty", "fine"},
		"a progress of nothing":   {say(`{"jsonrpc":"2.0","method":"tool/progress","params":[]}` + "\n"), "tool/progress", "fine"},
		"an empty log":            {say(`{"jsonrpc":"2.0","method":"log"}` + "\n"), "there is nothing to log", "fine"},
		"a huge notification":     {say(`{"jsonrpc":"2.0","method":"log","params":{"x":"` + strings.Repeat("x", 1<<20) + `"}}` + "\n"), "log: invalid params: more than 1024 KiB", "fine"},
		"many mistakes":           {say(strings.Repeat(`{"jsonrpc":"2.0","method":"ui/notify","params":[]}`+"\n", 40)), "sends a notification that gjc cannot use", "fine"},
		"a wrong registration":    {answers(`{"tools":5}`, func(string, io.Writer) (int, bool) { return 0, false }), "The extension a does not run in this session: it cannot be used: ", ""},
	} {
		plays := map[string]play{"a": c.play}
		if c.play == nil {
			plays = nil
		}
		run(t, plays, map[string]string{"a": file}, func(w *world) {
			w.prompt("hi")
			synctest.Wait()
			if c.notice != "" {
				w.want(c.notice)
			} else if n := w.noticed("extension a"); n > 0 && c.model != "" {
				t.Errorf("%s: %d notices", name, n)
			}
			if got := w.last(); c.model != "" && !strings.Contains(got, c.model) {
				t.Errorf("%s: the model received %q; %q", name, got, w.all())
			}
		}, providertest.Step{providertest.Text("ok")})
	}
}

// A mistake in a file is named, and the other files work.
func TestFiles(t *testing.T) {
	files := map[string]string{"a": file, "list": "[1]", "none": "name: x\n", "odd": "command: [a]\ntimeout: 100\n", "event": "command: [a]\nevents: [promt]\n", "bad name": file, "shell": "command: a b\n", "field": file + "name: a\ncolour: red\n"}
	run(t, map[string]play{"a": subscribes("prompt", "fine")}, files, func(w *world) {
		w.prompt("hi")
		for _, want := range []string{"list.yml:1: must be a mapping", "command is missing", "timeout: must be a number", `did you mean "prompt"`, `the name "bad name" must have`, "no shell splits it", `unknown field "colour"`} {
			w.want(want)
		}
		if n := w.programs.starts(); n != 1 {
			t.Errorf("%d programs were started", n)
		}
	}, providertest.Step{providertest.Text("ok")})
}

// The files are read once, and again when one has changed, has come or has gone.
func TestFiles_ReadAgain(t *testing.T) {
	run(t, map[string]play{"a": subscribes("prompt", "fine"), "b": subscribes("prompt", "fine")}, map[string]string{"a": file, "bad": "[1]"}, func(w *world) {
		read := func(what string, want int) {
			t.Helper()
			for range 2 {
				_ = w.manager.Questions(w.t.Context())
				w.prompt("hi")
			}
			if w.loads != want {
				t.Errorf("%s: read %d times, want %d", what, w.loads, want)
			}
		}
		at := func(name string) string { return filepath.Join(w.dir, "extensions", name) }
		read("the first time", 1)
		if err := os.WriteFile(at("b.yml"), []byte("command: [b]\n"), 0o666); err != nil {
			t.Fatal(err)
		}
		read("a file more", 2)
		if n := w.programs.starts(); n != 2 {
			t.Errorf("%d programs were started", n)
		}
		if err := os.WriteFile(at("bad.yml"), []byte("[1, 2, 3]"), 0o666); err != nil {
			t.Fatal(err)
		}
		read("another content", 3)
		if err := os.Remove(at("bad.yml")); err != nil {
			t.Fatal(err)
		}
		read("a file less", 4)
		over, cancel := context.WithCancel(w.t.Context())
		cancel()
		_ = w.manager.Questions(over)
		read("after a call that was cancelled", 4)
		w.want("bad.yml:1: must be a mapping")
	}, slices.Repeat([]providertest.Step{{providertest.Text("ok")}}, 20)...)
}

// An answer about trust, and another script, count without a change of the file.
func TestFiles_Stale(t *testing.T) {
	root := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, []byte(text), 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	write(".gjc/extensions/a.yml", "command: [sh, .gjc/a.sh]\n")
	write(".gjc/a.sh", "true")
	answers := trust.NewSession(nil)
	load := func() *extensions.Set {
		return extensions.Load(t.Context(), extensions.LoadOptions{Roots: []string{root}, Trust: answers})
	}
	set := load()
	if len(set.Subjects()) != 1 || set.Stale(t.Context()) {
		t.Fatalf("%d subjects, stale: %v", len(set.Subjects()), set.Stale(t.Context()))
	}
	if err := answers.Question(set.Subjects()[0]).Answer(t.Context(), true, false); err != nil {
		t.Fatal(err)
	}
	if !set.Stale(t.Context()) {
		t.Error("an answer does not count")
	}
	set = load()
	write(".gjc/a.sh", "false; true")
	if !set.Stale(t.Context()) {
		t.Error("another script does not count")
	}
}

// TestProtocolSchema checks the messages of both sides against the published schema.
func TestProtocolSchema(t *testing.T) {
	raw, err := json.Marshal(extensions.ProtocolSchema())
	if err != nil {
		t.Fatal(err)
	}
	var top struct {
		Defs map[string]*jsonschema.Schema `json:"$defs"`
	}
	if err := json.Unmarshal(raw, &top); err != nil {
		t.Fatal(err)
	}
	check := func(name string, value any) {
		schema := top.Defs[name]
		if schema == nil {
			t.Errorf("the schema has no %s", name)
			return
		}
		resolved, err := schema.Resolve(nil)
		if err == nil {
			err = resolved.Validate(value)
		}
		if err != nil {
			t.Errorf("%s: %v does not fit: %v", name, value, err)
		}
	}
	var mu sync.Mutex
	seen := make(map[string]bool)
	message := func(line []byte) {
		var m struct {
			ID     any
			Method string
			Params any
			Result any
		}
		if err := json.Unmarshal(line, &m); err != nil {
			t.Error(err)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		if m.Method != "" && m.Method != "session/state" {
			check(m.Method+".params", m.Params)
			seen[m.Method] = true
		} else if r, ok := m.Result.(map[string]any); ok && r["tools"] != nil {
			check("initialize.result", m.Result)
			seen["result"] = true
		}
	}
	var session *extension.Session
	e := &extension.Extension{
		Name:  "a",
		Start: func(_ context.Context, s *extension.Session, _ extension.Start) error { session = s; return nil },
		Events: map[string]func(context.Context, extension.Event) (extension.Answer, error){
			"tool_call": func(ctx context.Context, _ extension.Event) (extension.Answer, error) {
				return extension.Answer{}, errors.Join(session.Append(ctx, "x", 1), session.Message(ctx, "m", "nextTurn"), session.Notify("n", "info"))
			},
		},
		Commands: []extension.Command{{Name: "c", Description: "d", Hint: "h", Run: func(context.Context, string) (extension.Reply, error) { return extension.Reply{Text: "t"}, nil }}},
		Tools: []extension.Tool{{Name: "t", Description: "d", Parallel: true, Run: func(_ context.Context, c extension.ToolCall) (extension.ToolResult, error) {
			c.Progress("p")
			return extension.ToolResult{Text: "t"}, nil
		}}},
	}
	recorded := func(in io.Reader, out io.Writer) int {
		return serves(e)(io.TeeReader(in, &lineWriter{fn: message}), io.MultiWriter(out, &lineWriter{fn: message}))
	}
	run(t, map[string]play{"a": recorded}, map[string]string{"a": file}, func(w *world) {
		w.prompt("go")
		if _, _, err := w.manager.Run(w.t.Context(), "c", "x"); err != nil {
			t.Error(err)
		}
	}, providertest.Step{providertest.Call("1", "t", `{}`)}, providertest.Step{providertest.Text("ok")})
	for _, want := range []string{"initialize", "result", "event", "tool/call", "command/run", "shutdown", "session/append", "session/message", "ui/notify", "tool/progress"} {
		if !seen[want] {
			t.Errorf("no message was %s", want)
		}
	}
}

// lineWriter passes each line that is written to fn.
type lineWriter struct {
	fn  func(line []byte)
	buf []byte
}

func (l *lineWriter) Write(b []byte) (int, error) {
	l.buf = append(l.buf, b...)
	for {
		line, rest, ok := bytes.Cut(l.buf, []byte("\n"))
		if !ok {
			return len(b), nil
		}
		l.fn(line)
		l.buf = bytes.Clone(rest)
	}
}

// Cancelling a turn cancels the call in the extension, which goes on running.
func TestTool_Cancelled(t *testing.T) {
	began, cancelled := make(chan struct{}, 1), make(chan struct{}, 1)
	e := &extension.Extension{Tools: []extension.Tool{{Name: "t", Description: "d", Run: func(ctx context.Context, _ extension.ToolCall) (extension.ToolResult, error) {
		began <- struct{}{}
		<-ctx.Done()
		cancelled <- struct{}{}
		return extension.ToolResult{}, ctx.Err()
	}}}}
	run(t, map[string]play{"a": serves(e)}, map[string]string{"a": file}, func(w *world) {
		turn := w.session.Prompt(agent.Prompt{Parts: []providers.Part{providers.Text{Text: "go"}}})
		synctest.Wait()
		if len(began) != 1 {
			t.Fatal("the call did not begin")
		}
		w.session.Cancel()
		if r := turn.Wait(w.t.Context()); r.Stop != agent.StopCancelled {
			t.Errorf("the turn ended with %+v", r)
		}
		synctest.Wait()
		if len(cancelled) != 1 || w.programs.running.Load() != 1 {
			t.Errorf("the call was not cancelled, or the extension has ended")
		}
	}, providertest.Step{providertest.Call("1", "t", `{}`)}, providertest.Step{providertest.Text("ok")})
}

// A slow start is bounded too, and the turn goes on.
func TestSlow_Start(t *testing.T) {
	mute := func(in io.Reader, _ io.Writer) int { _, _ = io.Copy(io.Discard, in); return 0 }
	run(t, map[string]play{"a": mute}, map[string]string{"a": file}, func(w *world) {
		begin := time.Now()
		w.prompt("hi")
		if took := time.Since(begin); took > 11*time.Second {
			t.Errorf("the turn took %v", took)
		}
		w.want("it did not answer initialize within 10s")
	}, providertest.Step{providertest.Text("ok")})
}
