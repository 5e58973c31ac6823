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
	seen    map[string]string // the paths of names in use, including those of disabled agents
}

func (r *reader) place(ctx context.Context, p *userfiles.Place) {
	here := make(map[string]string)
	if p.Plugin != "" { // it may name a single file
		if info, ok := r.Stat(p.Dir); ok && !info.IsDir() {
			base, _ := cutEnding(path.Base(p.Dir), p.Endings)
			r.file(ctx, p, p.Dir, base, here)
			return
		}
	}
	for _, e := range r.List(ctx, p.Dir) {
		if base, ok := cutEnding(e.Name(), p.Endings); ok && !e.IsDir() {
			r.file(ctx, p, path.Join(p.Dir, e.Name()), base, here)
		}
	}
}

// file reads one file. here has the files of the names in the same place.
func (r *reader) file(ctx context.Context, p *userfiles.Place, file, base string, here map[string]string) {
	content, ok := r.Text(ctx, file)
	if !ok {
		r.Refuse(file, base)
		return
	}
	d, problems := parseFor(p, path.Base(file), content, base)
	for _, q := range problems {
		r.Mistake(file, q.Line, "%s", q.Reason)
	}
	if d == nil {
		r.Refuse(file, base)
		return
	}
	if first := here[d.helper.Name]; first != "" {
		r.Problem(file, 0, "%s has the same name %q and takes precedence", first, d.helper.Name)
	}
	here[d.helper.Name] = path.Base(file)
	r.add(d, file, len(content))
}

func cutEnding(name string, endings []string) (string, bool) {
	for _, end := range endings {
		if base, ok := strings.CutSuffix(name, end); ok && base != "" {
			return base, true
		}
	}
	return "", false
}

// add adds an agent, unless an earlier location has one with the same name.
func (r *reader) add(d *definition, file string, size int) {
	name := d.helper.Name
	if first := r.seen[name]; first != "" {
		r.Add(file, name, size, userfiles.Shadowed, "by "+first)
		return
	}
	if len(r.helpers) >= maxAgents {
		r.Problem(file, 0, "more than %d helper agents; this one is ignored", maxAgents)
		r.Add(file, name, size, userfiles.Left, "there are too many")
		return
	}
	r.seen[name] = r.Full(file)
	switch {
	case d.disabled:
		r.Add(file, name, size, userfiles.Used, "turns the agent off")
	default:
		r.Add(file, name, size, userfiles.Used, "")
		r.helpers = append(r.helpers, d.helper)
	}
}

// builtin adds the built-in agents, in the order in which they are listed. maxAgents does not count them.
func (r *reader) builtin() {
	for _, name := range []string{"executor", "quick", "explorer", "librarian", "architect", "planner", "designer", "critic", "reviewer", "adviser"} {
		text, _ := builtin.ReadFile("builtin/" + name + ".md") // embedded files can always be read
		if d, _ := parse(string(text), "", false); d != nil && r.seen[name] == "" {
			r.helpers = append(r.helpers, d.helper)
		}
	}
}
