package main

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/acp"
)

// readingActions and changingActions are the actions of the tool lsp, in the order in which a real server receives
// them.
func readingActions() []string {
	return []string{
		"diagnostics", "definition", "type_definition", "implementation", "references", "hover", "signature", "symbols",
		"call_hierarchy", "type_hierarchy", "inlay_hints", "folding", "capabilities", "request", "status", "reload",
	}
}

func changingActions() []string { return []string{"code_actions", "format", "rename", "rename_file"} }

// languageServer is a real server with a small project.
type languageServer struct {
	name string
	// env returns the environment that gjc and the server need.
	env func(t *testing.T) []string
	// home has the files of the user's home directory, files those of the project.
	home, files map[string]string
	// prepare creates what files cannot express; optional.
	prepare func(t *testing.T, work string)
	// file is broken by replacing good by bad, which causes the problem.
	file, good, bad, problem string
	// asks has one or more calls for each action.
	asks map[string][]languageAsk
}

// languageAsk is a call of the tool with its expected result.
type languageAsk struct {
	// args follow the action's name.
	args      string
	want, not []string
	// fails is set if the call must fail, with text as its reason.
	fails bool
	// lacks is a method that the server does not support: the call fails, and names it.
	lacks string
	// files are the call's resulting files, complete.
	files map[string]string
	// or is the alternative result if versions of a server differ in whether the call fails.
	or *languageAsk
}

// of replaces the server's name in the message about the missing method.
func (a languageAsk) of(server string) languageAsk {
	if a.lacks != "" {
		a.want, a.fails = []string{server + " does not support " + a.lacks}, true
	}
	if a.or != nil {
		a.or = new(a.or.of(server))
	}
	return a
}

// asks returns one call.
func asks(args string, want ...string) []languageAsk { return []languageAsk{{args: args, want: want}} }

// refuses returns one call that fails.
func refuses(args string, want ...string) []languageAsk {
	return []languageAsk{{args: args, want: want, fails: true}}
}

// lacks returns one call that needs a method that the server does not support.
func lacks(args, method string) []languageAsk { return []languageAsk{{args: args, lacks: method}} }

// either returns one call that ends in one of two ways.
func either(a, b []languageAsk) []languageAsk {
	a[0].or = &b[0]
	return a
}

// changes returns one call that changes files, given as name and text alternately.
func changes(args, want string, files ...string) []languageAsk {
	a := languageAsk{args: args, want: []string{want}, files: make(map[string]string)}
	for i := 0; i < len(files); i += 2 {
		a.files[files[i]] = files[i+1]
	}
	return []languageAsk{a}
}

// run takes a server through its life: a problem that is caused, reported and corrected, every action, a crash, and the
// end.
func (s *languageServer) run(t *testing.T) {
	mark := markOf(t)
	h := startLanguages(t, s.home, append(s.env(t), mark)...)
	for name, text := range s.files {
		writeFile(t, filepath.Join(h.work, filepath.FromSlash(name)), text)
	}
	if s.prepare != nil {
		s.prepare(t, h.work)
	}
	id := h.open()
	look := func(t *testing.T, want string) {
		t.Helper()
		h.ask(t, id, "!lsp diagnostics "+s.file+" timeout=60", languageAsk{want: []string{"**" + s.file + "**: " + want}})
	}
	ask := func(t *testing.T, action string) {
		t.Helper()
		if len(s.asks[action]) == 0 {
			t.Fatal("nothing is asked")
		}
		for _, a := range s.asks[action] {
			h.ask(t, id, "!lsp "+action+" "+a.args, a.of(s.name))
		}
	}
	t.Run("start", func(t *testing.T) {
		look(t, "no problems")
		h.ask(t, id, "!lsp status", languageAsk{want: []string{"- " + s.name + ": ready"}})
	})
	t.Run("problem", func(t *testing.T) {
		h.edit(t, id, s.file+" "+s.good+" => "+s.bad, s.problem, "[new]")
		h.ask(t, id, "!lsp diagnostics "+s.file, languageAsk{want: []string{s.problem}})
	})
	t.Run("mended", func(t *testing.T) {
		h.edit(t, id, s.file+" "+s.bad+" => "+s.good, s.file+": no problems ("+s.name+")")
		look(t, "no problems")
	})
	for _, action := range readingActions() {
		t.Run(action, func(t *testing.T) { ask(t, action) })
	}
	t.Run("crash", func(t *testing.T) {
		h.kill(t, id)
		for _, action := range []string{"references", "hover", "symbols"} {
			ask(t, action)
		}
		look(t, "no problems")
		h.ask(t, id, "!lsp status", languageAsk{want: []string{"- " + s.name + ": ready", "restarted ", "ended by SIGKILL"}})
		h.edit(t, id, s.file+" "+s.good+" => "+s.bad, s.problem)
		h.edit(t, id, s.file+" "+s.bad+" => "+s.good, s.file+": no problems ("+s.name+")")
	})
	for _, action := range changingActions() {
		t.Run(action, func(t *testing.T) { ask(t, action) })
	}
	t.Run("end", func(t *testing.T) {
		h.t = t
		h.stop()
		wantAllGone(t, mark) // gopls has a child in a session of its own, which ends after it
	})
}

