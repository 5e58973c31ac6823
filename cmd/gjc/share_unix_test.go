//go:build unix

package main

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// publisher puts a fake program on a PATH of its own, and returns the environment for it.
func publisher(t *testing.T, dir, name string) []string {
	t.Helper()
	bin := t.TempDir()
	if name != "" {
		if err := os.Symlink(self(t), filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	return []string{publishedDir + "=" + dir, "PATH=" + bin, "SOME_API_KEY=a-planted-secret"}
}

// published returns what a publisher has got; nil if none ran.
func published(t *testing.T, dir string) map[string]string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "published"))
	if os.IsNotExist(err) {
		return nil
	}
	var files map[string]string
	if err != nil || json.Unmarshal(data, &files) != nil {
		t.Fatalf("%v: %.300s", err, data)
	}
	return files
}

// share runs a command and answers its question. It returns the question and everything that is shown.
func (p *peer) share(session, command, kind string) (question, shown string) {
	p.t.Helper()
	req := p.prompt(session, command)
	ask, before := p.until("a question or the end", func(m message) bool {
		return m.Method == "session/request_permission" || m.isResponse()
	})
	if ask.Method == "" {
		return "", strings.Join(lines(before), "\n")
	}
	var q struct {
		Options []struct{ OptionID, Kind string } `json:"options"`
	}
	if err := json.Unmarshal(ask.Params, &q); err != nil {
		p.t.Fatal(err)
	}
	for _, o := range q.Options {
		if o.Kind == kind {
			p.reply(ask, `{"outcome":{"outcome":"selected","optionId":"`+o.OptionID+`"}}`)
		}
	}
	_, rest := p.answer(req)
	return ask.line, strings.Join(lines(rest), "\n")
}

// Nothing leaves before an answer, also in auto mode; what leaves has no secrets.
func TestShare(t *testing.T) {
	t.Parallel()
	const secret = "a-planted-secret"
	for name, tt := range map[string]struct {
		program, config, command, answer string
		plan, loggedOut                  bool
		asked, shown                     []string
		gets                             []string // of the program that publishes
	}{
		"a gist": {
			program: "gh", command: "/share", answer: "allow_once", asked: []string{"Share this session", "a secret gist on GitHub", " KB as a page", "Secrets are replaced in 1 place."},
			shown: []string{"Shared: https://pages.example/1"}, gets: []string{".html", ".md"},
		},
		"not allowed":     {program: "gh", command: "/share gist", answer: "reject_once", asked: []string{"a secret gist"}, shown: []string{"/share: rejected by the user"}},
		"plan mode":       {program: "gh", command: "/share", plan: true, shown: []string{"/share: plan mode changes nothing"}},
		"without gh":      {command: "/share", shown: []string{"gh is not installed", "gh auth login", "/share page.html"}},
		"logged out":      {program: "gh", command: "/share", answer: "allow_once", loggedOut: true, asked: []string{"gist"}, shown: []string{"gh made no gist", "run gh auth login in a terminal"}},
		"without program": {config: "share:\n  command: publish\n", command: "/share", shown: []string{"share.command is not on PATH"}},
		"a program": {
			program: "publish", config: "share:\n  command: [publish, --title, two words, \"{file}\"]\n", command: "/share", answer: "allow_once",
			asked: []string{"your program publish"}, shown: []string{"Shared: https://pages.example/1"}, gets: []string{".html", "stdin"},
		},
		"a line": {
			program: "publish", config: "share:\n  command: publish --quiet\n", command: "/share", answer: "allow_once",
			asked: []string{"your program publish"}, shown: []string{"Shared: https://pages.example/1"}, gets: []string{"stdin"},
		},
		"a file":         {command: "/share sub/page.html", answer: "allow_once", asked: []string{"page.html"}, shown: []string{"Shared: "}},
		"no file":        {command: "/share page.html", answer: "reject_once", asked: []string{"page.html"}, shown: []string{"/share: rejected"}},
		"a file outside": {command: "/share /page.html", shown: []string{"is not in the session's directories"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, agentDir := t.TempDir(), tempDir(t)
			if tt.loggedOut {
				writeFile(t, filepath.Join(dir, "logged-out"), "")
			}
			writeFile(t, filepath.Join(agentDir, "config.yml"), tt.config)
			p := startPeer(t, peerOptions{args: []string{"--agent-dir", agentDir}, env: publisher(t, dir, tt.program)})
			p.initialize(nil)
			mode := "auto"
			if tt.plan {
				mode = "plan"
			}
			id := p.session(mode)
			p.say(id, "42")
			p.answer(p.prompt(id, "The key is "+secret+"."))
			question, shown := p.share(id, tt.command, tt.answer)
			for _, want := range tt.asked {
				if !strings.Contains(question, want) {
					t.Errorf("the question lacks %q: %s", want, question)
				}
			}
			if (question == "") != (tt.asked == nil) || strings.Contains(question, "allow_always") || strings.Contains(question, secret) {
				t.Errorf("the question is %s", question)
			}
			for _, want := range tt.shown {
				if !strings.Contains(shown, want) {
					t.Errorf("%q is not shown:\n%s", want, shown)
				}
			}
			got := published(t, dir)
			for _, name := range tt.gets {
				if text := got[name]; !strings.Contains(text, "The key is ▒") || strings.Contains(text, secret) {
					t.Errorf("%s has %.300q", name, text)
				}
			}
			if wants := tt.gets != nil; (got != nil) != wants || strings.Contains(got["args"], "public") {
				t.Errorf("the program got %v", slices.Sorted(maps.Keys(got)))
			}
			page, err := os.ReadFile(filepath.Join(p.work, "sub", "page.html"))
			if wrote := name == "a file"; (err == nil) != wrote || wrote && (!strings.Contains(string(page), "The key is ▒") || strings.Contains(string(page), secret)) {
				t.Errorf("the file: %v, %.200s", err, page)
			}
			p.stop()
		})
	}
}

// Without a user the question is refused with a reason, and nothing leaves.
func TestShare_WithoutUser(t *testing.T) {
	t.Parallel()
	home, dir := tempDir(t), t.TempDir()
	run := func(args ...string) (out string, code int) {
		cmd := runCommand(t, home, append([]string{"--mode", "auto"}, args...)...)
		cmd.Env = append(cmd.Env, publisher(t, dir, "gh")...)
		data, err := cmd.CombinedOutput()
		return string(data), status(t, err)
	}
	if out, code := run("!say 42"); code != 0 {
		t.Fatalf("status %d: %s", code, out)
	}
	if out, code := run("--continue", "/share"); code != 3 || !strings.Contains(out, "no user who could be asked") || published(t, dir) != nil {
		t.Errorf("status %d, published %v: %s", code, published(t, dir), out)
	}
	if out, code := run("--allow", "share", "/share"); code != 2 || !strings.Contains(out, "sharing always asks") {
		t.Errorf("status %d: %s", code, out)
	}
}
