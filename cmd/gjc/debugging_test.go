package main

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/tools"
	"github.com/gajae-code/gjc/agent/tools/debug"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/sandbox"
	"github.com/gajae-code/gjc/internal/testenv"
)

// debugHost is gjc with an editor that allows everything, and a program to debug.
type debugHost struct {
	*languageHost
	id acp.SessionID
	// saved has parts of results that later calls name as ${name}.
	saved map[string]string
}

// startDebugger starts gjc in a directory with files, with one session.
func startDebugger(t *testing.T, files map[string]string, env ...string) *debugHost {
	t.Helper()
	h := &debugHost{languageHost: startLanguages(t, nil, env...), saved: make(map[string]string)}
	h.project(files)
	return h
}

// project makes a project with files, and opens a session there.
func (h *debugHost) project(files map[string]string) {
	for name, text := range files {
		writeFile(h.t, filepath.Join(h.work, filepath.FromSlash(name)), text)
	}
	h.id = h.open()
}

// debugStep is one call of the tool debug with its expected result.
type debugStep struct {
	// do is the action with its arguments. ${name} stands for a part that an earlier step saved.
	do        string
	want, not []string
	// fails is set if the call must fail, with text as its reason.
	fails bool
	// save names parts of the result by patterns with one group.
	save map[string]string
	// until repeats the call until the result contains this.
	until string
	// or is the alternative result if versions of an adapter differ in whether the call fails.
	or *debugStep
	// watches is set if the program stops at a hardware watchpoint. The following steps also hold if it has not
	// continued.
	watches bool
}

// does returns a call that succeeds.
func does(do string, want ...string) debugStep { return debugStep{do: do, want: want} }

// fails returns a call that fails.
func fails(do string, want ...string) debugStep { return debugStep{do: do, want: want, fails: true} }

// saving returns a call that saves the part of its result that pattern matches as name.
func saving(do, name, pattern string, want ...string) debugStep {
	return debugStep{do: do, want: want, save: map[string]string{name: pattern}}
}

// unsupported returns a call of an action that an adapter does not support.
func unsupported(do, what string) debugStep {
	return fails(do, "the debug adapter does not support "+what)
}

func (h *debugHost) do(t *testing.T, step debugStep) string {
	t.Helper()
	fill := func(text string) string {
		for name, value := range h.saved {
			text = strings.ReplaceAll(text, "${"+name+"}", value)
		}
		return text
	}
	do := fill(step.do)
	ask := languageAsk{not: step.not, fails: step.fails}
	for _, want := range step.want {
		ask.want = append(ask.want, fill(want))
	}
	if step.or != nil {
		ask.or = &languageAsk{want: step.or.want, not: step.or.not, fails: step.or.fails}
	}
	if step.until != "" {
		ask.want = nil
	}
	text := ""
	for begin := time.Now(); time.Since(begin) < hang; {
		text = strings.ReplaceAll(h.ask(t, h.id, "!debug "+do, ask).Text, h.work, "W")
		if step.until == "" || strings.Contains(text, step.until) {
			break
		}
	}
	if step.until != "" && !strings.Contains(text, step.until) {
		t.Errorf("%s: no %q in the last of the results:\n%s", do, step.until, text)
	}
	for name, pattern := range step.save {
		m := regexp.MustCompile(pattern).FindStringSubmatch(text)
		if m == nil {
			t.Fatalf("%s: nothing like %s in:\n%s", do, pattern, text)
		}
		h.saved[name] = m[1]
	}
	return text
}

// action returns the name of a step's action.
func (s debugStep) action() string {
	name, _, _ := strings.Cut(s.do, " ")
	return name
}

// debugAdapter is a real adapter with a program.
type debugAdapter struct {
	name string
	// env returns the environment that gjc and the adapter need, or skips the test.
	env func(t *testing.T) []string
	// files has the project's files; prepare builds them.
	files   map[string]string
	prepare func(t *testing.T, work string)
	// hunt finds the planted bug, using only the tool. steps has the other actions.
	hunt, steps []debugStep
	// states bring the adapter to a state in which it is killed, by name.
	states map[string][]debugStep
	// process is a part of the adapter's command line, which identifies it for killing.
	process string
	// later sets a later breakpoint, which the restarted program reaches. Without it, the wait for the program must
	// time out.
	later string
}

// launching is the state of a session whose adapter never reaches a program to debug.
const launching = "launching"

func debugAdapters() []*debugAdapter {
	return []*debugAdapter{goAdapter(), pythonAdapter(), cAdapter()}
}

// Every adapter receives every action, including those that it does not support.
func TestDebugAdapters_Complete(t *testing.T) {
	for _, a := range debugAdapters() {
		var asked []string
		for _, s := range slices.Concat(a.hunt, a.steps) {
			asked = append(asked, s.action())
		}
		for _, action := range debugActions(t) {
			if !slices.Contains(asked, action) {
				t.Errorf("%s is not asked for %s", a.name, action)
			}
		}
	}
}