// languageHost is gjc with an editor that allows everything.
type languageHost struct{ *mcpHost }

func startLanguages(t *testing.T, files map[string]string, env ...string) *languageHost {
	t.Helper()
	return startLanguagesWith(t, files, nil, env...)
}

// ask makes one call and checks its result. W stands for the project's directory in the output.
func (h *languageHost) ask(t *testing.T, id acp.SessionID, prompt string, want languageAsk) toolCall {
	t.Helper()
	o := h.prompt(id, prompt)
	if len(o.calls) != 1 {
		t.Fatalf("%s: %d calls; it says %q", prompt, len(o.calls), o.words)
	}
	call := o.calls[0]
	text := strings.ReplaceAll(call.Text, h.work, "W")
	failed := call.Status != "completed"
	if failed != want.fails && want.or != nil {
		want = *want.or
	}
	if failed != want.fails {
		t.Errorf("%s: %s\n%s", prompt, call.Status, text)
		return call
	}
	for _, part := range want.want {
		if !strings.Contains(text, part) {
			t.Errorf("%s: no %q in:\n%s", prompt, part, text)
		}
	}
	for _, part := range want.not {
		if strings.Contains(text, part) {
			t.Errorf("%s: %q in:\n%s", prompt, part, text)
		}
	}
	for name, now := range want.files {
		data, err := os.ReadFile(filepath.Join(h.work, filepath.FromSlash(name)))
		if err != nil || string(data) != now {
			t.Errorf("%s: %s: %v\n%s\nThe call says:\n%s", prompt, name, err, cmp.Diff(now, string(data)), text)
		}
	}
	return call
}

// edit changes a file and expects a report about it: after the change, or with a later step if the machine is too busy
// for the server to answer in time.
func (h *languageHost) edit(t *testing.T, id acp.SessionID, change string, want ...string) {
	t.Helper()
	from, begin := len(h.Updates(id)), time.Now()
	text := h.ask(t, id, "!edit "+change, languageAsk{}).Text
	file, _, _ := strings.Cut(change, " ")
	missing := func() string {
		for _, part := range want {
			if !strings.Contains(text, part) {
				return part
			}
		}
		return ""
	}
	for late := strings.Contains(text, "has not answered in time"); late && missing() != "" && time.Since(begin) < hang; {
		h.prompt(id, "!read "+file)
		for _, u := range h.Updates(id)[from:] {
			if n, ok := u.(*acp.Notice); ok && n.Title == "Diagnostics of an earlier change" && !strings.Contains(text, n.Description) {
				text += "\n" + n.Description
			}
		}
	}
	if part := missing(); part != "" {
		t.Errorf("%s: no %q in:\n%s", change, part, text)
	}
}

var pidPattern = regexp.MustCompile(`pid (\d+)`)

// kill kills the servers of a session without a warning, and waits until gjc has noticed.
func (h *languageHost) kill(t *testing.T, id acp.SessionID) {
	t.Helper()
	status := h.prompt(id, "!lsp status").only(t).Text
	pids := pidPattern.FindAllStringSubmatch(status, -1)
	if len(pids) == 0 {
		t.Fatalf("no process in %s", status)
	}
	for _, m := range pids {
		pid, err := strconv.Atoi(m[1])
		if err != nil {
			t.Fatal(err)
		}
		p, err := os.FindProcess(pid)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Kill(); err != nil {
			t.Fatal(err)
		}
		for strings.Contains(h.prompt(id, "!lsp status").only(t).Text, m[0]+",") {
			if h.ctx.Err() != nil {
				t.Fatalf("%s still counts as running", m[0])
			}
		}
	}
}

// Every server has an expected result for every action, if only that it lacks it.
func TestLanguageServers_Complete(t *testing.T) {
	for _, s := range languageServers() {
		if want, got := slices.Sorted(slices.Values(slices.Concat(readingActions(), changingActions()))), slices.Sorted(maps.Keys(s.asks)); !slices.Equal(got, want) {
			t.Errorf("%s: asked for %v, want %v", s.name, got, want)
		}
	}
}

func TestLanguageServers(t *testing.T) {
	// More parallel tests would only measure the speed of the machine, because a server's reports within five seconds are part of
	// the result.
	slots := make(chan struct{}, 2)
	for _, s := range languageServers() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			slots <- struct{}{}
			defer func() { <-slots }()
			s.run(t)
		})
	}
}

func languageServers() []*languageServer {
	return []*languageServer{goServer(), typescriptServer(), pythonServer(), cServer(), bashServer(), yamlServer(), htmlServer(), cssServer(), jsonServer(), eslintServer()}
}
