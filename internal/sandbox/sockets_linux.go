package sandbox

import (
	"bufio"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// replaced are the directories of which a box has its own.
var replaced = []string{"/tmp", "/var/tmp", "/run", "/dev"}

// machineSockets returns the files of Unix sockets by which programs outside of a box can be reached: those that the kernel lists,
// and those that the environment names, which may come from another container. They would be reachable, since a read-only file system does not prevent a
// connection; those in directories that a box replaces only below one that it shows again, in write.
func machineSockets(env, write []string) []string {
	var paths []string
	add := func(path string) {
		real, err := filepath.EvalSymlinks(path)
		if err != nil || within(replaced, real) && !within(write, real) {
			return
		}
		if info, err := os.Lstat(real); err == nil && info.Mode()&os.ModeSocket != 0 {
			paths = append(paths, real)
		}
	}
	if f, err := os.Open("/proc/net/unix"); err == nil {
		defer func() { _ = f.Close() }() // read only
		for lines := bufio.NewScanner(f); lines.Scan(); {
			// The path comes last, may contain blanks, and begins with @ if it is abstract.
			if _, path, ok := strings.Cut(lines.Text(), " /"); ok {
				add("/" + path)
			}
		}
	}
	for _, kv := range env {
		_, value, _ := strings.Cut(kv, "=")
		for address := range strings.SplitSeq(value, ";") { // D-Bus lists several
			if rest, ok := strings.CutPrefix(address, "unix:"); ok {
				address = strings.TrimPrefix(rest, "//")
				if _, path, ok := strings.Cut(address, "path="); ok {
					address, _, _ = strings.Cut(path, ",")
					if decoded, err := url.PathUnescape(address); err == nil {
						address = decoded
					}
				}
			}
			if filepath.IsAbs(address) {
				add(address)
			}
		}
	}
	return paths
}

// within reports whether a path lies below one of the directories.
func within(dirs []string, path string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool { return strings.HasPrefix(path, dir+"/") })
}
