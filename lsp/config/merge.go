package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gajae-code/gjc/internal/configfile"
	"github.com/gajae-code/gjc/lsp"
)

// definition is a server after all files were merged.
type definition struct {
	*configfile.Definition
	// rank is the position of the definition among the others of its kind.
	rank int
}

// merge merges files into the defaults. Later files take precedence.
func merge(files []*configfile.File) (defs []*definition, problems []string) {
	byName := make(map[string]*definition)
	var builtin []string
	for _, merged := range configfile.Merge(defaults().Entries, files) {
		d := &definition{merged, merged.Rank}
		defs = append(defs, d)
		byName[d.Name] = d
		if !d.Custom {
			builtin = append(builtin, d.Name)
		}
	}
	for first, second := range precedes {
		byName[first].rank = byName[second].rank - 1
	}
	defs = slices.DeleteFunc(defs, func(d *definition) bool {
		missing := d.Lacking("command", "fileTypes", "rootMarkers")
		if len(missing) > 0 && !d.disabled() {
			problems = append(problems, fmt.Sprintf("%s: unknown server %s needs command, fileTypes and rootMarkers; it lacks %s%s",
				d.At, configfile.Quote(d.Name), strings.Join(missing, " and "), configfile.Suggestion(d.Name, builtin)))
		}
		return len(missing) > 0
	})
	// The servers that files define come first: users who define one want it.
	slices.SortStableFunc(defs, func(a, b *definition) int {
		if a.Custom != b.Custom {
			if a.Custom {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.rank, b.rank)
	})
	return defs, problems
}

func (d *definition) disabled() bool { return d.True("disabled") }

func (d *definition) linter() bool { return d.True("isLinter") }

// outside reports whether the server needs no sandbox.
func (d *definition) outside() bool {
	_, set := d.Fields["sandbox"]
	return set && !d.True("sandbox")
}

// excepted reports whether a file, and not only a default, says that the server needs no sandbox.
func (d *definition) excepted() bool {
	return d.outside() && !strings.HasPrefix(d.Fields["sandbox"].At, defaults().Path+":")
}

func (d *definition) command() string { return d.Text("command") }

// spec returns the [lsp.Spec] of the server, with its program.
func (d *definition) spec(program string) *lsp.Spec {
	s := &lsp.Spec{
		Name: d.Name, Path: program, Args: d.Strings("args"), FileTypes: d.Strings("fileTypes"), RootMarkers: d.Strings("rootMarkers"),
		InitOptions: d.Fields["initOptions"].JSON(), Settings: d.Fields["settings"].JSON(), Linter: d.linter(),
		Outside: d.outside(),
	}
	if v, ok := d.Fields["warmupTimeoutMs"]; ok {
		s.Warmup, _ = configfile.Milliseconds(v.Node)
		s.Warmup = max(s.Warmup, time.Millisecond)
	}
	if v, ok := d.Fields["extensionToLanguage"]; ok {
		s.LanguageIDs = make(map[string]string)
		for _, m := range v.Members {
			s.LanguageIDs[m.Name] = m.Value.Text
		}
	}
	return s
}
