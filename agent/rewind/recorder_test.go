package rewind

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/internal/checkpoint"
	"github.com/gajae-code/gjc/internal/testenv"
)

// recording is a recorder with its directories.
type recording struct {
	*Recorder
	t       *testing.T
	roots   []string
	mu      sync.Mutex // guards notices
	notices []string
}

func record(t *testing.T, session string, databases string, roots ...string) *recording {
	t.Helper()
	r := &recording{t: t, roots: roots}
	r.Recorder = New(Options{
		Session: session, Roots: roots, Checkpoints: checkpoint.Options{Dir: databases},
		Notice: func(_ agent.Severity, title, detail string) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.notices = append(r.notices, title+" "+detail)
		},
	})
	t.Cleanup(func() { r.Close(context.Background()) })
	return r
}

// call changes a file as a tool does.
func (r *recording) call(id, path, content string) {
	r.t.Helper()
	end := r.CallStarts(r.t.Context(), id, "write")
	r.write(path, content)
	end(r.t.Context())
}

func (r *recording) write(path, content string) {
	r.t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

func (r *recording) step(n int) *Step {
	r.t.Helper()
	steps, err := r.Steps(r.t.Context())
	if err != nil || len(steps) < n {
		r.t.Fatalf("%d steps, %v", len(steps), err)
	}
	return &steps[n-1]
}

func (r *recording) plan(n int) *Plan {
	r.t.Helper()
	p, err := r.Plan(r.t.Context(), r.step(n))
	if err != nil {
		r.t.Fatal(err)
	}
	return p
}

func (r *recording) apply(n int) {
	r.t.Helper()
	if problems, err := r.Apply(r.t.Context(), r.plan(n)); err != nil || problems != nil {
		r.t.Errorf("%v, %v", problems, err)
	}
}

func (r *recording) want(path, content string) {
	r.t.Helper()
	data, err := os.ReadFile(path)
	if err != nil && content != "" || string(data) != content {
		r.t.Errorf("%s has %q, want %q (%v)", path, data, content, err)
	}
}

// Each directory of a session is restored, also if one lies in another.
func TestRecorder_Roots(t *testing.T) {
	testenv.NoLeaks(t)
	base := t.TempDir()
	one, two, inside := filepath.Join(base, "one"), filepath.Join(base, "two"), filepath.Join(base, "one", "inside")
	for _, dir := range []string{inside, two} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	r := record(t, "s", filepath.Join(base, "db"), one, two, inside, two)
	a, b, c := filepath.Join(one, "a"), filepath.Join(two, "b"), filepath.Join(inside, "c")
	r.PromptStarts("e1", "first")
	r.call("c1", a, "a1")
	r.call("c2", b, "b1")
	r.call("c3", c, "c1")
	r.PromptStarts("e2", "second")
	r.call("c4", a, "a2")
	r.call("c5", b, "b2")
	if got := len(r.step(1).Changed); got != 2 {
		t.Errorf("%d files changed after the last prompt", got)
	}
	if got := len(r.step(2).Changed); got != 3 {
		t.Errorf("%d files changed after the first prompt", got)
	}
	r.apply(1)
	r.want(a, "a1")
	r.want(b, "b1")
	r.want(c, "c1")
	r.apply(3)
	r.want(a, "")
	r.want(b, "")
	r.want(c, "")
}

// What changed between the calls, and while no call was running, is the user's; the rest is the agent's.
func TestRecorder_Authors(t *testing.T) {
	dir := t.TempDir()
	r := record(t, "s", filepath.Join(t.TempDir(), "db"), dir)
	at := func(name string) string { return filepath.Join(dir, name) }
	r.PromptStarts("e1", "first")
	r.call("c1", at("agent"), "1")
	r.call("c2", at("both"), "1")
	r.write(at("both"), "mine")
	r.write(at("user"), "mine")
	r.call("c3", at("user-then-agent"), "1")
	r.write(at("user-then-agent"), "mine")
	r.call("c4", at("user-then-agent"), "2")
	// Two calls at once: the first has changed something when the second begins.
	end := r.CallStarts(t.Context(), "c5", "bash")
	r.write(at("first of two"), "1")
	r.call("c6", at("second of two"), "1")
	end(t.Context())
	r.write(at("gone"), "mine")
	if err := os.Remove(at("gone")); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, path := range r.plan(1).ByUser {
		got = append(got, filepath.Base(path))
	}
	if diff := cmp.Diff([]string{"both", "user"}, got); diff != "" {
		t.Errorf("by the user (-want +got):\n%s", diff)
	}
}

// During a call each rewind is refused, and changes nothing.
func TestRecorder_Busy(t *testing.T) {
	dir := t.TempDir()
	r := record(t, "s", filepath.Join(t.TempDir(), "db"), dir)
	a := filepath.Join(dir, "a")
	r.PromptStarts("e1", "first")
	end := r.CallStarts(t.Context(), "c1", "bash")
	r.write(a, "half")
	for range 100 {
		if _, err := r.Plan(t.Context(), r.step(1)); err == nil || !strings.Contains(err.Error(), "wait for its end") {
			t.Fatalf("the error is %v", err)
		}
	}
	r.want(a, "half")
	end(t.Context())
	plan := r.plan(1)
	if len(plan.ByUser) > 0 {
		t.Errorf("by the user: %q", plan.ByUser)
	}
	// What changes after the plan is not overwritten.
	r.write(a, "mine")
	if _, err := r.Apply(t.Context(), plan); err == nil || !strings.Contains(err.Error(), "changed meanwhile") {
		t.Errorf("the error is %v", err)
	}
	r.want(a, "mine")
}

// Two sessions have lists of their own, and one that goes back learns of the other.
func TestRecorder_TwoSessions(t *testing.T) {
	dir, databases := t.TempDir(), filepath.Join(t.TempDir(), "db")
	one, two := record(t, "one", databases, dir), record(t, "two", databases, dir)
	one.PromptStarts("e1", "of one")
	one.call("c1", filepath.Join(dir, "a"), "1")
	two.PromptStarts("e1", "of two")
	two.call("c1", filepath.Join(dir, "b"), "2")
	if got := one.step(1).Title; got != "of one" {
		t.Errorf("the step is %q", got)
	}
	plan := one.plan(1)
	if !slices.Equal(plan.Others, []string{"two"}) {
		t.Errorf("the others are %q", plan.Others)
	}
	if got := fmt.Sprint(plan.ByUser); !strings.Contains(got, "b") {
		t.Errorf("by the user: %s", got)
	}
	if got := two.plan(1).Others; got != nil {
		t.Errorf("the others are %q", got)
	}
}

// The steps of a session are there after a restart.
func TestRecorder_Restart(t *testing.T) {
	dir, databases := t.TempDir(), filepath.Join(t.TempDir(), "db")
	a := filepath.Join(dir, "a")
	r := record(t, "s", databases, dir)
	r.PromptStarts("e1", "first")
	r.call("c1", a, "1")
	r.Close(context.Background())
	r.write(a, "mine")
	again := record(t, "s", databases, dir)
	if plan := again.plan(1); !slices.Equal(plan.ByUser, []string{a}) {
		t.Errorf("by the user: %q", plan.ByUser)
	}
	again.apply(1)
	again.want(a, "")
}

// The order is that of the prompts if the clock goes backwards, and what was changed is found.
func TestRecorder_Clock(t *testing.T) {
	dir := t.TempDir()
	now := time.Now()
	r := &recording{t: t}
	r.Recorder = New(Options{
		Session: "s", Roots: []string{dir},
		Checkpoints: checkpoint.Options{Dir: filepath.Join(t.TempDir(), "db"), Clock: func() time.Time { now = now.Add(-time.Hour); return now }, Keep: 24 * time.Hour},
	})
	defer r.Close(context.Background())
	a := filepath.Join(dir, "a")
	for i, text := range []string{"one", "two", "six"} {
		r.PromptStarts(text, text)
		r.call(fmt.Sprint(i), a, text)
	}
	if got := r.step(1).Title; got != "six" {
		t.Errorf("the latest step is %q", got)
	}
	r.apply(1)
	r.want(a, "two")
	r.apply(3)
	r.want(a, "one")
}

// A directory that is too large is reported once, and the calls go on.
func TestRecorder_TooLarge(t *testing.T) {
	dir := t.TempDir()
	r := &recording{t: t}
	r.Recorder = New(Options{
		Session: "s", Roots: []string{dir}, Checkpoints: checkpoint.Options{Dir: filepath.Join(t.TempDir(), "db"), MaxFiles: 3},
		Notice: func(_ agent.Severity, title, detail string) { r.notices = append(r.notices, title+" "+detail) },
	})
	defer r.Close(context.Background())
	for i := range 5 {
		r.write(filepath.Join(dir, fmt.Sprint(i)), "x")
	}
	for i := range 3 {
		r.call(fmt.Sprint(i), filepath.Join(dir, "a"), fmt.Sprint(i))
	}
	if len(r.notices) != 1 || !strings.Contains(r.notices[0], "too large") {
		t.Errorf("notices: %q", r.notices)
	}
	if steps, err := r.Steps(t.Context()); err != nil || len(steps) != 0 {
		t.Errorf("steps %v, %v", steps, err)
	}
}

// A call that is cancelled while the files are recorded does not wait for the end of that.
func TestRecorder_Cancelled(t *testing.T) {
	dir := t.TempDir()
	r := record(t, "s", filepath.Join(t.TempDir(), "db"), dir)
	r.pending = make(chan struct{}) // a recording that does not end
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r.CallStarts(ctx, "c1", "bash")(t.Context())
	if r.busy() != 0 {
		t.Error("the call counts as running")
	}
	close(r.pending)
}
