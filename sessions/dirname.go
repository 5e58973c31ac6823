package sessions

import (
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

const (
	// maxDirName is the maximum length of a directory's name, in bytes. Most file systems permit 255, some fewer.
	maxDirName = 200
	// dirNameHash is the number of hexadecimal digits of the hash in a shortened name.
	dirNameHash = 16
)

// dirName returns the name of the directory for the sessions of cwd: "-" and the path relative to home, "-tmp-" and the path
// relative to the temporary directory, or the whole path between "--" and "--". Separators and colons become dashes, so the name
// does not determine cwd; the header contains it. A name longer than [maxDirName] is shortened and ends with a hash of cwd.
func dirName(cwd, home, temp string) string {
	name := fullDirName(cwd, home, temp)
	if len(name) <= maxDirName {
		return name
	}
	end := maxDirName - dirNameHash - 1
	for !utf8.RuneStart(name[end]) {
		end--
	}
	sum := sha256.Sum256([]byte(cwd))
	return name[:end] + "-" + hex.EncodeToString(sum[:])[:dirNameHash]
}

func fullDirName(cwd, home, temp string) string {
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

// inside returns the path of dir relative to root, which is empty for root itself, and reports whether root contains
// dir.
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
