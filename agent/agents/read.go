package agents

import (
	"context"
	"path"
	"strings"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/userfiles"
)

// maxAgents is the maximum number of agents. It is limited because each model request lists them.
const maxAgents = 50

// reader reads all locations once.
type reader struct {
	userfiles.Reader
	helpers []agent.Helper
	seen    map[string]bool // names in use, including those of disabled agents
}

func (r *reader) place(ctx context.Context, p userfiles.Place) {
	dir := path.Join(p.Dir, "agents")
	here := make(map[string]string)
	for _, e := range r.List(ctx, dir) {
		if !strings.HasSuffix(e.Name(), ".md") || e.IsDir() {
			continue
		}
		file := path.Join(dir, e.Name())
		text, ok := r.Text(ctx, file)
		if !ok {
			continue
		}
		d, problems := parse(text, p.Foreign)
		for _, q := range problems {
			r.Problem(file, q.Line, "%s", q.Reason)
		}
		switch {
		case d == nil:
		case here[d.helper.Name] != "":
			r.Problem(file, 0, "%s has the same name %q and takes precedence", here[d.helper.Name], d.helper.Name)
		default:
			here[d.helper.Name] = e.Name()
			r.add(d, file)
		}
	}
}

// add adds an agent, unless an earlier location has one with the same name.
func (r *reader) add(d *definition, file string) {
	if r.seen[d.helper.Name] {
		return
	}
	if len(r.helpers) >= maxAgents {
		r.Problem(file, 0, "more than %d helper agents; this one is ignored", maxAgents)
		return
	}
	r.seen[d.helper.Name] = true
	if !d.disabled {
		r.helpers = append(r.helpers, d.helper)
	}
}

// builtin adds the built-in agents, in the order in which they are listed. maxAgents does not count them.
func (r *reader) builtin() {
	for _, name := range []string{"executor", "architect", "planner", "critic"} {
		text, _ := builtin.ReadFile("builtin/" + name + ".md") // embedded files can always be read
		if d, _ := parse(string(text), false); d != nil && !r.seen[name] {
			r.helpers = append(r.helpers, d.helper)
		}
	}
}
