package agent_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/rules"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/providertest"
	"github.com/gajae-code/gjc/sessions"
)

// odd is a workspace with unusual files. Its maps hold, by path, their mode, size and real path.
type odd struct {
	fewFiles
	mode map[string]os.FileMode
	size map[string]int64
	real map[string]string
}

func (o *odd) Stat(ctx context.Context, path string) (os.FileInfo, error) {
	if mode, ok := o.mode[path]; ok {
		return oddInfo{fileInfo(path), mode, 1}, nil
	}
	info, err := o.fewFiles.Stat(ctx, path)
	if size, ok := o.size[path]; ok && err == nil {
		return oddInfo{fileInfo(path), 0o644, size}, nil
	}
	return info, err
}

func (o *odd) RealPath(path string) string {
	if real, ok := o.real[path]; ok {
		return real
	}
	return path
}

type oddInfo struct {
	fileInfo
	mode os.FileMode
	size int64
}

func (o oddInfo) Mode() os.FileMode { return o.mode }
func (o oddInfo) Size() int64       { return o.size }

// promptOf returns the system prompt of a session.
func promptOf(t *testing.T, change func(*agent.Options)) (prompt string) {
	t.Helper()
	run(t, change, func(w *world) { w.prompt("go") }, providertest.Step{
		providertest.Check(func(req *providers.Request) { prompt = req.System }), providertest.Text("ok"),
	})
	return prompt
}

// Unusual instruction files are omitted or cut, and never cause a hang. The file next to the working directory is kept completely.
func TestInstructions_Odd(t *testing.T) {
	files := &odd{
		fewFiles: fewFiles{files: map[string]string{
			"/r/.git": "", "/r/AGENTS.md": strings.Repeat("far\n", 10_000), "/r/a/AGENTS.md": "\ufeffNear.\r\n",
			"/r/x/AGENTS.md": "Linked.", "/r/a/b/AGENTS.md": "", "/r/a/b/c/AGENTS.md": "Out.", "/r/a/b/c/d/AGENTS.md": "bin\x00ary",
			"/r/a/b/c/d/e/AGENTS.md": "Huge.", "/r/a/b/c/d/e/f/CLAUDE.md": "Behind a pipe.",
		}},
		mode: map[string]os.FileMode{"/r/a/b/c/d/e/f/AGENTS.md": fs.ModeNamedPipe | 0o644},
		size: map[string]int64{"/r/a/b/c/d/e/AGENTS.md": 10 << 20},
		real: map[string]string{"/r/a/b/c/AGENTS.md": "/etc/passwd"},
	}
	prompt := promptOf(t, func(o *agent.Options) {
		o.FS, o.Workspace.Cwd = files, "/r/a/b/c/d/e/f"
	})
	for _, want := range []string{"## /r/a/AGENTS.md\n\nNear.\n", "e/AGENTS.md\n\n(omitted: the file is larger", "Behind a pipe.", "bytes left out"} {
		if !strings.Contains(prompt, want) {
			t.Errorf("no %q in the prompt", want)
		}
	}
	if strings.Contains(prompt, "Out.") || strings.Contains(prompt, "ary") || len(prompt) > 36<<10 {
		t.Errorf("%d bytes:\n%.300s", len(prompt), prompt)
	}
	// A symlink within the repository is followed, once. A file that every user may write is not read.
	files = &odd{
		fewFiles: fewFiles{files: map[string]string{"/r/AGENTS.md": "Same.", "/r/p/AGENTS.md": "Same.", "/r/.git": ""}},
		real:     map[string]string{"/r/p/AGENTS.md": "/r/AGENTS.md"},
	}
	if prompt := promptOf(t, func(o *agent.Options) { o.FS, o.Workspace.Cwd = files, "/r/p" }); strings.Count(prompt, "Same.") != 1 {
		t.Errorf("a linked file is there %d times", strings.Count(prompt, "Same."))
	}
	files = &odd{
		fewFiles: fewFiles{files: map[string]string{"/tmp/AGENTS.md": "Evil.", "/tmp/p/AGENTS.md": "Own.", "/AGENTS.md": "Top."}},
		mode:     map[string]os.FileMode{"/tmp": fs.ModeDir | 0o777, "/tmp/p": fs.ModeDir | 0o777},
	}
	prompt = promptOf(t, func(o *agent.Options) { o.FS, o.Workspace.Cwd = files, "/tmp/p" })
	if strings.Contains(prompt, "Evil.") || !strings.Contains(prompt, "Own.") || !strings.Contains(prompt, "Top.") {
		t.Errorf("the prompt has:\n%s", prompt)
	}
	prompt = promptOf(t, func(o *agent.Options) { o.FS, o.Workspace.Cwd, o.Policy.Home = files, "/tmp/p", "/tmp" })
	if strings.Contains(prompt, "Top.") {
		t.Error("it was looked above the home directory")
	}
}

