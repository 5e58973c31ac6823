package sandbox

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// boxSelf is where a box has this program.
const (
	boxSelf = "/run/gjc/self"
	// boxNone and boxVoid are an unreadable file and directory.
	boxNone = "/run/gjc/none"
	boxVoid = "/run/gjc/void"
)

// kept are the entries of /run that a box has: programs of systems that keep them there. Everything else there is sockets.
var kept = []string{"booted-system", "current-system", "opengl-driver", "opengl-driver-32"}

// maxMounts bounds the mounts of a box: bubblewrap takes 9,000 arguments, and reads the list of mounts for each.
const maxMounts = 1000

// mount says how a box shows a path.
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

// bubblewrapArgs returns the options of bubblewrap. It makes files in the directory state.
func bubblewrapArgs(p *Policy, state, self string) ([]string, error) {
	none, void := filepath.Join(state, "none"), filepath.Join(state, "void")
	if err := os.WriteFile(none, nil, 0); err != nil {
		return nil, err
	}
	if err := os.Mkdir(void, 0); err != nil {
		return nil, err
	}
	args := []string{
		"--die-with-parent", "--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--cap-drop", "ALL", "--cap-add", "CAP_SYS_ADMIN", "--cap-add", "CAP_SETPCAP",
		"--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/run", "--tmpfs", "/var/tmp",
	}
	if !p.Network {
		args = append(args, "--unshare-net")
	}
	for _, name := range kept {
		args = append(args, "--ro-bind-try", filepath.Join("/run", name), filepath.Join("/run", name))
	}
	args = append(args, "--ro-bind", self, boxSelf, "--ro-bind", none, boxNone, "--ro-bind", void, boxVoid)
	if p.Temp == "" {
		args = append(args, "--tmpfs", "/tmp")
	} else {
		args = append(args, "--bind", p.Temp, "/tmp", "--bind", p.Temp, p.Temp)
	}
	all := mounts(p)
	for i, m := range all {
		info, err := os.Lstat(m.path)
		switch {
		case err == nil && info.IsDir() && m.as == hidden && showsBelow(all[i+1:], m.path):
			args = append(args, "--perms", "0111", "--tmpfs", m.path)
		case err != nil: // it has gone, or cannot be reached
		case m.as == writable:
			args = append(args, "--bind", m.path, m.path)
		case m.as == readable || m.as == shown:
			args = append(args, "--ro-bind", m.path, m.path)
		case info.IsDir():
			args = append(args, "--ro-bind", void, m.path)
		default:
			args = append(args, "--ro-bind", none, m.path)
		}
	}
	return args, nil
}

// mounts returns what a policy mounts, outer paths first, at most [maxMounts]: beyond that, directories stand for the files in them,
// which makes more of them unchangeable or hidden.
func mounts(p *Policy) []mount {
	at := make(map[string]access)
	add := func(paths []string, as access) {
		for _, path := range paths {
			path = filepath.Clean(path)
			at[path] = max(at[path], as)
		}
	}
	add(p.Write, writable)
	add(p.Keep, readable)
	add(p.Hide, hidden)
	add(p.Show, shown)
	delete(at, "/") // the base
	for len(at) > maxMounts {
		if !coarsen(at) {
			break
		}
	}
	all := make([]mount, 0, len(at))
	for path, as := range at {
		all = append(all, mount{path, as})
	}
	slices.SortFunc(all, func(a, b mount) int {
		return cmp.Or(cmp.Compare(strings.Count(a.path, "/"), strings.Count(b.path, "/")), strings.Compare(a.path, b.path))
	})
	// What is kept or hidden with the directory around it needs no mount of its own.
	as := make(map[string]access)
	return slices.DeleteFunc(all, func(m mount) bool {
		around := writable
		for dir := filepath.Dir(m.path); dir != "/"; dir = filepath.Dir(dir) {
			if found, ok := as[dir]; ok {
				around = found
				break
			}
		}
		as[m.path] = m.as
		return (m.as == readable || m.as == hidden) && around >= m.as && around != shown || m.as == shown && around != hidden
	})
}

// showsBelow reports whether one of the mounts shows something below a directory. An empty directory that cannot be changed has no place
// for it.
func showsBelow(all []mount, dir string) bool {
	return slices.ContainsFunc(all, func(m mount) bool { return m.as != hidden && strings.HasPrefix(m.path, dir+"/") })
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
