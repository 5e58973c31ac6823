// Package toolstest provides a world in which to test the tools: a disk with an editor's buffers over it, terminals that follow a
// script, and a call that records what a tool reports.
package toolstest

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/toolkit"
	"github.com/gajae-code/gjc/agent/tools/debug"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/permit"
	"github.com/gajae-code/gjc/internal/places"
	"github.com/gajae-code/gjc/lsp"
	"github.com/gajae-code/gjc/providers"
)

// World holds the state that the calls of one test share. Its zero value has no working directory; see [NewWorld].
type World struct {
	// Dir is the working directory, a fresh one.
	Dir      string
	FS       *FS
	Terminal agent.Terminal
	Programs agent.Programs
	// Languages is nil if there are no language servers.
	Languages *lsp.Workspace
	// Debugger is nil if there is none.
	Debugger *debug.Debugger
	// Artifacts is nil if the session stores no outputs.
	Artifacts *Artifacts
	// Local has the local files. If nil, the session has none.
	Local agent.Local
	// Additional are further roots.
	Additional []string
	// Values hold state that the calls share. They are closed with the test.
	Values *agent.Values
	// Model is the model of the calls, Tools are the names of its tools.
	Model providers.ModelInfo
	Tools []string
	// Readable is as in [agent.Call].
	Readable func(path string) bool

	mu       sync.Mutex // guards the fields below
	progress []agent.Progress
}

// NewWorld creates a world in a temporary directory with files, whose names are slash-separated paths.
func NewWorld(t testing.TB, files map[string]string) *World {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &World{Dir: dir, FS: &FS{Buffers: make(map[string]string)}, Artifacts: new(Artifacts), Values: agent.NewValues(nil)}
	t.Cleanup(func() { w.Values.Close(context.Background()) })
	for name, text := range files {
		w.Put(t, name, text)
	}
	return w
}

// Path returns the absolute path of a slash-separated path in the working directory.
func (w *World) Path(name string) string { return filepath.Join(w.Dir, filepath.FromSlash(name)) }