// bookOf returns a function that loads rules from files.
func bookOf(t *testing.T, files map[string]string) func(context.Context) *agent.Guidance {
	t.Helper()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "rules"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, "rules", name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	book, problems := rules.Load(t.Context(), rules.Options{UserDir: dir})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	g := &agent.Guidance{
		Rules:  book,
		Skills: []agent.Skill{{Name: "pdf", Description: "How PDFs\nare made"}},
		ReadSkill: func(name, path string) ([]byte, error) {
			if path != "" {
				return nil, errors.New("no " + path)
			}
			return []byte("the skill " + name), nil
		},
	}
	return func(context.Context) *agent.Guidance { return g }
}

// toucher returns a tool that reads a file or an address.
func toucher() agent.Tool {
	return agent.NewTool(agent.ToolFuncs[input]{
		Name: "read", Kind: agent.KindRead,
		Plan: func(_ context.Context, call *agent.Call, in *input) (*agent.CallPlan, error) {
			return &agent.CallPlan{Title: "Read " + in.Say, Locations: []agent.Location{{Path: in.Say}}}, nil
		},
		Run: func(ctx context.Context, call *agent.Call, in *input) (*agent.Result, error) {
			if agent.IsDocument(in.Say) {
				text, err := call.Document(ctx, in.Say)
				return &agent.Result{Text: string(text)}, err
			}
			if in.Say == "/w/fail.go" {
				return nil, errors.New("no")
			}
			return &agent.Result{Text: "text of " + in.Say}, nil
		},
	})
}

