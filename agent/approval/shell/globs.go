package shell

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// globReads looks at a word with a glob, braces or variables as a path that may be read: does what it can be hold secrets?
func (a *analysis) globReads(w *syntax.Word, begins Arg) {
	var pattern strings.Builder
	plain := false
	var parts func(list []syntax.WordPart, quoted bool)
	parts = func(list []syntax.WordPart, quoted bool) {
		for _, p := range list {
			switch p := p.(type) {
			case *syntax.Lit:
				text := p.Value
				if quoted {
					text = literalGlob(text)
				} else {
					plain = plain || strings.ContainsAny(text, "*?[{")
				}
				pattern.WriteString(text)
			case *syntax.SglQuoted:
				text := p.Value
				if p.Dollar && strings.ContainsRune(text, '\\') { // some shells take the escapes out
					if decoded, _, err := expand.Format(nil, text, nil); err == nil {
						text, plain = decoded, true
					}
				}
				pattern.WriteString(literalGlob(text))
			case *syntax.DblQuoted:
				parts(p.Parts, true)
			case *syntax.ParamExp:
				if p.Param != nil && p.Param.Value == "HOME" {
					pattern.WriteString(a.paths.Home)
				} else {
					pattern.WriteString("*")
				}
			default:
				pattern.WriteString("*")
			}
		}
	}
	parts(w.Parts, false)
	text := pattern.String()
	// A part that only the shell knows counts as a glob in a name that begins with a dot and more.
	if base := text[strings.LastIndexByte(text, '/')+1:]; strings.HasPrefix(base, ".") && strings.Trim(base, ".*") != "" {
		plain = true
	}
	if strings.HasPrefix(text, "/proc/") && strings.HasSuffix(text, "/environ") {
		a.risk("it reads the environment of another program")
		return
	}
	if !plain || len(text) > maxPath || !doublestar.ValidatePattern(text) {
		return
	}
	a.braces(text, a.globRead)
}

// braces calls do for each text that a pattern with braces stands for, as a shell makes them: each is a step, because there can be
// more than anybody can look at.
func (a *analysis) braces(pattern string, do func(pattern string)) {
	if !a.step(1 + len(pattern)/64) {
		return
	}
	for i := 0; i < len(pattern); i++ {
		switch pattern[i] {
		case '\\':
			i++
		case '{':
			choices, end := alternatives(pattern, i)
			if choices == nil {
				continue // it stands for itself
			}
			for _, choice := range choices {
				if a.steps <= maxSteps {
					a.braces(pattern[:i]+choice+pattern[end:], do)
				}
			}
			return
		}
	}
	do(pattern)
}

// alternatives are what the braces that begin at a place stand for, and where they end; nil if they stand for themselves.
func alternatives(pattern string, at int) (choices []string, end int) {
	depth, start := 0, at+1
	for j := at; j < len(pattern); j++ {
		switch pattern[j] {
		case '\\':
			j++
		case '{':
			depth++
		case ',':
			if depth == 1 {
				choices, start = append(choices, pattern[start:j]), j+1
			}
		case '}':
			switch depth--; {
			case depth > 0:
			case choices != nil:
				return append(choices, pattern[start:j]), j + 1
			case strings.Contains(pattern[start:j], ".."): // {a..z}
				return []string{"*"}, j + 1
			default:
				return nil, 0
			}
		}
	}
	return nil, 0
}

// globRead looks at a pattern without braces as a path that may be read.
func (a *analysis) globRead(text string) {
	if special(text) < 0 || strings.Contains(text, `\`) {
		before := len(a.cmd.Risks)
		if a.reads(unescape(text, false)); len(a.cmd.Risks) > before {
			return
		}
	}
	for _, at := range a.places(text) {
		dir, base := filepath.Dir(at), filepath.Base(at)
		if slices.ContainsFunc(Names(dir), secretDirectory) {
			a.risk("it reads %s, which may hold secrets by its name", show(at))
			return
		}
		for _, known := range globSecrets {
			// A glob for all of a directory is for what has no dot in front; one for something of a kind is meant.
			if ok, _ := doublestar.Match(base, known); ok && strings.HasPrefix(base, ".") == strings.HasPrefix(known, ".") && strings.TrimLeft(base, "*") != "" && strings.IndexByte(base, '*') != 0 {
				a.risk("it reads %s, which may be %s, a file with secrets by its name", show(at), known)
				return
			}
		}
		if !strings.Contains(dir, "*") && a.paths.Real != nil {
			entries := a.list(dir)
			if !a.step(len(entries) / 100) {
				return
			}
			for _, entry := range entries {
				if ok, _ := doublestar.Match(base, entry.Name()); ok && strings.HasPrefix(base, ".") == strings.HasPrefix(entry.Name(), ".") && a.secretEntry(dir, entry) {
					a.risk("it reads %s, which holds secrets by its name", show(filepath.Join(dir, entry.Name())))
					return
				}
			}
		}
	}
}

// secretDirectory reports whether a part of a path, which may be a glob that begins with a dot, is for a directory with secrets.
func secretDirectory(part string) bool {
	for _, name := range []string{".ssh", ".gnupg", ".aws", ".azure", ".password-store"} {
		if part == name {
			return true
		}
		if ok, _ := doublestar.Match(part, name); ok && strings.HasPrefix(part, ".") {
			return true
		}
	}
	return false
}

// list returns what a directory has, and remembers it.
func (a *analysis) list(dir string) []os.DirEntry {
	entries, ok := a.listed[dir]
	if !ok && a.step(1) {
		entries, _ = os.ReadDir(dir)
		entries = entries[:min(len(entries), maxNames)]
		if a.listed == nil {
			a.listed = make(map[string][]os.DirEntry)
		}
		a.listed[dir] = entries
	}
	return entries
}

// secretEntry reports whether a file of a directory holds secrets by its name. Only links are followed: there can be many files.
func (a *analysis) secretEntry(dir string, entry os.DirEntry) bool {
	path := filepath.Join(dir, entry.Name())
	if entry.Type()&os.ModeSymlink != 0 {
		return a.paths.Secret(path)
	}
	real := filepath.Join(a.paths.Resolve(dir), entry.Name())
	return SecretName(Names(a.paths.below(path))) || SecretName(Names(a.paths.below(real)))
}

// globSecrets are names of secret files that a glob may be for, whether there are any or not.
var globSecrets = []string{".env", ".netrc", ".npmrc", ".pgpass", ".git-credentials", "id_rsa", "id_ed25519", "credentials.json"}

// literalGlob is text that stands for itself in a glob.
func literalGlob(text string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "{", `\{`).Replace(text)
}
