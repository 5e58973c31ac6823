package shell

import (
	_ "embed"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/gajae-code/gjc/internal/places"
)

//go:embed reads.txt
var readsText string

// reader options: what a program of reads.txt takes without changing anything.
type readOptions struct {
	// short are letters; those in values take the rest of the word, or the next word.
	short, values string
	long          map[string]bool
	// operands is the number of operands that the program takes without changing one; -1 for any number.
	operands int
}

// readers returns the lines of reads.txt, by program or program and subcommand. A program with subcommands has an entry of its own
// without options.
var readers = sync.OnceValue(func() map[string]readOptions {
	all := make(map[string]readOptions)
	for line := range strings.Lines(readsText) {
		name, rest, ok := strings.Cut(strings.TrimSpace(line), ":")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		o := readOptions{operands: -1, long: make(map[string]bool)}
		for field := range strings.FieldsSeq(rest) {
			switch {
			case strings.HasPrefix(field, "--"):
				o.long[field] = true
			case strings.HasPrefix(field, "-"):
				for i := 1; i < len(field); i++ {
					if i+1 < len(field) && field[i+1] == ':' {
						o.values += field[i : i+1]
						i++
					} else {
						o.short += field[i : i+1]
					}
				}
			case field[0] == '<':
				o.operands = int(field[1] - '0')
			case field[0] == '=': // find's tests
				o.long[field[1:]] = true
			}
		}
		all[name] = o
		if program, _, ok := strings.Cut(name, " "); ok {
			if _, known := all[program]; !known {
				all[program] = readOptions{}
			}
		}
	}
	return all
})

// reads reports whether the line is known to change nothing and to read nothing but what may be read without a question.
func (r *reader) reads() bool {
	l := r.line
	if !l.Flat || l.Assigns || r.opaque || len(l.Changes) > 0 || len(l.Notes) > 0 || r.paths.Outside(r.dir) {
		return false
	}
	for _, c := range l.Commands {
		if !r.onlyReads(c.Words) {
			return false
		}
	}
	return len(l.Commands) > 0
}

func (r *reader) onlyReads(words []Word) bool {
	for _, w := range words {
		if !w.Static {
			return false
		}
	}
	name := words[0].Text
	o, ok := readers()[name]
	if ok && o.long == nil { // it has subcommands
		if len(words) < 2 {
			return false
		}
		o, ok = readers()[name+" "+words[1].Text]
		words = words[1:]
	}
	if !ok || name == "git" && !r.ownRepository() {
		return false
	}
	operands, options := 0, true
	for _, w := range words[1:] {
		switch {
		case options && w.Text == "--":
			options = false
		case options && len(w.Text) > 1 && w.Text[0] == '-':
			value, ok := o.takes(w.Text)
			if !ok || !r.readable(value) {
				return false
			}
		case !r.readable(w.Text):
			return false
		default:
			operands++
		}
	}
	return o.operands < 0 || operands <= o.operands
}

// takes reports whether an option is known, and returns the value that is a part of it.
func (o *readOptions) takes(word string) (value string, ok bool) {
	name, value, _ := strings.Cut(word, "=")
	if o.long[name] {
		return value, true
	}
	if strings.HasPrefix(word, "--") {
		return "", false
	}
	for i := 1; i < len(word); i++ {
		switch {
		case strings.IndexByte(o.values, word[i]) >= 0:
			return word[i+1:], true
		case strings.IndexByte(o.short, word[i]) < 0 && (word[i] < '0' || word[i] > '9' || !strings.Contains(o.short, "#")):
			return "", false
		}
	}
	return "", true
}

// readable reports whether a word, if it is a path, may be read without a question.
func (r *reader) readable(word string) bool {
	if word == "" {
		return true
	}
	path := r.paths.Expand(word, r.dir)
	_, file, _ := strings.Cut(word, ":") // HEAD:file
	return !r.paths.Secret(path) && !r.paths.Outside(path) && (file == "" || !places.SecretName(places.Names(file)))
}

// ownRepository reports whether git, in the line's directory, uses the repository of a root, or one around it, and not one that lies in a
// directory between, which may have settings that run programs.
func (r *reader) ownRepository() bool {
	for dir := r.paths.Resolve(r.dir); ; dir = filepath.Dir(dir) {
		for _, name := range []string{"HEAD", "config"} {
			if _, err := os.Lstat(filepath.Join(dir, name)); err == nil && name == "HEAD" {
				return false // a repository without a .git
			}
		}
		if slices.Contains(r.paths.ResolvedRoots(), dir) {
			return true
		}
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil || dir == filepath.Dir(dir) {
			return false
		}
	}
}