func TestDebugAdapters(t *testing.T) {
	// More parallel tests would only measure the speed of the machine.
	slots := make(chan struct{}, 2)
	for _, a := range debugAdapters() {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			slots <- struct{}{}
			defer func() { <-slots }()
			a.run(t)
		})
	}
}

func (a *debugAdapter) start(t *testing.T, env ...string) *debugHost {
	t.Helper()
	h := startDebugger(t, a.files, append(a.env(t), env...)...)
	if a.prepare != nil {
		a.prepare(t, h.work)
	}
	return h
}

func (a *debugAdapter) run(t *testing.T) {
	mark := markOf(t)
	h := a.start(t, mark)
	for name, steps := range map[string][]debugStep{"hunt": a.hunt} {
		t.Run(name, func(t *testing.T) { h.all(t, steps) })
	}
	t.Run("actions", func(t *testing.T) { h.all(t, a.steps) })
	t.Run("end", func(t *testing.T) {
		h.t = t
		h.stop()
		wantNoneLeft(t, mark)
	})
	t.Run("inside", a.inside)
	for name, steps := range a.states {
		t.Run("kill/"+name, func(t *testing.T) { a.killed(t, name, steps) })
	}
}

// inside debugs in auto mode, without a question: adapter and program run inside the boundary.
func (a *debugAdapter) inside(t *testing.T) {
	if s, err := findSandbox(); err != nil || s.Kind != sandbox.Bubblewrap {
		testenv.Skip(t, "bubblewrap is not there: %v", err)
	}
	mark, home, env := markOf(t), tempDir(t), a.env(t)
	// Adapters in the machine's /tmp are not seen inside, if no setting says so.
	for _, kv := range env {
		if path, ok := strings.CutPrefix(kv, "PATH="); ok {
			writeFile(t, filepath.Join(home, ".gjc", "agent", "config.yml"), fmt.Sprintf("bash: {sandboxWrite: [%q]}\n", filepath.SplitList(path)[0]))
		}
	}
	h := &debugHost{saved: make(map[string]string), languageHost: startLanguagesAt(t, home, nil, func(p *acp.RequestPermissionRequest) acp.PermissionOptionID {
		t.Errorf("asked: %s", p.ToolCall.Title.Or(""))
		return "reject_once"
	}, append(env, mark)...)}
	h.project(a.files)
	if a.prepare != nil {
		a.prepare(t, h.work)
	}
	if _, err := acp.MethodSessionSetMode.Call(t.Context(), h.Conn, &acp.SetSessionModeRequest{SessionID: h.id, ModeID: acp.SessionModeID(approval.ModeAuto)}); err != nil {
		t.Fatal(err)
	}
	h.all(t, a.hunt)
	h.t = t
	h.stop()
	wantNoneLeft(t, mark)
}

func (h *debugHost) all(t *testing.T, steps []debugStep) {
	t.Helper()
	for _, s := range steps { // each builds on the ones before it
		if !t.Run(s.action(), func(t *testing.T) {
			if s.watches {
				testenv.NeedsWatchpoints(t)
			}
			h.do(t, s)
		}) {
			t.Fatalf("stopped after %s", s.do)
		}
	}
}

// killed brings the adapter to a state, kills it, and checks that only messages remain.
func (a *debugAdapter) killed(t *testing.T, state string, steps []debugStep) {
	mark := markOf(t)
	h := a.start(t, mark)
	h.all(t, steps)
	killMarked(t, mark, a.process)
	h.do(t, debugStep{do: "sessions", until: "Status: terminated", want: []string{"debug adapter died"}})
	h.do(t, debugStep{do: "stack_trace", fails: true, want: []string{"debug adapter died"}})
	wantOnlyGjc(t, mark)
	timeout := "5"
	if a.later != "" {
		h.do(t, does(a.later, "kept for the next launch"))
		if timeout = "120"; state == launching { // once more
			timeout = "15"
		}
	}
	h.do(t, does("restart timeout="+timeout, "Session: debug-"))
	h.do(t, does("terminate", "Debug session terminated."))
	h.t = t
	h.stop()
	wantNoneLeft(t, mark)
}

// debugActions returns the tool's actions.
func debugActions(t *testing.T) []string {
	t.Helper()
	for _, tool := range tools.All(new(tools.Settings)) {
		if tool.Spec().Name != "debug" {
			continue
		}
		values := agent.NewValues(nil)
		debug.SetDebugger(values, new(debug.Debugger))
		_, err := tool.Plan(t.Context(), &agent.Call{Input: jsonx.Raw(`{"action": "?"}`), Values: values})
		_, list, ok := strings.Cut(fmt.Sprint(err), "the actions are ")
		if !ok {
			t.Fatalf("the tool does not list its actions: %v", err)
		}
		return strings.Split(list, ", ")
	}
	t.Fatal("there is no tool debug")
	return nil
}
