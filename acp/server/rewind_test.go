package server_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/acp"
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
