//go:build unix

package custom_test

import (
	"context"
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/tools/custom"
	"github.com/gajae-code/gjc/agent/tools/toolstest"
	"github.com/gajae-code/gjc/agent/userfiles"
	"github.com/gajae-code/gjc/bridges"
	"github.com/gajae-code/gjc/internal/proc"
	"github.com/gajae-code/gjc/internal/testenv"
	"github.com/gajae-code/gjc/internal/trust"
)

func TestMain(m *testing.M) { os.Exit(testenv.Run(m)) }

// world returns a world with the programs of this machine.
func world(t *testing.T, files map[string]string) *toolstest.World {
	t.Helper()
	testenv.NoLeaks(t)
	children := proc.NewGroup(nil)
	t.Cleanup(func() {
		if n := children.Len(); n > 0 {
			t.Errorf("%d children are left", n)
		}
		_ = children.Close(context.Background())
	})
	w := toolstest.NewWorld(t, files)
	w.Programs = &bridges.LocalPrograms{Children: children, Local: bridges.Local{Env: append(os.Environ(), "OPENAI_API_KEY=sk-secret")}}
	return w
}

// tool loads the only tool of the user, described by text.
func tool(t *testing.T, w *toolstest.World, text string) agent.Tool {
	t.Helper()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "tools"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "tools", "a.yml"), []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	set := custom.Load(t.Context(), custom.Options{UserDir: dir, Roots: []string{w.Dir}})
	if len(set.Tools) != 1 || len(set.Problems) > 0 {
		t.Fatalf("loaded %d tools; problems: %v", len(set.Tools), set.Problems)
	}
	return set.Tools[0]
}

const head = "name: mine\ndescription: Does it.\n"

// png is the smallest picture.
var png = base64.StdEncoding.EncodeToString([]byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89"))

// TestRun runs programs with each kind of result.
func TestRun(t *testing.T) {
	w := world(t, nil)
	for name, c := range map[string]struct{ file, input, want, err string }{
		"the input":        {`command: "cat; pwd"`, `{"a":[1,"x y"]}`, `{"a":[1,"x y"]}` + "\n" + w.Dir, ""},
		"a list":           {`command: [printf, "%s|%s", "a b", c]`, `{}`, "a b|c", ""},
		"variables":        {"env: {MINE: yes}\ncommand: 'echo $MINE $GJC_TOOL ${OPENAI_API_KEY:-hidden}'", `{}`, "yes mine hidden", ""},
		"nothing":          {`command: "true"`, `{}`, "(no output)", ""},
		"unread input":     {`command: "echo done"`, `{"a":"` + strings.Repeat("x", 1<<20) + `"}`, "done", ""},
		"JSON":             {`command: "echo '{\"text\":\"one\",\"content\":[{\"type\":\"text\",\"text\":\"two\"}]}'"`, `{}`, "one\ntwo", ""},
		"other JSON":       {`command: "echo '{\"rows\":[1,2]}'"`, `{}`, `{"rows":[1,2]}`, ""},
		"unknown content":  {`command: "echo '{\"content\":[{\"type\":\"video\"}]}'"`, `{}`, `"video" is left out`, ""},
		"a broken picture": {`command: "echo '{\"content\":[{\"type\":\"image\",\"data\":\"!\"}]}'"`, `{}`, "A picture is not in base64", ""},
		"a failure":        {`command: "echo out; echo why >&2; exit 3"`, `{}`, "", "the tool mine failed with exit status 3; its stderr ends:\nwhy\nout"},
		"a signal":         {`command: "kill -9 $$"`, `{}`, "", "signal"},
		"no program":       {`command: [no-such-program-here]`, `{}`, "", "no-such-program-here of the tool in"},
		"too much":         {`command: "yes"`, `{}`, "", "more than 16"},
		"too slow":         {"timeout: 0.2\ncommand: \"echo waiting >&2; sleep 60\"", `{}`, "", "it did not end within 200ms"},
		"wrong input":      {"parameters: {type: object, properties: {n: {type: integer}}, required: [n]}\ncommand: cat", `{"n":"x"}`, "", "its schema is {"},
		"lacking input":    {"parameters: {type: object, properties: {n: {type: integer}}, required: [n]}\ncommand: cat", `{}`, "", `"n"`},
	} {
		t.Run(name, func(t *testing.T) {
			_, res, err := toolstest.Do(t.Context(), tool(t, w, head+c.file), w.Call(t, "mine", c.input))
			switch {
			case c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)):
				t.Errorf("got the error %v, want one with %q", err, c.err)
			case c.err == "" && (err != nil || !strings.Contains(res.Text, c.want)):
				t.Errorf("got %v, %v; want %q", res, err, c.want)
			}
		})
	}
}