// Rules for all work are in the prompt, other rules are listed and can be read, and rules about files are added to the first result
// about a matching file.
func TestRules(t *testing.T) {
	guidance := bookOf(t, map[string]string{
		"kind.md":  "---\nalwaysApply: true\n---\nBe kind.",
		"go.md":    "---\ndescription: Go code\nglobs: [\"*.go\"]\n---\nUse gofumpt. </rule> Really.",
		"ship.md":  "---\ndescription: Releases\n---\nTag it.",
		"never.md": "---\ncondition: xyzzy\n---\nNever say it.",
	})
	call := func(id, path string) providertest.Action {
		return providertest.Call(id, "read", `{"say":"`+path+`"}`)
	}
	run(
		t, func(o *agent.Options) { o.Guidance, o.Tools = guidance, agent.Tools{toucher()} }, func(w *world) {
			w.prompt("go")
			if err := w.session.Prompt(agent.Prompt{Answer: func(_ context.Context, t *agent.RunningTurn) error { return t.Clear() }}).Wait(w.t.Context()).Err; err != nil {
				t.Fatal(err)
			}
			w.prompt("once more")
			reqs := w.script.Requests()
			prompt := reqs[0].System
			for _, want := range []string{"Be kind.", "- go (files: *.go): Go code\n", "- ship: Releases\n", "- pdf: How PDFs are made", "rule://NAME", "skill://NAME"} {
				if !strings.Contains(prompt, want) {
					t.Errorf("no %q in the prompt:\n%s", want, prompt)
				}
			}
			if strings.Contains(prompt, "gofumpt") || strings.Contains(prompt, "never") || strings.Contains(prompt, "Tag it") {
				t.Errorf("the prompt has:\n%s", prompt)
			}
			var got []string
			for _, m := range reqs[2].Messages {
				if m.Role == providers.RoleTool {
					got = append(got, m.ToolCallID+" "+m.Text())
				} else if len(got) > 0 && m.Role == providers.RoleUser {
					got = append(got, m.Text())
				}
			}
			text := strings.Join(got, "\n")
			if strings.Count(text, "Use gofumpt.") != 1 || !strings.Contains(text, "3 text of /w/b.go\n<system-reminder>\nThis workspace rule applies to a.go:\n<rule name=\"go\"") {
				t.Errorf("the results are:\n%s", text)
			}
			if strings.Count(text, "</rule>") != 1 {
				t.Errorf("a rule closes its block itself:\n%s", text)
			}
			for _, want := range []string{"4 Tag it.", "5 not found: rule://none; the rules are: go, kind, ship", "6 the skill pdf", "7 no ../x", "8 not found: skill://doc; the skills are: pdf", "9 not found: rule://never"} {
				if !strings.Contains(text, want) {
					t.Errorf("no %q in the results:\n%s", want, text)
				}
			}
			// A new conversation has not seen the rule.
			last := reqs[4].Messages
			if text := last[len(last)-1].Text(); !strings.Contains(text, "Use gofumpt.") {
				t.Errorf("after the clear the result is %q", text)
			}
		},
		providertest.Step{call("1", "/w/fail.go"), call("2", "/w/a.go"), call("3", "/w/b.go")},
		providertest.Step{
			call("4", "rule://ship"), call("5", "rule://none"), call("6", "skill://pdf"), call("7", "skill://pdf/../x"), call("8", "skill://doc"),
			call("9", "rule://never"), call("10", "/w/c.go"),
		},
		providertest.Step{providertest.Text("ok")},
		providertest.Step{call("11", "/w/a.go")}, providertest.Step{providertest.Text("ok")},
	)
}

const noLog = "---\ncondition: 'console\\.log'\n---\nUse the logger."

// An answer that breaks a rule is interrupted, and the model is asked again with the rule, once.
func TestStreamRule(t *testing.T) {
	for name, step := range map[string]providertest.Step{
		"in pieces":    {providertest.Text("I add con"), providertest.Text("sole.l"), providertest.Text("og(x)"), providertest.Text(" and more"), providertest.Fail(errors.New("read on"))},
		"at the end":   {providertest.Text("I add console.log")},
		"with calls":   {providertest.Text("I add it: "), providertest.Call("c", "echo", `{"say":"cons`, `ole.log(1)"}`), providertest.Call("d", "echo", `{"say":"x"}`)},
		"only calling": {providertest.Call("c", "echo", `{"say":"console.log"}`)},
	} {
		t.Run(name, func(t *testing.T) {
			guidance := bookOf(t, map[string]string{"no-log.md": noLog})
			run(t, func(o *agent.Options) { o.Guidance = guidance }, func(w *world) {
				if r := w.prompt("go"); r.Err != nil || r.Stop != agent.StopEndTurn {
					t.Errorf("%+v", r)
				}
				reqs := w.script.Requests()
				if len(reqs) != 2 {
					t.Fatalf("%d requests", len(reqs))
				}
				last := reqs[1].Messages[len(reqs[1].Messages)-1]
				if last.Role != providers.RoleUser || !strings.Contains(last.Text(), `<system-interrupt reason="rule_violation" rule="no-log"`) || !strings.Contains(last.Text(), "Use the logger.") {
					t.Errorf("the model got %q", last.Text())
				}
				for _, m := range reqs[1].Messages {
					if len(m.ToolCalls()) > 0 || m.Role == providers.RoleTool {
						t.Error("a call of the answer is there")
					}
				}
				for _, line := range w.story() {
					if strings.HasPrefix(line, "start ") {
						t.Errorf("a call ran: %s", line)
					}
				}
				if got := notices(w); len(got) != 1 || !strings.Contains(got[0], "the rule no-log") {
					t.Errorf("noticed %q", got)
				}
			}, step, providertest.Step{providertest.Text("Then console.log again.")})
		})
	}
}

