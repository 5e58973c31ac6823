package instructions

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/agent/userfiles"
	"github.com/gajae-code/gjc/internal/places"
)

// Nested returns the instructions of the directories between a root of the workspace and a file in it, which [Load] does not read: they
// apply to work in those directories. It returns none for a file in a hidden directory or in one of installed packages.
func Nested(ctx context.Context, opts *Options, file string) []Item {
	for _, root := range append([]string{opts.Cwd}, opts.Additional...) {
		if !places.Within(root, file) {
			continue
		}
		below, err := filepath.Rel(root, filepath.Dir(file))
		if err != nil || below == "." {
			return nil
		}
		parts := strings.Split(below, string(filepath.Separator))
		if len(parts) > maxDirs || slices.ContainsFunc(parts, func(part string) bool { return part[0] == '.' || part == "node_modules" }) {
			return nil
		}
		l := &loader{Options: opts, set: new(Set), reals: make(map[string]string), texts: make(map[string]string)}
		l.readNames(ctx)
		for dir := root; len(parts) > 0; parts = parts[1:] {
			dir = filepath.Join(dir, parts[0])
			l.directory(ctx, dir, root)
		}
		l.bound(len(l.set.Items))
		return slices.DeleteFunc(l.set.Items, func(it Item) bool { return it.State != userfiles.Used })
	}
	return nil
}