// Put writes a file to the disk.
func (w *World) Put(t testing.TB, name, text string) {
	t.Helper()
	path := w.Path(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

// Disk reads a file from the disk.
func (w *World) Disk(t testing.TB, name string) string {
	t.Helper()
	data, err := os.ReadFile(w.Path(name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// Call returns a call of a tool with input, which is JSON text or a value to encode.
func (w *World) Call(t testing.TB, tool string, input any) *agent.Call {
	t.Helper()
	raw, isText := input.(string)
	if !isText {
		data, err := jsonx.Marshal(input)
		if err != nil {
			t.Fatal(err)
		}
		raw = string(data)
	}
	call := &agent.Call{
		ID:          "call",
		Name:        tool,
		Input:       jsonx.Raw(raw),
		Environment: agent.Environment{Workspace: agent.Workspace{Cwd: w.Dir, Additional: w.Additional}, FS: w.FS, Terminal: w.Terminal},
		Values:      w.Values,
		Offer:       agent.Offer{Model: w.Model, Tools: w.Tools},
		Readable:    w.Readable,
		Update: func(p agent.Progress) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.progress = append(w.progress, p)
		},
		Planning: agent.Planning{SetPlan: func([]agent.PlanEntry) {}},
	}
	call.Local = w.Local
	if w.Artifacts != nil {
		call.Artifacts = w.Artifacts
	}
	if w.Programs != nil {
		call.Programs = permittedPrograms{w.Programs}
	}
	if w.Values != nil {
		toolkit.SetLanguages(w.Values, w.Languages, call.Workspace.Display)
		debug.SetDebugger(w.Values, w.Debugger)
	}
	return call
}

// Progress returns what was reported so far.
func (w *World) Progress() []agent.Progress {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]agent.Progress(nil), w.progress...)
}

// Do plans and runs a call as a session does whose user allows everything: the call may do what it has declared. It returns the first
// error.
func Do(ctx context.Context, tool agent.Tool, call *agent.Call) (*agent.CallPlan, *agent.Result, error) {
	plan, err := Plan(ctx, tool, call)
	if err != nil {
		return nil, nil, err
	}
	res, err := RunPlanned(ctx, tool, call, plan)
	return plan, res, err
}

// RunPlanned runs a planned call.
func RunPlanned(ctx context.Context, tool agent.Tool, call *agent.Call, plan *agent.CallPlan) (*agent.Result, error) {
	return tool.Run(approval.WithPermit(ctx, permitOf(ctx, tool, call, plan)), call)
}

// permitOf returns the permit of a planned call.
func permitOf(ctx context.Context, tool agent.Tool, call *agent.Call, plan *agent.CallPlan) *approval.Permit {
	effects := plan.Effects
	if len(effects) == 0 {
		effects = []approval.Effect{{Action: approval.ActionRead}}
	}
	ws := &call.Workspace
	gate := &approval.Gate{
		Policy: new(approval.Policy), Grants: new(approval.Grants), Files: call.FS, OS: runtime.GOOS,
		Paths: &places.Paths{Roots: append([]string{ws.Cwd}, ws.Additional...), Real: call.FS.RealPath},
	}
	p := &approval.Permit{Uses: tool.Spec().Uses}
	for i := range effects {
		gate.Inquire(permit.With(ctx, permit.Own()), call.Name, &effects[i], ws.Display).Permit(p)
	}
	return p
}

// Plan plans a call and completes the plan.
func Plan(ctx context.Context, tool agent.Tool, call *agent.Call) (*agent.CallPlan, error) {
	uses := tool.Spec().Uses
	ctx = permit.With(ctx, permit.Preparation(uses.Starts))
	plan, err := tool.Plan(ctx, call)
	if err == nil && plan.Complete != nil {
		err = plan.Complete(ctx)
	}
	return plan, err
}

// FS is a file system that overlays the disk with an editor's buffers. It does not support concurrent writes.
type FS struct {
	// Buffers holds the texts of the editor's buffers by absolute path. They take precedence over the disk.
	Buffers map[string]string
	// Saved, if set, returns the text that an editor saves when text is written.
	Saved func(path, text string) string
	// Fail, if set, returns the error of each operation ("read", "open", "write", "remove", "rename", "stat", "readdir"), or nil.
	Fail func(op, path string) error
	// Reads and Writes list the paths that were read and written, in order.
	Reads, Writes []string

	mu sync.Mutex // guards Reads
}

var _ agent.FS = (*FS)(nil)

// fail returns the error of an operation: what is not permitted fails.
func (f *FS) fail(ctx context.Context, op, path string) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	action := permit.Change
	switch op {
	case "read", "open":
		action = permit.Read
	case "stat", "readdir":
		action = permit.Look
	}
	if err := permit.Check(ctx, permit.Effect{Action: action, Path: path}); err != nil {
		return err
	}
	if f.Fail != nil {
		return f.Fail(op, path)
	}
	return nil
}

// ReadFile implements [agent.FS].
func (f *FS) ReadFile(ctx context.Context, path string) ([]byte, error) {
	if err := f.fail(ctx, "read", path); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.Reads = append(f.Reads, path)
	if text, ok := f.Buffers[path]; ok {
		return []byte(text), nil
	}
	return os.ReadFile(path)
}

// WriteFile implements [agent.FS].
func (f *FS) WriteFile(ctx context.Context, path string, data []byte) error {
	if err := f.fail(ctx, "write", path); err != nil {
		return err
	}
	f.Writes = append(f.Writes, path)
	if f.Saved != nil {
		data = []byte(f.Saved(path, string(data)))
	}
	if _, ok := f.Buffers[path]; ok {
		f.Buffers[path] = string(data)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o666)
}

// Remove implements [agent.FS].
func (f *FS) Remove(ctx context.Context, path string) error {
	if err := f.fail(ctx, "remove", path); err != nil {
		return err
	}
	if _, err := os.Lstat(path); err != nil {
		return err
	}
	return os.RemoveAll(path)
}

// Rename implements [agent.FS]. It saves and closes the buffers of the files that move.
func (f *FS) Rename(ctx context.Context, from, to string) error {
	for _, path := range []string{from, to} {
		if err := f.fail(ctx, "rename", path); err != nil {
			return err
		}
	}
	for path, text := range f.Buffers {
		if path == from || strings.HasPrefix(path, from+string(filepath.Separator)) {
			if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
				return err
			}
			delete(f.Buffers, path)
		}
	}
	if _, err := os.Lstat(to); err == nil {
		return &fs.PathError{Op: "rename", Path: to, Err: fs.ErrExist}
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
		return err
	}
	return os.Rename(from, to)
}