// Settings determine whether answers are checked, which part of an interrupted answer is kept, and when a rule applies again.
// Nothing hangs or loops.
func TestStreamRule_Settings(t *testing.T) {
	bad, ok := providertest.Step{providertest.Text("console.log it")}, providertest.Step{providertest.Text("ok")}
	guidance := bookOf(t, map[string]string{"no-log.md": noLog})
	settings := func(change func(*agent.RuleSettings)) func(*agent.Options) {
		return func(o *agent.Options) {
			set := agent.DefaultSettings()
			change(&set.Rules)
			o.Settings, o.Guidance = &set, guidance
		}
	}
	run(t, settings(func(s *agent.RuleSettings) { s.Stream = false }), func(w *world) {
		if w.prompt("go"); len(w.script.Requests()) != 1 {
			t.Error("a rule counts that is switched off")
		}
	}, bad)
	run(t, settings(func(s *agent.RuleSettings) { s.Discard = true }), func(w *world) {
		w.prompt("go")
		if reqs := w.script.Requests(); len(reqs) != 2 || len(reqs[1].Messages) != 2 {
			t.Errorf("%d requests", len(reqs))
		}
	}, bad, ok)
	run(t, settings(func(s *agent.RuleSettings) { s.Repeat, s.RepeatGap = agent.RepeatAfterGap, 2 }), func(w *world) {
		for range 3 {
			w.prompt("go")
		}
		if n := len(w.script.Requests()); n != 5 { // the first and the third turn send two requests each
			t.Errorf("%d requests", n)
		}
	}, bad, bad, bad, bad, bad)
	// Another rule can interrupt the next answer. The last request that a turn may make is not interrupted.
	guidance = bookOf(t, map[string]string{"a.md": "---\ncondition: aaa\n---\nA.", "b.md": "---\ncondition: bbb\n---\nB."})
	run(t, func(o *agent.Options) {
		o.MaxRequests, o.Guidance = 2, guidance
	}, func(w *world) {
		if r := w.prompt("go"); r.Stop != agent.StopEndTurn || r.Err != nil || len(w.script.Requests()) != 2 {
			t.Errorf("%+v after %d requests", r, len(w.script.Requests()))
		}
	}, providertest.Step{providertest.Text("aaa ")}, providertest.Step{providertest.Text("bbb ")})
}

// A rule that does not interrupt is added after the answer: to the result of the call that matched it, or as a separate message.
func TestStreamRule_Later(t *testing.T) {
	guidance := bookOf(t, map[string]string{"no-log.md": "---\ncondition: 'console\\.log'\ninterruptMode: never\n---\nUse the logger."})
	run(t, func(o *agent.Options) { o.Guidance = guidance }, func(w *world) {
		w.prompt("go")
		reqs := w.script.Requests()
		if len(reqs) != 2 {
			t.Fatalf("%d requests", len(reqs))
		}
		first, second, rule := reqs[1].Messages[2].Text(), reqs[1].Messages[3].Text(), reqs[1].Messages[4].Text()
		if first != "x" || second != "console.log" || !strings.HasPrefix(rule, `<system-reminder reason="rule_violation" rule="no-log"`) {
			t.Errorf("the results are %q and %q, and then %q", first, second, rule)
		}
	}, providertest.Step{providertest.Call("1", "echo", `{"say":"x"}`), providertest.Call("2", "echo", `{"say":"console.log"}`)}, providertest.Step{providertest.Text("console.log")})
	run(t, func(o *agent.Options) { o.Guidance = guidance }, func(w *world) {
		w.prompt("go")
		reqs := w.script.Requests()
		if len(reqs) != 2 || !strings.Contains(reqs[1].Messages[2].Text(), "<system-reminder") {
			t.Errorf("%d requests", len(reqs))
		}
		if got := notices(w); len(got) != 0 {
			t.Errorf("noticed %q", got)
		}
	}, providertest.Step{providertest.Text("console.log")}, providertest.Step{providertest.Text("ok")})
}

