package hooks_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/agent/hooks"
	"github.com/gajae-code/gjc/internal/trust"
)

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

func names(list []*hooks.Hook) string {
	var all []string
	for _, h := range list {
		all = append(all, h.Name)
	}
	return strings.Join(all, " ")
}

// Trust covers a script that a shell command line or an option names, and the question shows the boundaries of words.
func TestLoad_TrustOfScripts(t *testing.T) {
	for command, want := range map[string][]string{
		`[sh, -c, "scripts/a.sh --all && ./scripts/b.py"]`: {`theirs: sh -c "scripts/a.sh --all && ./scripts/b.py"`, "scripts/a.sh", "scripts/b.py"},
		`[node, "--require=./scripts/b.py", x]`:            {"theirs: node --require=./scripts/b.py x", "scripts/b.py"},
		`[sh, -c, "cat <scripts/a.sh|sh"]`:                 {`theirs: sh -c "cat <scripts/a.sh|sh"`, "scripts/a.sh"},
	} {
		dir := t.TempDir()
		write(t, dir, map[string]string{
			".gjc/hooks/a.yml": "hooks:\n- {name: theirs, event: tool_call, tools: bash, command: " + command + "}\n",
			"scripts/a.sh":     "true", "scripts/b.py": "pass",
		})
		q := hooks.Load(hooks.Options{Roots: []string{dir}, Trust: trust.NewSession(trust.Open(filepath.Join(dir, "trust.json")))}).Question()
		if q == nil {
			t.Fatalf("%s: nothing is asked", command)
		}
		if diff := cmp.Diff(append([]string{".gjc/hooks/a.yml", "  " + want[0]}, want[1:]...), q.Lines()); diff != "" {
			t.Errorf("%s: the question (-want +got):\n%s", command, diff)
		}
	}
}

// The user's hooks run; a workspace's hooks run only with trust, which covers the contents of the file and of the
// scripts that it names.
func TestLoad_Trust(t *testing.T) {
	user, dir := t.TempDir(), t.TempDir()
	write(t, user, map[string]string{"hooks.yml": "hooks:\n- {name: mine, event: prompt, command: x}\n", "hooks/b.json": `{"hooks":[{"event":["tool_call"],"command":["x"],"timeout":1.5}]}`})
	write(t, dir, map[string]string{
		".gjc/hooks/a.yml": "hooks:\n- {name: theirs, event: tool_call, tools: bash, command: [sh, .gjc/check.sh], blocking: true}\n",
		".gjc/check.sh":    "exit 2",
	})
	store := trust.Open(filepath.Join(user, "trust.json"))
	load := func() *hooks.Set {
		t.Helper()
		set := hooks.Load(hooks.Options{UserDir: user, Roots: []string{dir}, Trust: trust.NewSession(store)})
		if len(set.Problems) > 0 {
			t.Errorf("problems: %q", set.Problems)
		}
		return set
	}
	set := load()
	if names(set.Hooks) != "mine b#1" || names(set.Untrusted) != "theirs" || set.Hooks[1].Timeout != 1500*time.Millisecond {
		t.Errorf("hooks %s, untrusted %s", names(set.Hooks), names(set.Untrusted))
	}
	q := set.Question()
	if q == nil {
		t.Fatal("nothing is asked")
	}
	if diff := cmp.Diff([]string{".gjc/hooks/a.yml", "  theirs: sh .gjc/check.sh", ".gjc/check.sh"}, q.Lines()); diff != "" {
		t.Errorf("the question (-want +got):\n%s", diff)
	}
	if err := q.Answer(t.Context(), true, true); err != nil {
		t.Fatal(err)
	}
	if set := load(); names(set.Hooks) != "mine b#1 theirs" || set.Question() != nil {
		t.Errorf("with trust: %s", names(set.Hooks))
	}
	write(t, dir, map[string]string{".gjc/check.sh": "rm -rf ."})
	set = load()
	if q = set.Question(); names(set.Untrusted) != "theirs" || q == nil || !strings.Contains(strings.Join(q.Lines(), "\n"), ".gjc/check.sh (changed") {
		t.Error("a changed script runs without a question")
	}
	if err := q.Answer(t.Context(), false, true); err != nil {
		t.Fatal(err)
	}
	if set = load(); set.Question() != nil || names(set.Untrusted) != "theirs" {
		t.Error("a no is asked about again")
	}
	if set := hooks.Load(hooks.Options{Roots: []string{dir}}); len(set.Hooks) > 0 || set.Question() != nil || set.Subject(dir) == nil {
		t.Error("without a store the workspace is trusted")
	}
}

