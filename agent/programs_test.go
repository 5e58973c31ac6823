package agent

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/providers"
)

// lookedFor is a [Programs] that has the programs of a list and counts the lookups.
type lookedFor struct {
	Programs
	there map[string]bool
	asked int
}

func (l *lookedFor) LookPath(name string) (string, error) {
	l.asked++
	if l.there[name] {
		return "/bin/" + name, nil
	}
	return "", errors.New("not there")
}

// A tool that needs a program is offered only if the program exists. This is determined once: the tools of a session stay the same.
func TestOffered_Programs(t *testing.T) {
	needs := func(name, program string) Tool {
		return NewTool(ToolFuncs[struct{}]{Name: name, Program: program})
	}
	p := &lookedFor{there: map[string]bool{"here": true}}
	s := &Session{opts: Options{Tools: Tools{needs("a", ""), needs("b", "here"), needs("c", "gone"), needs("d", "gone")}, Environment: Environment{Programs: p}}}
	model := new(providers.ModelInfo)
	for range 2 {
		if d := cmp.Diff([]string{"a", "b"}, names(s.offered(model, approval.ModeDefault))); d != "" {
			t.Errorf("-want +got:\n%s", d)
		}
		p.there = map[string]bool{"gone": true}
	}
	if p.asked != 2 {
		t.Errorf("asked %d times", p.asked)
	}
	s = &Session{opts: Options{Tools: Tools{needs("b", "here")}}}
	if got := s.offered(model, approval.ModeDefault); len(got) != 0 {
		t.Errorf("%v without programs", names(got))
	}
}