// Open implements [agent.Opener] for the disk.
func (f *FS) Open(ctx context.Context, path string) (agent.OpenFile, error) {
	if err := f.fail(ctx, "open", path); err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrInvalid}
	}
	return os.Open(path)
}

// Stat implements [agent.FS].
func (f *FS) Stat(ctx context.Context, path string) (fs.FileInfo, error) {
	if err := f.fail(ctx, "stat", path); err != nil {
		return nil, err
	}
	return os.Stat(path)
}

// ReadDir implements [agent.FS].
func (f *FS) ReadDir(ctx context.Context, path string) ([]fs.DirEntry, error) {
	if err := f.fail(ctx, "readdir", path); err != nil {
		return nil, err
	}
	return os.ReadDir(path)
}

// RealPath implements [agent.FS].
func (f *FS) RealPath(path string) string { return realPath(path, 0) }

// realPath also resolves dangling links; followed is the number of links followed so far.
func realPath(path string, followed int) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	if len(path) > 1<<16 {
		return path // no file has such a path, and its parents are many
	}
	dir := filepath.Dir(path)
	if to, err := os.Readlink(path); err == nil && followed < 40 {
		if !filepath.IsAbs(to) {
			to = filepath.Join(dir, to)
		}
		return realPath(to, followed+1)
	}
	if dir == path {
		return path
	}
	return filepath.Join(realPath(dir, followed), filepath.Base(path))
}

// permittedPrograms are programs that start as far as the permit of a call says so.
type permittedPrograms struct{ agent.Programs }

func (p permittedPrograms) Output(ctx context.Context, prog agent.Program, limit int) ([]byte, error) {
	if err := permit.Check(ctx, permit.Effect{Action: permit.Run, Path: prog.Path}); err != nil {
		return nil, err
	}
	return p.Programs.Output(ctx, prog, limit)
}

func (p permittedPrograms) StartProgram(ctx context.Context, prog agent.LongProgram) (agent.RunningProgram, error) {
	starter, ok := p.Programs.(agent.ProgramStarter)
	if !ok {
		return nil, agent.ErrNotStarted
	}
	if err := permit.Check(ctx, permit.Effect{Action: permit.Run, Path: prog.Path}); err != nil {
		return nil, err
	}
	return starter.StartProgram(ctx, prog)
}

// Artifacts keeps outputs in memory.
type Artifacts struct {
	// Fail, if set, is the error that Put and Get return.
	Fail error

	stored [][]byte
}

var _ agent.Artifacts = (*Artifacts)(nil)

// Put implements [agent.Artifacts].
func (a *Artifacts) Put(_ context.Context, _ string, data []byte) (string, error) {
	if a.Fail != nil {
		return "", a.Fail
	}
	a.stored = append(a.stored, data)
	return "artifact://" + string(rune('0'+len(a.stored))), nil
}

// Get implements [agent.Artifacts].
func (a *Artifacts) Get(_ context.Context, url string) ([]byte, error) {
	if a.Fail != nil {
		return nil, a.Fail
	}
	for i, data := range a.stored {
		if url == "artifact://"+string(rune('1'+i)) {
			return data, nil
		}
	}
	return nil, fs.ErrNotExist
}

// Same fails the test if got differs from want.
func Same[T any](t testing.TB, what string, got, want T) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}
