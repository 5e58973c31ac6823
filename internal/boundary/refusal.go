package boundary

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/internal/places"
)

// Refusal is something that the boundary has refused to a command: to reach Host, or to read or change Path.
type Refusal struct {
	Host   string `json:"host,omitzero"`
	Path   string `json:"path,omitzero"` // absolute, without symbolic links
	Change bool   `json:"change,omitzero"`
}

// Describe names the refusal as something that the command needs; display shortens a path.
func (r Refusal) Describe(display func(string) string) string {
	switch {
	case r.Host != "":
		return "reach " + r.Host
	case r.Change:
		return "write " + display(r.Path)
	default:
		return "read " + display(r.Path)
	}
}

// Refuses reports whether the boundary prevents a command from reading a path, or from changing it, although its user could.
func (a *Access) Refuses(path string) (Refusal, bool) {
	real := realPath(path)
	if !a.shows(real) {
		return Refusal{Path: real}, true
	}
	if a.writes(real) || !changeable(real) {
		return Refusal{}, false
	}
	return Refusal{Path: real, Change: true}, true
}

// Forbids reports whether a rule of the user's denies a path that has been refused, so that there is nothing to ask.
func (a *Access) Forbids(path string) bool { return innermost(path, a.Forbidden) > 0 }

// shows reports whether a command can read a path.
func (a *Access) shows(path string) bool {
	return innermost(path, a.Write, a.Show) >= innermost(path, a.Hide)
}

// writes reports whether a command can change a path.
func (a *Access) writes(path string) bool {
	at := innermost(path, a.Write)
	return at > 0 && at > innermost(path, a.Keep, a.Hide, a.Show)
}

// innermost returns the length of the longest of the paths that a path lies in; zero for none.
func innermost(path string, lists ...[]string) int {
	longest := 0
	for _, list := range lists {
		for _, dir := range list {
			if places.Within(dir, path) {
				longest = max(longest, len(dir))
			}
		}
	}
	return longest
}

// realPath resolves the symbolic links of a path, as far as it exists.
func realPath(path string) string {
	rest := ""
	for at := filepath.Clean(path); ; at = filepath.Dir(at) {
		if real, err := filepath.EvalSymlinks(at); err == nil {
			return filepath.Join(real, rest)
		}
		if at == filepath.Dir(at) {
			return filepath.Clean(path)
		}
		rest = filepath.Join(filepath.Base(at), rest)
	}
}

// Extend returns an access with more: what a refusal is about, and nothing else. To make a new file, the directory that it
// would be in must be changeable.
func (a *Access) Extend(more []Refusal) *Access {
	wider := &Access{
		Write: slices.Clone(a.Write), Keep: slices.Clone(a.Keep), Hide: slices.Clone(a.Hide), Show: slices.Clone(a.Show),
		Forbidden: a.Forbidden, Hosts: slices.Clone(a.Hosts), Wider: slices.Clone(a.Wider), Network: a.Network, Unknown: a.Unknown, Fixed: a.Fixed, Links: a.Links, found: a.found,
	}
	for _, r := range more {
		if r.Path != "" && !slices.Contains(wider.Wider, r.Path) {
			wider.Wider = append(wider.Wider, r.Path)
		}
		switch {
		case r.Host != "":
			wider.Hosts = append(wider.Hosts, r.Host)
		case !r.Change:
			wider.Hide = slices.DeleteFunc(wider.Hide, func(hidden string) bool { return hidden == r.Path })
			wider.Show = append(wider.Show, r.Path)
		default:
			// A file that is mounted could not be replaced.
			wider.Keep = slices.DeleteFunc(wider.Keep, func(kept string) bool { return places.Within(kept, r.Path) })
			wider.Show = slices.DeleteFunc(wider.Show, func(shown string) bool { return shown == r.Path })
			if !wider.writes(r.Path) {
				wider.Write = append(wider.Write, existing(r.Path))
			}
		}
	}
	return wider
}

// existing returns a path, or the innermost directory of it that exists.
func existing(path string) string {
	for at := path; ; at = filepath.Dir(at) {
		if _, err := os.Lstat(at); err == nil || at == filepath.Dir(at) {
			return at
		}
	}
}

// changeable reports whether the user could change a path.
func changeable(path string) bool {
	at := existing(path)
	return at != filepath.Dir(at) && !strings.HasPrefix(at, "/proc/") && !strings.HasPrefix(at, "/sys/") && !strings.HasPrefix(at, "/dev/") && mayWrite(at)
}

// Narrow returns the access with the directories of roots only readable, except for what is below the paths of write, and with the given hosts in
// place of its own. A program that declares what it changes gets no more than that.
func (a *Access) Narrow(roots, write, hosts []string) *Access {
	narrow := a.Extend(nil)
	narrow.Write = slices.DeleteFunc(narrow.Write, func(dir string) bool {
		if !slices.Contains(roots, dir) {
			return false
		}
		narrow.Keep = append(narrow.Keep, dir) // it stays there, also below a directory that a box replaces
		return true
	})
	narrow.Hosts, narrow.Network = slices.Clone(hosts), false
	for _, path := range write {
		if a.writes(path) && !narrow.writes(path) {
			narrow.Write = append(narrow.Write, existing(path))
		}
	}
	return narrow
}
