package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/acptest"
	"github.com/gajae-code/gjc/dap/daptest"
)

// init runs before TestMain, which would turn the debug adapter into gjc: it inherits gjc's environment.
func init() { daptest.Main() }

// debugEditor is gjc with an editor whose user makes decisions.
type debugEditor struct {
	*debugHost

	mu        sync.Mutex // guards the following fields
	decide    func(*acp.RequestPermissionRequest) acp.PermissionOptionID
	questions []*acp.RequestPermissionRequest
	requests  []any
}

// debugEditorOptions are the options of gjc and its editor. The zero value is an editor without terminals, whose user
// allows everything once.
type debugEditorOptions struct {
	terminal bool
	// home has the files of the user's home directory, files those of the project.
	home, files map[string]string
	// at is a home directory, possibly of an earlier gjc.
	at     string
	decide func(*acp.RequestPermissionRequest) acp.PermissionOptionID
	elicit func(*acp.CreateElicitationRequest) (*acp.CreateElicitationResponse, error)
	env    []string
}

func startDebugEditor(t *testing.T, opts *debugEditorOptions) *debugEditor {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(t.Context(), 10*hang, errors.New("the session hangs"))
	t.Cleanup(cancel)
	if opts.at == "" {
		opts.at = tempDir(t)
	}
	for name, text := range opts.home {
		writeFile(t, filepath.Join(opts.at, filepath.FromSlash(name)), text)
	}
	h := &mcpHost{home: opts.at, scenario: &scenario{t: t, ctx: ctx, check: newWireCheck(t), work: tempDir(t)}}
	for name, text := range opts.files {
		writeFile(t, filepath.Join(h.work, filepath.FromSlash(name)), text)
	}
	e := &debugEditor{debugHost: &debugHost{languageHost: &languageHost{h}, saved: make(map[string]string)}, decide: opts.decide}
	capabilities := acptest.AllCapabilities()
	capabilities.Terminal = opts.terminal
	editor := acptest.EditorOptions{
		Capabilities: capabilities, Trace: h.check.trace, Permission: e.permission, Env: os.Environ(),
		Requested: func(_ string, params any) error {
			e.mu.Lock()
			defer e.mu.Unlock()
			e.requests = append(e.requests, params)
			return nil
		},
	}
	if opts.elicit != nil {
		editor.Elicit = func(_ context.Context, p *acp.CreateElicitationRequest) (*acp.CreateElicitationResponse, error) {
			return opts.elicit(p)
		}
	}
	// gjc uses PATH unchanged, without that of a login shell.
	env := environment(opts.at, append([]string{"SHLVL=1"}, opts.env...)...)
	var err error
	h.Agent, err = acptest.Start(ctx, acptest.ProcessOptions{Path: self(t), Args: []string{"acp"}, Dir: opts.at, Env: env}, editor)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		h.Process.Kill()
		_ = h.Close()
		if t.Failed() {
			t.Logf("stderr: %s", h.Process.Stderr())
		}
	})
	if _, err := h.Initialize(ctx); err != nil {
		t.Fatal(err)
	}
	e.id = h.open()
	return e
}

func (e *debugEditor) permission(_ context.Context, p *acp.RequestPermissionRequest) (*acp.RequestPermissionResponse, error) {
	e.mu.Lock()
	e.questions = append(e.questions, p)
	decide := e.decide
	e.mu.Unlock()
	if decide == nil {
		return acptest.Choose("allow_once"), nil
	}
	return acptest.Choose(decide(p)), nil
}

// answers sets the user's answer from now on.
func (e *debugEditor) answers(id acp.PermissionOptionID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.decide = func(*acp.RequestPermissionRequest) acp.PermissionOptionID { return id }
}

// asked returns the questions so far.
func (e *debugEditor) asked() []*acp.RequestPermissionRequest {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]*acp.RequestPermissionRequest(nil), e.questions...)
}

// received returns the number of gjc's requests of a type so far.
func received[P any](e *debugEditor) (all []*P) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, params := range e.requests {
		if p, ok := params.(*P); ok {
			all = append(all, p)
		}
	}
	return all
}

