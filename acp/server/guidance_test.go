package server_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/providertest"
)

// The model of a session receives the rules and skills of its workspace and reads them by their addresses. It receives a rule about
// files with the first such file that it reads. The user is warned of an invalid rule, and a new rule applies to the next request.
func TestGuidance(t *testing.T) {
	var prompts []string
	keep := providertest.Check(func(req *providers.Request) { prompts = append(prompts, req.System) })
	var e *env
	more := providertest.Check(func(*providers.Request) {
		put(t, filepath.Join(e.dir, filepath.FromSlash(".gjc/rules/late.md")), "Late word.")
	})
	e = start(t, scripted(
		providertest.Step{
			keep, more,
			providertest.Call("1", "read", `{"path":"skill://pdf"}`), providertest.Call("2", "read", `{"path":"skill://pdf/more.md:1-1"}`),
			providertest.Call("3", "read", `{"path":"rule://plain"}`), providertest.Call("4", "read", `{"path":"a.go"}`),
			providertest.Call("5", "read", `{"path":"skill://pdf/../../../a.go"}`), providertest.Call("6", "read", `{"path":"rule://none"}`),
		},
		providertest.Step{keep, providertest.Check(func(req *providers.Request) {
			var all []string
			for _, m := range req.Messages {
				if m.Role == providers.RoleTool {
					all = append(all, m.ToolCallID+" "+m.Text())
				} else if m.Role == providers.RoleUser && len(all) > 0 {
					all = append(all, m.Text())
				}
			}
			text := strings.Join(all, "\n")
			for _, want := range []string{"The way of PDFs.", "first line", "Plain words.", "package a", "Use gofumpt.", "must be a path below", "the rules are: go, late, plain"} {
				if !strings.Contains(text, want) {
					t.Errorf("no %q in the results:\n%s", want, text)
				}
			}
			if strings.Count(text, "package a") != 1 {
				t.Errorf("a file outside of the skill was read:\n%s", text)
			}
		}), providertest.Text("ok")},
	))
	put(t, filepath.Join(e.dir, filepath.FromSlash(".gjc/skills/pdf/SKILL.md")), "---\ndescription: PDFs\n---\nThe way of PDFs.")
	put(t, filepath.Join(e.dir, filepath.FromSlash(".gjc/skills/pdf/more.md")), "first line\nsecond line\n")
	put(t, filepath.Join(e.dir, filepath.FromSlash(".gjc/rules/plain.md")), "Plain words.")
	put(t, filepath.Join(e.dir, filepath.FromSlash(".gjc/rules/go.md")), "---\ndescription: Go\nglobs: \"*.go\"\n---\nUse gofumpt.")
	put(t, filepath.Join(e.dir, filepath.FromSlash(".gjc/rules/bad.md")), "---\nalwaysApply: 7\n---\nBad.")
	put(t, filepath.Join(e.dir, filepath.FromSlash("AGENTS.md")), "Tabs here.")
	put(t, filepath.Join(e.dir, filepath.FromSlash("a.go")), "package a\n")
	id := e.session()
	e.say(id, "go", acp.StopReasonEndTurn)
	for _, want := range []string{"Tabs here.", "- pdf: PDFs", "- go (files: *.go): Go", "- plain: Plain words."} {
		if !strings.Contains(prompts[0], want) {
			t.Errorf("no %q in the prompt", want)
		}
	}
	if strings.Contains(prompts[0], "Late word.") || !strings.Contains(prompts[1], "- late: Late word.") {
		t.Error("a new rule does not count with the next request")
	}
	told := 0
	for _, u := range e.Updates(id) {
		if n, ok := u.(*acp.Notice); ok && strings.Contains(n.Description, "bad.md:2: alwaysApply must be true or false") {
			told++
		}
	}
	if told != 1 {
		t.Errorf("the user was warned %d times of the bad rule", told)
	}
}