// Invalid hooks are reported with their lines and omitted.
func TestLoad_BadInput(t *testing.T) {
	user := t.TempDir()
	write(t, user, map[string]string{
		"hooks.yml": `hooks:
- {event: tool_call, command: [ok]}
- {event: now, command: [x]}
- {event: prompt, command: "sh -c x"}
- {event: prompt}
- {command: [x]}
- {event: prompt, command: [x], timeout: 601}
- {event: prompt, command: [x], blocking: true}
- {event: tool_call, command: [x], tools: "a["}
- {event: tool_call, command: [x], matcher: a}
- text
`,
		"hooks/list.yml": "- a", "hooks/none.yaml": "event: x", "hooks/bad.json": "{", "hooks/bin.yml": "\x00\xff", "hooks/big.yml": strings.Repeat("# x\n", 300_000),
		"hooks/dir.yml/x": "", "hooks/x.txt": "no", "hooks/.hid.yml": "no",
	})
	set := hooks.Load(hooks.Options{UserDir: user})
	if names(set.Hooks) != "hooks#1" {
		t.Errorf("hooks: %s", names(set.Hooks))
	}
	problems := strings.ReplaceAll(strings.Join(set.Problems, "\n"), user, "")
	for _, want := range []string{
		`hooks.yml:3: unknown event "now"; the events are session_start, prompt`, "hooks.yml:4: command must be a list", "hooks.yml:5: the hook has no command",
		"hooks.yml:6: the hook has no event", "hooks.yml:7: timeout must be", "hooks.yml:8: blocking is only for tool_call hooks", "hooks.yml:9: tools must be",
		`hooks.yml:10: the fields of a hook are name, event, tools, command, timeout and blocking, not "matcher"`, "hooks.yml:11: a hook must be a mapping",
		"list.yml:1: ", "none.yaml:1: the file must contain hooks", "bad.json:1: ", "bin.yml:1: ", "big.yml: ", "dir.yml: ",
	} {
		if !strings.Contains(problems, want) {
			t.Errorf("no word of %q in\n%s", want, problems)
		}
	}
}

func TestParseAnswer(t *testing.T) {
	for _, tt := range []struct {
		stdout, stderr string
		code           int
		want           hooks.Answer
		fails          string
	}{
		{"", "", 0, hooks.Answer{}, ""},
		{" \n", "noise", 0, hooks.Answer{}, ""},
		{`{"block":true,"reason":" no "}`, "", 0, hooks.Answer{Block: true, Reason: "no"}, ""},
		{"\ufeff{\"context\":\"c\",\"more\":1}\r\n", "", 0, hooks.Answer{Context: "c"}, ""},
		{"", "why\n", 2, hooks.Answer{Block: true, Reason: "why"}, ""},
		{"text", "why", 2, hooks.Answer{Block: true, Reason: "why"}, ""},
		{`{"block":false,"reason":"r"}`, "why", 2, hooks.Answer{Block: true, Reason: "r"}, ""},
		{`{"block":true}`, "", 7, hooks.Answer{Block: true}, ""},
		{"", "bad", 1, hooks.Answer{}, "exit code 1: bad"},
		{`{"context":"x"}`, "", 1, hooks.Answer{}, "exit code 1"},
		{"hello", "", 0, hooks.Answer{}, "not a JSON object"},
		{"[]", "", 0, hooks.Answer{}, "not a JSON object"},
		{`{"block":"yes"}`, "", 0, hooks.Answer{}, "not a valid answer"},
		{`{"block":true`, "", 2, hooks.Answer{}, "not a valid answer"},
		{`{} {}`, "", 0, hooks.Answer{}, "not a valid answer"},
		{strings.Repeat(" ", 17<<20), "", 0, hooks.Answer{}, "exceeds 16384 KiB"},
	} {
		got, err := hooks.ParseAnswer(hooks.ToolCall, []byte(tt.stdout), tt.code, tt.stderr)
		if (err != nil) != (tt.fails != "") || err != nil && !strings.Contains(err.Error(), tt.fails) || !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%.40q with %d: %+v, %v", tt.stdout, tt.code, got, err)
		}
	}
}