// The rules that the model received are known when a session is reopened, and a turn that is canceled while it streams ends.
func TestStreamRule_Reopened(t *testing.T) {
	guidance := bookOf(t, map[string]string{"no-log.md": noLog})
	log := new(memoryLog)
	bad := providertest.Step{providertest.Text("console.log it")}
	open := func(o *agent.Options) {
		o.Guidance, o.Log = guidance, log
		history, err := log.Messages()
		if err != nil {
			t.Fatal(err)
		}
		o.History = history
	}
	run(t, open, func(w *world) { w.prompt("go") }, bad, providertest.Step{providertest.Text("ok")})
	log.closed = false
	run(t, open, func(w *world) {
		if w.prompt("go"); len(w.script.Requests()) != 1 {
			t.Errorf("%d requests", len(w.script.Requests()))
		}
	}, bad)
	var given int
	branch, _ := log.Branch()
	for _, e := range branch {
		if c, ok := e.(sessions.Custom); ok && c.CustomType == "gjc.rule" {
			given++
			if diff := cmp.Diff(`{"name":"no-log","stream":true}`, string(c.Data)); diff != "" {
				t.Error(diff)
			}
		}
	}
	if given != 1 {
		t.Errorf("the log says %d times that the rule was given", given)
	}
	run(t, func(o *agent.Options) { o.Guidance = guidance }, func(w *world) {
		gate := providertest.NewGate()
		w.speak(providertest.Step{providertest.Text("console."), gate.Hold(), providertest.Text("log ")})
		turn := w.session.Prompt(agent.Prompt{Parts: []providers.Part{providers.Text{Text: "go"}}})
		<-gate.Reached()
		turn.Cancel()
		if r := turn.Wait(w.t.Context()); r.Stop != agent.StopCancelled {
			t.Errorf("%+v", r)
		}
		time.Sleep(time.Hour) // fake time: no further request follows
		if n := len(w.script.Requests()); n != 1 {
			t.Errorf("%d requests", n)
		}
	})
}

// Rules that another program gave the model, in a session that it has written, count as given.
func TestStreamRule_OfOtherPrograms(t *testing.T) {
	guidance := bookOf(t, map[string]string{"no-log.md": noLog, "other.md": "---\ncondition: other\n---\nNothing else."})
	store := sessions.NewStore(t.TempDir(), &sessions.StoreOptions{Sync: sessions.SyncNever})
	log, err := store.Create(t.Context(), sessions.Header{Cwd: "/w"})
	if err != nil {
		t.Fatal(err)
	}
	id := log.ID()
	if _, err := log.AppendMessage(new(user("before", 1))); err != nil {
		t.Fatal(err)
	}
	if _, err := log.Append(sessions.RuleInjection{InjectedRules: []string{"gone", "no-log"}}); err != nil {
		t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	if log, err = store.Open(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	history, err := log.Messages()
	if err != nil {
		t.Fatal(err)
	}
	run(t, func(o *agent.Options) { o.Guidance, o.Log, o.History = guidance, log, history }, func(w *world) {
		w.prompt("go")
		w.prompt("on")
		if got := notices(w); len(got) != 1 || !strings.Contains(got[0], "the rule other;") {
			t.Errorf("noticed %q", got)
		}
		if n := len(w.script.Requests()); n != 3 {
			t.Errorf("%d requests", n)
		}
	}, providertest.Step{providertest.Text("console.log it")}, providertest.Step{providertest.Text("or other")}, providertest.Step{providertest.Text("ok")})
}

// Instructions of the configuration are in every prompt, before those of the workspace.
func TestInstructions_OfTheConfiguration(t *testing.T) {
	set := agent.DefaultSettings()
	set.Instructions = []agent.Instruction{{Path: "/u/config.yml", Text: "Answer briefly."}, {Path: "/w/.gjc/config.yml", Text: "Answer in French."}}
	prompt := promptOf(t, func(o *agent.Options) { o.Settings = &set })
	if !strings.Contains(prompt, "## /u/config.yml\n\nAnswer briefly.\n\n## /w/.gjc/config.yml\n\nAnswer in French.") {
		t.Errorf("the prompt is %s", prompt)
	}
}
