package sandbox

import (
	"bufio"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A file can have several paths: bind mounts and subvolumes show a directory in two places. What is kept or hidden by one path must be so
// by the others, too.

// mountPoint shows a directory or file of a file system at a path.
type mountPoint struct{ device, root, path string }

// source is a directory or file of a file system.
type source struct{ device, path string }

// withAliases returns a policy that also keeps and hides its files by their other paths. What is a root of its own stays one. Paths in the
// directories covered are not visible, except below roots.
func withAliases(p *Policy, covered []string) *Policy {
	points := mountPoints()
	extended := *p
	for _, alias := range aliases(points, p.Keep) {
		if within(p.Write, alias) {
			extended.Keep = append(slices.Clip(extended.Keep), alias)
		}
	}
	for _, alias := range aliases(points, p.Hide) {
		if !slices.Contains(p.Write, alias) && (!within(covered, alias) || within(p.Write, alias)) {
			extended.Hide = append(slices.Clip(extended.Hide), alias)
		}
	}
	return &extended
}

// aliases returns other paths of files and directories, and of what is mounted from inside of these directories.
func aliases(points []mountPoint, paths []string) []string {
	at := make(map[string]mountPoint)     // by path; a later one covers an earlier one
	from := make(map[source][]mountPoint) // by what is mounted
	for _, m := range points {
		at[m.path] = m
		from[source{m.device, m.root}] = append(from[source{m.device, m.root}], m)
	}
	var found []string
	seen := make(map[string]bool)
	add := func(alias, of string) {
		if alias == of || seen[alias] {
			return
		}
		seen[alias] = true
		a, err := os.Lstat(alias)
		if err != nil {
			return
		}
		// Something else may be mounted over either.
		if b, err := os.Lstat(of); err == nil && os.SameFile(a, b) {
			found = append(found, alias)
		}
	}
	named := make(map[source]string)
	for _, p := range paths {
		m, ok := mountOf(at, p)
		if !ok {
			continue
		}
		s := source{m.device, path.Join(m.root, strings.TrimPrefix(p, m.path))}
		named[s] = p
		for dir := range upwards(s.path) {
			for _, other := range from[source{s.device, dir}] {
				add(path.Join(other.path, strings.TrimPrefix(s.path, dir)), p)
			}
		}
	}
	for _, m := range points {
		for dir := range upwards(m.root) {
			if p, ok := named[source{m.device, dir}]; ok {
				add(m.path, path.Join(p, strings.TrimPrefix(m.root, dir)))
			}
		}
	}
	return found
}

// mountOf returns the mount that a path is on.
func mountOf(at map[string]mountPoint, p string) (mountPoint, bool) {
	for dir := range upwards(p) {
		if m, ok := at[dir]; ok {
			return m, true
		}
	}
	return mountPoint{}, false
}

// upwards yields an absolute path and the directories around it.
func upwards(p string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for yield(p) && p != path.Dir(p) {
			p = path.Dir(p)
		}
	}
}

// mountPoints returns the mounts of this process in their order. It returns none without /proc.
func mountPoints() []mountPoint {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }() // read only
	var points []mountPoint
	for lines := bufio.NewScanner(f); lines.Scan(); {
		// The ID, that of the parent, the device, the root and the path, see proc_pid_mountinfo(5).
		if fields := strings.Fields(lines.Text()); len(fields) > 4 {
			points = append(points, mountPoint{fields[2], unescape(fields[3]), unescape(fields[4])})
		}
	}
	return points
}

var escaped = regexp.MustCompile(`\\[0-7]{3}`)

// unescape replaces the octal escapes of a path in /proc.
func unescape(text string) string {
	return escaped.ReplaceAllStringFunc(text, func(octal string) string {
		b, err := strconv.ParseUint(octal[1:], 8, 8)
		if err != nil {
			return octal
		}
		return string([]byte{byte(b)})
	})
}
