package sessions

import (
	"path/filepath"
	"strings"
)

// dirName returns the name of the directory for sessions that work in cwd: "-" and the path inside home, "-tmp-" and
// the path inside the temporary directory, or "--", the whole path and "--". Separators and colons become dashes, so
// the name does not lead back to cwd; the header does.
func dirName(cwd, home, temp string) string {
	if rel, ok := inside(home, cwd); ok {
		return "-" + dashes(rel)
	}
	if rel, ok := inside(temp, cwd); ok {
		if rel == "" {
			return "-tmp"
		}
		return "-tmp-" + dashes(rel)
	}
	return absoluteDirName(cwd)
}

func absoluteDirName(cwd string) string {
	if cwd != "" && (cwd[0] == '/' || cwd[0] == '\\') {
		cwd = cwd[1:]
	}
	return "--" + dashes(cwd) + "--"
}

// inside returns the path of dir relative to root, empty for root itself, and whether it lies there.
func inside(root, dir string) (string, bool) {
	if root == "" {
		return "", false
	}
	rel, err := filepath.Rel(root, dir)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return "", false
	}
	if rel == "." {
		return "", true
	}
	return rel, true
}

var dashReplacer = strings.NewReplacer("/", "-", `\`, "-", ":", "-")

func dashes(s string) string { return dashReplacer.Replace(s) }
