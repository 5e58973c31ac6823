package agents

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/internal/configfile"
)

const (
	// maxFile is the maximum size of a file, in bytes.
	maxFile = 64 << 10
	// maxAgents is the maximum number of agents: each model request lists them.
	maxAgents = 50
)

// place is a directory that may have agents.
type place struct {
	// root bounds symbolic links; dir is a slash-separated path below it.
	root, dir string
	// trusted places are the user's own; links there may lead anywhere.
	trusted bool
	// foreign files belong to another program, so their problems are not reported.
	foreign bool
}

func (o *Options) places() []place {
	var list []place
	roots := configfile.Upwards(o.ProjectDirs...)
	for _, root := range roots {
		list = append(list, place{root: root, dir: ".gjc/agents"})
	}
	if o.UserDir != "" {
		list = append(list, place{root: o.UserDir, dir: "agents", trusted: true})
	}
	for _, family := range []string{".claude", ".agents", ".codex", ".gemini"} {
		for _, root := range roots {
			list = append(list, place{root: root, dir: family + "/agents", foreign: true})
		}
		if o.Home != "" {
			list = append(list, place{root: o.Home, dir: family + "/agents", trusted: true, foreign: true})
		}
	}
	return list
}

// reader reads all places once.
type reader struct {
	helpers  []agent.Helper
	seen     map[string]bool // names in use, including those of disabled agents
	problems []Problem
	stamps   []configfile.Stamp
}

func (r *reader) place(ctx context.Context, p place) {
	dir := filepath.Join(p.root, filepath.FromSlash(p.dir))
	r.stamps = append(r.stamps, configfile.StampOf(dir))
	var files fs.FS
	if p.trusted {
		files = os.DirFS(p.root)
	} else {
		root, err := os.OpenRoot(p.root)
		if err != nil {
			return // the session reports problems of its roots
		}
		defer func() { _ = root.Close() }()
		files = approval.Guidance(p.root, root.FS())
	}
	entries, err := fs.ReadDir(files, p.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !p.foreign {
		r.problem(dir, 0, "cannot be read: "+plain(err))
	}
	here := make(map[string]string)
	for _, e := range entries {
		if ctx.Err() != nil {
			return
		}
		if !strings.HasSuffix(e.Name(), ".md") || strings.HasPrefix(e.Name(), ".") || e.IsDir() {
			continue
		}
		full := filepath.Join(dir, e.Name())
		r.stamps = append(r.stamps, configfile.StampOf(full)) // before reading, so that a concurrent change is noticed
		d, problems := readAgent(files, path.Join(p.dir, e.Name()), p.foreign)
		if !p.foreign {
			for _, q := range problems {
				r.problem(full, q.Line, q.Reason)
			}
		}
		if d == nil {
			continue
		}
		if other := here[d.helper.Name]; other != "" {
			if !p.foreign {
				r.problem(full, 0, fmt.Sprintf("%s has the same name %q and takes precedence", other, d.helper.Name))
			}
			continue
		}
		here[d.helper.Name] = e.Name()
		r.add(d, full)
	}
}

func (r *reader) problem(path string, line int, reason string) {
	r.problems = append(r.problems, Problem{path, line, reason})
}

// add adds an agent, unless an earlier place has one of that name.
func (r *reader) add(d *definition, full string) {
	if r.seen[d.helper.Name] {
		return
	}
	if len(r.helpers) >= maxAgents {
		r.problem(full, 0, fmt.Sprintf("there are more than %d helper agents; this one is left out", maxAgents))
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
		d, problems := readAgent(builtin, "builtin/"+name+".md", false)
		for _, p := range problems {
			r.problem("builtin/"+name+".md", p.Line, p.Reason)
		}
		if d != nil && !r.seen[name] {
			r.helpers = append(r.helpers, d.helper)
		}
	}
}

// readAgent reads one file. The problems that it returns have no path yet. It returns no definition for an invalid
// file.
func readAgent(files fs.FS, name string, foreign bool) (*definition, []Problem) {
	wrong := func(line int, reason string) (*definition, []Problem) {
		return nil, []Problem{{Line: line, Reason: reason}}
	}
	info, err := fs.Stat(files, name)
	switch {
	case err != nil:
		return wrong(0, "cannot be read, or is a symbolic link that leads out of its workspace: "+plain(err))
	case !info.Mode().IsRegular(): // opening a pipe would block
		return wrong(0, "is not a regular file")
	}
	data, err := configfile.ReadCapped(files, name, maxFile)
	switch {
	case err != nil:
		return wrong(0, "cannot be read: "+plain(err))
	case len(data) > maxFile:
		return wrong(0, fmt.Sprintf("is larger than %d KiB", maxFile>>10))
	case !utf8.Valid(data):
		return wrong(0, "is not UTF-8 text")
	}
	return parse(string(data), foreign)
}

// plain returns an error without the path, which the caller adds.
func plain(err error) string {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err
	}
	return err.Error()
}
