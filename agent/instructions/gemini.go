package instructions

import (
	"context"
	"errors"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/agent/userfiles"
	"github.com/gajae-code/gjc/internal/configfile"
	"github.com/gajae-code/gjc/internal/places"
)

// geminiSettings is the file of Gemini CLI, in a workspace and in the home directory, whose context.fileName names the files that it reads
// in place of GEMINI.md.
const geminiSettings = ".gemini/settings.json"

// maxNames bounds these names.
const maxNames = 20

// named returns the sources with the names that the settings of Gemini CLI give its files in place of GEMINI.md. Files that other sources
// have too, such as AGENTS.md, are left to those. A file with a name of its own is no copy of them, so it is read in addition.
func (l *loader) named(sources []userfiles.Source) []userfiles.Source {
	if l.names == nil {
		return sources
	}
	var all []userfiles.Source
	for _, s := range sources {
		if path.Base(s.Path) != "GEMINI.md" || slices.Contains(l.names, "GEMINI.md") {
			all = append(all, s)
		}
		if path.Base(s.Path) != "GEMINI.md" {
			continue
		}
		for _, name := range l.names {
			other := s
			other.Path, other.Group = path.Join(path.Dir(s.Path), name), ""
			if !slices.ContainsFunc(sources, func(o userfiles.Source) bool { return o.Scope == s.Scope && o.Path == other.Path }) {
				all = append(all, other)
			}
		}
	}
	return all
}

// places returns the places of the user's files, with the names in the settings of Gemini CLI.
func (l *loader) places(where *userfiles.Where) []userfiles.Place {
	var all []userfiles.Place
	for _, p := range where.Places(userfiles.Instructions) {
		for _, s := range l.named([]userfiles.Source{p.Source}) {
			p.Source = s
			if path.Base(s.Path) != path.Base(p.Dir) && s.Scope == userfiles.Home {
				p.Dir = s.Path
			}
			all = append(all, p)
		}
	}
	return all
}

// readNames reads the settings: the nearest file of the workspace that has names counts, else the user's.
func (l *loader) readNames(ctx context.Context) {
	dirs, top := l.upwards(ctx, l.Cwd, true)
	for _, dir := range dirs {
		if dir == l.Home {
			continue
		}
		item := Item{base: dir, File: userfiles.File{Path: filepath.Join(dir, filepath.FromSlash(geminiSettings))}}
		info, err := l.Files.Stat(ctx, item.Path)
		if err != nil || !info.Mode().IsRegular() || info.Size() > maxRead {
			continue // the listing of MCP servers names what is wrong with the file
		}
		item.real = l.Files.RealPath(item.Path)
		if l.outside(&item, dir, top) != "" {
			continue
		}
		if data, err := l.Files.ReadFile(ctx, item.Path); err == nil && l.useNames(item.Path, data) {
			return
		}
	}
	if l.Home == "" {
		return
	}
	name := filepath.Join(l.Home, filepath.FromSlash(geminiSettings))
	if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() && info.Size() <= maxRead {
		if data, err := os.ReadFile(name); err == nil {
			l.useNames(name, data)
		}
	}
}

// useNames takes over the names in a file. It reports whether there are any.
func (l *loader) useNames(file string, data []byte) bool {
	top, err := configfile.ParseJSONC(data)
	if err != nil || top == nil {
		problem := userfiles.Problem{Path: file, Reason: "is empty; its context.fileName is not used"}
		if e, ok := errors.AsType[*configfile.LineError](err); ok {
			problem.Line, problem.Reason = e.Line, e.Text+"; its context.fileName is not used"
		}
		if err != nil {
			l.set.Problems = append(l.set.Problems, problem)
		}
		return false
	}
	n := top.Member("context").Member("fileName")
	if n == nil {
		n = top.Member("contextFileName") // of older versions
	}
	if n == nil {
		return false
	}
	refuse := func(format string) {
		l.set.Problems = append(l.set.Problems, userfiles.Problem{Path: file, Line: n.Line, Reason: format})
	}
	names := n.Strings()
	if n.Kind == configfile.Text {
		names = []string{n.Text}
	} else if configfile.StringList.Check(n) != "" {
		refuse("context.fileName must be a name or a list of names; GEMINI.md is read instead")
		return false
	}
	if len(names) > maxNames {
		refuse("context.fileName has too many names; the first 20 are used")
		names = names[:maxNames]
	}
	l.names = []string{}
	for _, name := range names {
		slashed := path.Clean(strings.ReplaceAll(name, "\\", "/"))
		switch {
		case name == "" || slashed == "." || !filepath.IsLocal(filepath.FromSlash(slashed)) || strings.ContainsRune(name, 0):
			refuse("context.fileName has " + configfile.Quote(name) + ", which is no path below a directory; it is not used")
		case places.SecretName(places.Names(slashed)):
			refuse("context.fileName has " + configfile.Quote(name) + ", which may hold secrets; it is not used")
		case !slices.Contains(l.names, slashed):
			l.names = append(l.names, slashed)
		}
	}
	return true
}
