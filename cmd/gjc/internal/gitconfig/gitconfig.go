// Package gitconfig reads the user's configuration of git.
package gitconfig

import (
	"os"
	"path/filepath"
	"strings"
)

// maxGitConfig bounds a git configuration that is read, in bytes.
const maxGitConfig = 1 << 20

// GlobalIgnore returns the user's global file of ignore patterns, as gitignore(5) defines it, or "". It reads only the
// user's own configuration, so that a workspace cannot hide files from a search. It does not read files that the
// configuration includes.
func GlobalIgnore(home string, getenv func(string) string) string {
	if home == "" {
		return ""
	}
	xdg := getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(xdg) {
		xdg = filepath.Join(home, ".config")
	}
	found := filepath.Join(xdg, "git", "ignore")
	configs := []string{filepath.Join(xdg, "git", "config"), filepath.Join(home, ".gitconfig")}
	if only := getenv("GIT_CONFIG_GLOBAL"); only != "" {
		configs = []string{only}
	}
	for _, config := range configs {
		info, err := os.Stat(config)
		if err != nil || !info.Mode().IsRegular() || info.Size() > maxGitConfig {
			continue
		}
		text, err := os.ReadFile(config)
		if err != nil {
			continue // git cannot read it either
		}
		if path, ok := excludesFile(string(text)); ok {
			if rest, ok := strings.CutPrefix(path, "~/"); ok {
				path = filepath.Join(home, rest)
			}
			found = path
		}
	}
	if info, err := os.Stat(found); !filepath.IsAbs(found) || err != nil || !info.Mode().IsRegular() {
		return ""
	}
	return found
}

// excludesFile returns the last core.excludesFile of a git configuration (git-config(1), "Syntax").
func excludesFile(config string) (path string, ok bool) {
	config = strings.ReplaceAll(strings.TrimPrefix(config, "\ufeff"), "\r\n", "\n")
	core := false
	for config != "" {
		config = strings.TrimLeft(config, " \t\n")
		switch {
		case config == "":
		case config[0] == '#' || config[0] == ';':
			_, config, _ = strings.Cut(config, "\n")
		case config[0] == '[':
			section, rest, closed := strings.Cut(config[1:], "]")
			if !closed {
				return path, ok
			}
			core, config = strings.EqualFold(strings.TrimSpace(section), "core"), rest
		default:
			end := strings.IndexAny(config, "=\n")
			if end < 0 || config[end] == '\n' { // a name without a value means true
				_, config, _ = strings.Cut(config, "\n")
				continue
			}
			name := strings.TrimSpace(config[:end])
			var value string
			value, config = gitValue(config[end+1:])
			if core && strings.EqualFold(name, "excludesFile") {
				path, ok = value, true
			}
		}
	}
	return path, ok
}

// gitValue parses a value up to the end of its line, and returns the rest of the text.
func gitValue(text string) (value, rest string) {
	var b strings.Builder
	quoted := false
	// kept is the length of b without trailing blanks.
	kept := 0
	text = strings.TrimLeft(text, " \t")
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\n':
			return b.String()[:kept], text[i+1:]
		case c == '"':
			quoted = !quoted
			kept = b.Len()
		case !quoted && (c == '#' || c == ';'):
			_, rest, _ = strings.Cut(text[i:], "\n")
			return b.String()[:kept], rest
		case c == '\\' && i+1 < len(text):
			i++
			switch e := text[i]; e {
			case '\n':
			case 'n', 't', 'b':
				b.WriteString(map[byte]string{'n': "\n", 't': "\t", 'b': "\b"}[e])
			default:
				b.WriteByte(e)
			}
			kept = b.Len()
		default:
			b.WriteByte(c)
			if quoted || c != ' ' && c != '\t' {
				kept = b.Len()
			}
		}
	}
	return b.String()[:kept], ""
}