// asks runs a step and expects one question that contains all the parts.
func (e *debugEditor) asks(t *testing.T, step debugStep, parts ...string) {
	t.Helper()
	before := len(e.asked())
	e.do(t, step)
	asked := e.asked()[before:]
	if len(asked) != 1 {
		t.Errorf("%s: %d questions, want 1", step.do, len(asked))
		return
	}
	data, err := json.Marshal(asked[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range parts {
		quoted, err := json.Marshal(strings.ReplaceAll(part, "W", e.work))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(data), strings.Trim(string(quoted), `"`)) {
			t.Errorf("%s: no %q in the question\n%s", step.do, part, data)
		}
	}
}

// silent runs a step that asks no question.
func (e *debugEditor) silent(t *testing.T, step debugStep) string {
	t.Helper()
	before := len(e.asked())
	text := e.do(t, step)
	for _, q := range e.asked()[before:] {
		t.Errorf("%s: the user is asked %s", step.do, q.ToolCall.Title.Or(""))
	}
	return text
}

// mode sets the session's mode.
func (e *debugEditor) mode(id acp.SessionModeID) {
	e.t.Helper()
	must(e.scenario, acp.MethodSessionSetMode, &acp.SetSessionModeRequest{SessionID: e.id, ModeID: id})
}

// fakeSource is a program of ten lines for fake adapters.
const fakeSource = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n"

// fakeAdapters are debug adapters that a test implements itself, by their names in the user's configuration.
type fakeAdapters struct {
	config map[string]any
}

// fake adds an adapter for .x files. more has further members of its configuration.
func (f *fakeAdapters) fake(t *testing.T, name string, more map[string]any) *daptest.Adapter {
	t.Helper()
	a, spec := daptest.Process(t)
	variable, value, _ := strings.Cut(spec.Env[0], "=")
	entry := map[string]any{
		"command": spec.Path, "args": []string{}, "env": map[string]string{variable: value}, "fileTypes": []string{".x"},
		"languages": []string{"x"}, "types": []string{name}, "launchDefaults": map[string]any{"request": "launch"},
		"launchForm":  map[string]any{"program": "${program}", "args": "${args}", "cwd": "${dir}", "env": "${env}"},
		"processForm": map[string]any{"pid": "${pid}"}, "stopOnEntry": []string{"stopOnEntry"},
	}
	maps.Copy(entry, more)
	if f.config == nil {
		f.config = make(map[string]any)
	}
	f.config[name] = entry
	return a
}

// files returns the user's configuration with all adapters.
func (f *fakeAdapters) files(t *testing.T) map[string]string {
	t.Helper()
	data, err := json.Marshal(map[string]any{"adapters": f.config})
	if err != nil {
		t.Fatal(err)
	}
	return map[string]string{".gjc/agent/dap.json": string(data)}
}

// startFake starts gjc with one fake adapter that runs the project's main.x.
func startFake(t *testing.T, opts *debugEditorOptions, more map[string]any) (*debugEditor, *daptest.Program) {
	t.Helper()
	var fakes fakeAdapters
	a := fakes.fake(t, "fake", more)
	config := opts.home
	opts.home = fakes.files(t)
	maps.Copy(opts.home, config)
	if opts.files == nil {
		opts.files = map[string]string{"main.x": fakeSource}
	}
	e := startDebugEditor(t, opts)
	return e, daptest.NewProgram(a, filepath.Join(e.work, "main.x"), daptest.All())
}

// locations returns the locations of tool calls that the editor has received since an update, in order.
func (e *debugEditor) locations(from int) (all []string) {
	for _, u := range e.Updates(e.id)[from:] {
		if u, ok := u.(*acp.ToolCallUpdate); ok {
			list, _ := u.Locations.Get()
			for _, l := range list {
				place := l.Path
				if l.Line != nil {
					place += fmt.Sprintf(":%d", *l.Line)
				}
				all = append(all, strings.ReplaceAll(place, e.work, "W"))
			}
		}
	}
	return all
}

// later runs a turn in the background.
func (e *debugEditor) later(prompt string) (from int, ended <-chan error) {
	from = len(e.Updates(e.id))
	ch := make(chan error, 1)
	go func() {
		_, err := e.Prompt(e.ctx, e.id, prompt)
		ch <- err
	}()
	return from, ch
}

// shows waits until a tool call of the session shows a text.
func (e *debugEditor) shows(t *testing.T, from int, part string) {
	t.Helper()
	err := e.Await(e.ctx, e.id, func(updates []acp.SessionUpdate, _ []string) bool {
		for _, u := range updates[from:] {
			data, err := json.Marshal(u)
			if _, call := u.(*acp.ToolCallUpdate); call && err == nil && strings.Contains(string(data), part) {
				return true
			}
		}
		return false
	})
	if err != nil {
		t.Fatalf("%q is not shown: %v", part, err)
	}
}