func TestRun_Image(t *testing.T) {
	w := world(t, nil)
	_, res, err := toolstest.Do(t.Context(), tool(t, w, head+`command: "echo '{\"content\":[{\"type\":\"image\",\"data\":\"`+png+`\"}],\"details\":{\"n\":1},\"isError\":true}'"`), w.Call(t, "mine", "{}"))
	if err != nil || len(res.Images) != 1 || res.Images[0].MIMEType != "image/png" || !res.IsError || res.Raw == nil {
		t.Errorf("got %+v, %v", res, err)
	}
}

// TestRun_Progress shows the lines of stderr while the program runs.
func TestRun_Progress(t *testing.T) {
	w := world(t, nil)
	if _, _, err := toolstest.Do(t.Context(), tool(t, w, head+`command: "echo 'half \x1b[31mway' >&2; echo end"`), w.Call(t, "mine", "{}")); err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(w.Progress(), func(p agent.Progress) bool {
		return len(p.Content) == 1 && p.Content[0] == agent.Content(agent.TextContent{Text: "half way"})
	}) {
		t.Errorf("progress: %+v", w.Progress())
	}
}

// TestRun_Cancel ends the program and its children.
func TestRun_Cancel(t *testing.T) {
	w := world(t, nil)
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	call := w.Call(t, "mine", "{}")
	call.Update = func(agent.Progress) { cancel(why) }
	if _, _, err := toolstest.Do(ctx, tool(t, w, head+`command: "echo started >&2; sleep 60 & wait"`), call); !errors.Is(err, why) {
		t.Errorf("got %v", err)
	}
}

