package server_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/acptest"
	"github.com/gajae-code/gjc/internal/checkpoint"
	"github.com/gajae-code/gjc/providers/providertest"
)

// recording makes sessions record the state of the files.
func recording(t *testing.T) func(*config) {
	dir := filepath.Join(t.TempDir(), "checkpoints")
	return func(c *config) {
		c.server.Sessions.Checkpoints = func(string) *checkpoint.Options { return &checkpoint.Options{Dir: dir} }
	}
}

// TestCommandRewind goes back to before a prompt with what tools and commands have changed, and then takes that back.
func TestCommandRewind(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip(err)
	}
	e := start(t, scripted(
		providertest.Step{providertest.Call("c1", "write", `{"path":"a.txt","content":"one\n"}`)},
		providertest.Step{providertest.Text("Written.")},
		providertest.Step{providertest.Call("c2", "bash", `{"command":"echo two > a.txt; echo b > b.txt; rm keep.txt"}`)},
		providertest.Step{providertest.Text("Ran.")},
		providertest.Step{providertest.Text("Again.")},
	), recording(t))
	e.write("keep.txt", "kept\n")
	id := e.session()
	e.say(id, "write a", acp.StopReasonEndTurn)
	e.say(id, "run it", acp.StopReasonEndTurn)
	read := func(name string) string {
		t.Helper()
		data, err := os.ReadFile(filepath.Join(e.dir, name))
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		return string(data)
	}
	if read("a.txt") != "two\n" || read("keep.txt") != "" {
		t.Fatalf("the command did not run: a.txt has %q", read("a.txt"))
	}
	got, _ := e.after(id, "/rewind")
	if !containsAll(got, "1. run it (3 files,", "changed a.txt", "created b.txt", "deleted keep.txt", "2. write a (1 file,", "created a.txt") {
		t.Errorf("the list is %s", got)
	}
	got, _ = e.after(id, "/rewind 1 code")
	if !containsAll(got, "Rewound 3 files to before: run it", "change a.txt", "delete b.txt", "create keep.txt") {
		t.Errorf("the answer is %s", got)
	}
	if read("a.txt") != "one\n" || read("b.txt") != "" || read("keep.txt") != "kept\n" {
		t.Errorf("a.txt has %q, b.txt %q, keep.txt %q", read("a.txt"), read("b.txt"), read("keep.txt"))
	}
	got, _ = e.after(id, "/rewind 1 code") // the rewind
	if !strings.Contains(got, "Rewound 3 files") || read("a.txt") != "two\n" || read("b.txt") != "b\n" || read("keep.txt") != "" {
		t.Errorf("%s; a.txt has %q", got, read("a.txt"))
	}
	got, _ = e.after(id, "/rewind 4 both")
	if !containsAll(got, "before: write a", "The conversation continues before that prompt", "> write a") || read("a.txt") != "" || read("keep.txt") != "kept\n" {
		t.Errorf("%s; a.txt has %q", got, read("a.txt"))
	}
	for _, bad := range []string{"0", "99", "x", "1 files", "1 code more"} {
		if got, _ := e.after(id, "/rewind "+bad); !strings.Contains(got, "/rewind") || strings.Contains(got, "Rewound") {
			t.Errorf("%s: %s", bad, got)
		}
	}
}

// TestCommandRewind_ByUser asks before it takes back what the user has changed, on the disk or in a buffer.
func TestCommandRewind_ByUser(t *testing.T) {
	var mu sync.Mutex
	answer, questions := "reject_once", []string(nil)
	e := start(t, scripted(
		providertest.Step{providertest.Call("c1", "write", `{"path":"a.txt","content":"two\n"}`), providertest.Call("c2", "write", `{"path":"b.txt","content":"two\n"}`)},
		providertest.Step{providertest.Text("Written.")},
	), recording(t), func(c *config) {
		c.editor.Permission = func(_ context.Context, p *acp.RequestPermissionRequest) (*acp.RequestPermissionResponse, error) {
			mu.Lock()
			defer mu.Unlock()
			title, _ := p.ToolCall.Title.Get()
			var text strings.Builder
			if content, ok := p.ToolCall.Content.Get(); ok {
				for _, c := range content {
					if block, ok := c.(*acp.Content); ok {
						if t, ok := block.Content.(*acp.TextContent); ok {
							text.WriteString(t.Text)
						}
					}
				}
			}
			questions = append(questions, title+"\n"+text.String())
			return acptest.Choose(acp.PermissionOptionID(answer)), nil
		}
	})
	e.write("a.txt", "one\n")
	e.write("b.txt", "one\n")
	id := e.session()
	e.say(id, "write", acp.StopReasonEndTurn)
	mu.Lock()
	questions = nil
	mu.Unlock()
	e.write("a.txt", "mine\n")
	e.Open(filepath.Join(e.dir, "a.txt"), "mine\n")
	got, _ := e.after(id, "/rewind 1 code")
	if !strings.Contains(got, "you changed some of the files yourself") {
		t.Errorf("%s", got)
	}
	check := func(name, want string) {
		t.Helper()
		text, ok := e.Buffer(filepath.Join(e.dir, name))
		if !ok {
			data, err := os.ReadFile(filepath.Join(e.dir, name))
			if err != nil {
				t.Fatal(err)
			}
			text = string(data)
		}
		if text != want {
			t.Errorf("%s has %q, want %q", name, text, want)
		}
	}
	check("a.txt", "mine\n")
	check("b.txt", "two\n")
	// Text that is not saved counts too.
	e.Open(filepath.Join(e.dir, "b.txt"), "unsaved\n")
	mu.Lock()
	if len(questions) != 1 || !containsAll(questions[0], "a.txt") || strings.Contains(questions[0], "b.txt") {
		t.Errorf("questions: %q", questions)
	}
	answer, questions = "allow_once", nil
	mu.Unlock()
	if got, _ := e.after(id, "/rewind 1 code"); !strings.Contains(got, "Rewound 2 files") {
		t.Errorf("%s", got)
	}
	check("a.txt", "one\n")
	check("b.txt", "one\n")
	mu.Lock()
	defer mu.Unlock()
	if len(questions) != 1 || !containsAll(questions[0], "a.txt", "b.txt") {
		t.Errorf("questions: %q", questions)
	}
}

// TestCommandRewind_PlanMode changes nothing in plan mode, and says so.
func TestCommandRewind_PlanMode(t *testing.T) {
	e := start(t, scripted(
		providertest.Step{providertest.Call("c1", "write", `{"path":"a.txt","content":"two\n"}`)}, providertest.Step{providertest.Text("Written.")},
	), recording(t))
	id := e.session()
	e.say(id, "write", acp.StopReasonEndTurn)
	call[struct{}](e, "session/set_mode", obj{"sessionId": id, "modeId": "plan"})
	if got, _ := e.after(id, "/rewind 1 code"); !strings.Contains(got, "plan mode changes nothing") {
		t.Errorf("%s", got)
	}
}

// TestCommandRewind_Off says how to switch recording on.
func TestCommandRewind_Off(t *testing.T) {
	e := start(t, scripted())
	if got, _ := e.after(e.session(), "/rewind"); !strings.Contains(got, "checkpoints.enabled") {
		t.Errorf("%s", got)
	}
}
