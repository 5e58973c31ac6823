package sandbox

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"
)

// maxMounts bounds the paths of a boundary that get rules of their own. bubblewrap takes 9,000 arguments, and reads the list of mounts for
// each.
const maxMounts = 1000

// mount says how a boundary shows a path, and all below it that has no mount of its own.
type mount struct {
	path string
	as   access
}

// access says what programs may do with a path. Of two for the same path, the greater counts.
type access int

const (
	writable access = iota
	readable
	hidden
	shown // readable, below what is hidden
)

// mounts returns the rules of a policy, outer paths first, at most [maxMounts]: beyond that, directories stand for the files in them,
// which makes more of them unchangeable or hidden.
func mounts(p *Policy) []mount {
	at := collect(p)
	for len(at) > maxMounts {
		if !coarsen(at) {
			break
		}
	}
	return order(at)
}

// collect returns the paths of a policy.
func collect(p *Policy) map[string]access {
	at := make(map[string]access)
	add := func(paths []string, as access) {
		for _, path := range paths {
			path = filepath.Clean(path)
			at[path] = max(at[path], as)
		}
	}
	add(p.Write, writable)
	add(p.Fixed, writable) // a mount cannot be renamed
	add(p.Keep, readable)
	add(p.Hide, hidden)
	add(p.Show, shown)
	return at
}

// order sorts rules by the depth of their paths, and drops those that the rules of outer paths imply.
func order(at map[string]access) []mount {
	all := make([]mount, 0, len(at))
	for path, as := range at {
		all = append(all, mount{path, as})
	}
	slices.SortFunc(all, func(a, b mount) int {
		return cmp.Or(cmp.Compare(strings.Count(a.path, "/"), strings.Count(b.path, "/")), strings.Compare(a.path, b.path))
	})
	as := make(map[string]access)
	return slices.DeleteFunc(all, func(m mount) bool {
		around := writable
		for dir := m.path; dir != filepath.Dir(dir); {
			dir = filepath.Dir(dir)
			if found, ok := as[dir]; ok {
				around = found
				break
			}
		}
		as[m.path] = m.as
		return (m.as == readable || m.as == hidden) && around >= m.as && around != shown || m.as == shown && around != hidden
	})
}

// coarsen replaces the entries of the directory that has the most by the directory. It reports false if none has two.
func coarsen(at map[string]access) bool {
	count := make(map[string]int)
	for path, as := range at {
		if as == readable || as == hidden {
			count[filepath.Dir(path)]++
		}
	}
	dir, most := "", 1
	for d, n := range count {
		if n > most || n == most && d > dir {
			dir, most = d, n
		}
	}
	if most < 2 {
		return false
	}
	for path, as := range at {
		if (as == readable || as == hidden) && filepath.Dir(path) == dir {
			delete(at, path)
			at[dir] = max(at[dir], as)
		}
	}
	return true
}