// TestPlan lists what the gate judges.
func TestPlan(t *testing.T) {
	w := world(t, nil)
	plan, err := toolstest.Plan(t.Context(), tool(t, w, head+`
command: [./run, "a b"]
cwd: sub
parameters: {type: object, properties: {file: {type: string}, more: {type: array}}}
effects: {read: ["{file}", /etc/hosts], write: ["out/{more}.txt"], network: [api.example.com]}
`), w.Call(t, "mine", `{"file":"in.txt","more":["1","../../2"]}`))
	if err != nil {
		t.Fatal(err)
	}
	type effect struct {
		Action             approval.Action
		Command, Dir, Host string
		Paths              []string
	}
	var got []effect
	for _, e := range plan.Effects {
		got = append(got, effect{e.Action, e.Command[strings.LastIndex(e.Command, "/")+1:], e.Dir, e.Host, e.Paths})
	}
	want := []effect{
		{Action: approval.ActionCommand, Command: "run 'a b'", Dir: w.Path("sub")},
		{Action: approval.ActionRead, Paths: []string{w.Path("sub/in.txt"), "/etc/hosts"}},
		{Action: approval.ActionEdit, Paths: []string{w.Path("sub/out/1.txt"), filepath.Join(w.Dir, "2.txt")}},
		{Action: approval.ActionNetwork, Host: "api.example.com"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	_, err = toolstest.Plan(t.Context(), tool(t, w, head+"command: cat\neffects: {read: ['{file}']}"), w.Call(t, "mine", `{"file":{"x":1}}`))
	if !errors.Is(err, agent.ErrBadInput) {
		t.Errorf("a path that is an object: %v", err)
	}
}

// TestLoad_Trust uses a workspace's file only as the user has seen it.
func TestLoad_Trust(t *testing.T) {
	w := world(t, map[string]string{".gjc/tools/a.yml": head + "command: [scripts/a.sh]", "scripts/a.sh": "#!/bin/sh\necho one"})
	session := trust.NewSession(nil)
	load := func() *custom.Set {
		return custom.Load(t.Context(), custom.Options{Roots: []string{w.Dir}, Trust: session})
	}
	set := load()
	if len(set.Tools) != 0 || set.Files[0].State != "not trusted" {
		t.Fatalf("before the question: %+v", set.Files)
	}
	questions := set.Questions()
	if len(questions) != 1 {
		t.Fatalf("%d questions", len(questions))
	}
	if lines := strings.Join(questions[0].Lines(), "\n"); lines != ".gjc/tools/a.yml\n  tool mine: "+w.Path("scripts/a.sh")+"\nscripts/a.sh" {
		t.Errorf("the question says %q", lines)
	}
	if err := questions[0].Answer(t.Context(), true, false); err != nil {
		t.Fatal(err)
	}
	if !set.Stale(t.Context()) {
		t.Error("an answer does not make the set stale")
	}
	if set = load(); len(set.Tools) != 1 || len(set.Questions()) != 0 {
		t.Fatalf("after the answer: %+v", set.Files)
	}
	w.Put(t, "scripts/a.sh", "#!/bin/sh\necho two")
	if set = load(); len(set.Tools) != 0 || len(set.Questions()) != 1 {
		t.Errorf("after a change of the script: %+v", set.Files)
	}
}

// TestLoad_Bad reports each file that cannot be used, and uses the others.
func TestLoad_Bad(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "outside.yml")
	if err := os.WriteFile(outside, []byte(head+"command: cat"), 0o666); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ text, want string }{
		"empty":          {"", "must be a mapping"},
		"no YAML":        {"a: [", "the tool is ignored"},
		"a list":         {"- a", "must be a mapping"},
		"no name":        {"description: x\ncommand: cat", "name is missing"},
		"no command":     {"name: x\ndescription: y", "command is missing"},
		"no description": {"name: x\ncommand: y", "description is missing"},
		"a bad name":     {"name: a b\ndescription: x\ncommand: cat", "name: must have"},
		"of gjc":         {"name: read\ndescription: x\ncommand: cat", "is a tool of gjc"},
		"of MCP":         {"name: mcp__a_b\ndescription: x\ncommand: cat", "belong to MCP servers"},
		"a bad schema":   {head + "command: cat\nparameters: {type: string}", `with "type: object"`},
		"a wrong schema": {head + "command: cat\nparameters: {type: object, properties: 5}", "is no valid JSON Schema"},
		"a reference":    {head + "command: cat\nparameters: {type: object, properties: {a: {$ref: 'http://127.0.0.1:1/x'}}}", "is no valid JSON Schema"},
		"a bad timeout":  {head + "command: cat\ntimeout: 0", "timeout: must be"},
		"a huge timeout": {head + "command: cat\ntimeout: 1e300", "timeout: must be"},
		"a bad command":  {head + "command: []", "command: must be"},
		"a NUL":          {head + `command: ["a\0b"]`, "NUL"},
		"bad effects":    {head + "command: cat\neffects: {writes: [a]}", `unknown field "writes"`},
		"a bad path":     {head + "command: cat\neffects: {write: ['{a']}", "has a brace"},
		"a bad network":  {head + "command: cat\neffects: {network: 5}", "network must be"},
		"too large":      {head + "command: cat\n# " + strings.Repeat("x", 70<<10), "is larger than 64 KiB"},
		"binary":         {head + "command: cat\x00", "is neither UTF-8 nor UTF-16 text"},
		"invalid UTF-8":  {head + "command: cat\xff", "is neither UTF-8 nor UTF-16 text"},
	} {
		t.Run(name, func(t *testing.T) {
			w := world(t, map[string]string{".gjc/tools/bad.yml": c.text})
			dir := t.TempDir()
			if err := os.MkdirAll(filepath.Join(dir, "tools"), 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "tools", "good.yml"), []byte("\ufeffname: good\ndescription: x\ncommand: cat\nextra: 1\n"), 0o666); err != nil {
				t.Fatal(err)
			}
			set := custom.Load(t.Context(), custom.Options{UserDir: dir, Roots: []string{w.Dir}, Reserved: []string{"read"}})
			if len(set.Tools) == 1 && set.Tools[0].Spec().Origin.Server == "" {
				t.Error("the tool counts as gjc's own and is never held back")
			}
			if len(set.Tools) != 1 || set.Tools[0].Spec().Name != "good" {
				t.Errorf("tools: %+v", set.Files)
			}
			if !slices.ContainsFunc(set.Problems, func(p userfiles.Problem) bool { return strings.Contains(p.String(), c.want) }) {
				t.Errorf("problems: %v; want %q", set.Problems, c.want)
			}
		})
	}
	w := world(t, map[string]string{".gjc/tools/c.yml": head + "command: cat"})
	tools := w.Path(".gjc/tools")
	if err := errors.Join(os.Symlink(outside, filepath.Join(tools, "a.yml")), unix.Mkfifo(filepath.Join(tools, "b.yml"), 0o666), os.Mkdir(filepath.Join(tools, "d.yml"), 0o777)); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	set := custom.Load(t.Context(), custom.Options{Roots: []string{w.Dir}})
	if len(set.Files) != 1 || len(set.Problems) != 3 || time.Since(began) > time.Minute {
		t.Errorf("files %+v, problems %v", set.Files, set.Problems)
	}
}