// A non-zero exit code never means consent, whatever the output.
func FuzzParseAnswer(f *testing.F) {
	f.Add([]byte(`{"block":true,"reason":"x"}`), 0, "")
	f.Add([]byte(`{"block":null}`), 2, "x")
	f.Add([]byte("\xff"), 1, "\xff")
	f.Fuzz(func(t *testing.T, stdout []byte, code int, stderr string) {
		a, err := hooks.ParseAnswer(hooks.ToolCall, stdout, code, stderr)
		if code != 0 && err == nil && !a.Block {
			t.Errorf("%q with %d agrees", stdout, code)
		}
		if err != nil && !reflect.DeepEqual(a, hooks.Answer{}) {
			t.Errorf("an answer with an error: %+v", a)
		}
	})
}

// slow is a program that runs until it is canceled.
type slow struct{ err error }

func (s slow) LookPath(string) (string, error) { return "/bin/slow", s.err }
func (s slow) Run(ctx context.Context, _ string, _ []string, _ string, _ []byte, _ int) ([]byte, int, string, error) {
	<-ctx.Done()
	return nil, 0, "", context.Cause(ctx)
}

func TestRun_Fails(t *testing.T) {
	h := &hooks.Hook{Name: "h", Command: []string{"slow"}, Timeout: time.Millisecond}
	if _, err := h.Run(t.Context(), slow{}, hooks.Input{}); err == nil || !strings.Contains(err.Error(), "timed out after 1ms") {
		t.Errorf("a timeout: %v", err)
	}
	if _, err := h.Run(t.Context(), slow{os.ErrNotExist}, hooks.Input{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no program: %v", err)
	}
	over, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("the user stops")
	cancel(cause)
	h.Timeout = time.Hour
	if _, err := h.Run(over, slow{}, hooks.Input{}); !errors.Is(err, cause) {
		t.Errorf("a cancelled call: %v", err)
	}
}

// where records the directory in which a program runs.
type where struct{ dir string }

func (*where) LookPath(string) (string, error) { return "/bin/sh", nil }
func (w *where) Run(_ context.Context, _ string, _ []string, dir string, _ []byte, _ int) ([]byte, int, string, error) {
	w.dir = dir
	return nil, 0, "", nil
}

// A workspace's hook runs in the root whose files were checked for trust, which may not be the first one.
func TestRun_Directory(t *testing.T) {
	for _, tt := range []struct {
		project bool
		want    string
	}{{true, "/two"}, {false, "/one"}} {
		var w where
		h := &hooks.Hook{Name: "h", Command: []string{"sh", "check.sh"}, Timeout: time.Hour, Dir: "/two", Project: tt.project}
		if _, err := h.Run(t.Context(), &w, hooks.Input{Cwd: "/one"}); err != nil || w.dir != tt.want {
			t.Errorf("project %v: in %s, %v", tt.project, w.dir, err)
		}
	}
}
