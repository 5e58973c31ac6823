// Package shell takes command lines apart. It decides nothing; package approval does.
package shell

import (
	"path/filepath"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/gajae-code/gjc/internal/places"
	"github.com/gajae-code/gjc/internal/text"
)

// Line describes a command line for a POSIX shell, as far as it is known without running it.
type Line struct {
	// Commands lists the simple commands in it, in order: also those of pipelines, substitutions, functions and loops, and of lines in
	// the words of others (sh -c "…").
	Commands []Command
	// Flat says that the line is nothing but simple commands in a row or in pipelines, without substitutions and files that they
	// write: only then do the first words of its commands say all that it runs. With Assigns, some of them get variables by which programs
	// run others.
	Flat, Assigns bool
	// Reads says that the line is known to change nothing and to read no secrets, in the roots alone.
	Reads bool
	// Notes list facts that a user should know about the line.
	Notes []string
	// Changes are the absolute paths that the line's redirections write.
	Changes []string
	dir     string
}

// Command is a simple command.
type Command struct {
	Words []Word
	// Fed says that it reads what another command writes, or a text of the line.
	Fed bool
}

// Word is a word of a command, as a program gets it.
type Word struct {
	// Text is the word; if it is not static, how it is known to begin.
	Text string
	// Static says that it needs no shell to know the word: it has no substitution, no glob, no braces, and no variables but HOME.
	Static bool
	// pattern is a word that is a glob and nothing else.
	pattern string
}

// Glob reports whether the word stands for files, and for nothing else that only the shell knows.
func (w Word) Glob() bool { return w.pattern != "" }

// Limits of what is read; beyond them a line is not taken apart.
const (
	maxLine     = 64 << 10
	maxNested   = 4 // lines in words: sh -c "sh -c …"
	maxCommands = 1000
	maxMatches  = 2000 // files that a glob is compared with
)

// reader takes a line apart.
type reader struct {
	line  *Line
	paths *places.Paths
	dir   string
	depth int
	// opaque says that a file is read that is not known, or not to be read without a question.
	opaque bool
}

// Read takes a line apart that begins in the directory dir.
func Read(line, dir string, paths *places.Paths) *Line {
	l := &Line{Flat: true, dir: dir}
	r := &reader{line: l, paths: paths, dir: dir}
	if r.parse(line) {
		l.Reads = r.reads()
	} else {
		l.Flat = false
	}
	r.notes()
	return l
}

func (r *reader) note(note string) {
	if slices.Contains(r.line.Notes, note) {
		return
	}
	r.line.Notes = append(r.line.Notes, note)
}

// parse adds the commands of a line. It reports whether all of them are known.
func (r *reader) parse(line string) bool {
	for _, c := range line {
		if text.Forges(c) {
			r.note("it has characters that cannot be seen")
			r.line.Flat = false
			break
		}
	}
	if len(line) > maxLine {
		r.note("it is too long to be looked at")
		return false
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(line), "")
	if err != nil {
		r.note("it cannot be read as a shell command")
		return false
	}
	if r.depth == 0 {
		r.line.Flat = r.line.Flat && len(file.Stmts) > 0
		for _, s := range file.Stmts {
			r.line.Flat = r.flat(s) && r.line.Flat
		}
	}
	r.walk(file, false)
	if len(r.line.Commands) > maxCommands {
		r.note("it is too long to be looked at")
		return false
	}
	return true
}

// flat reports whether a statement is nothing but simple commands.
func (r *reader) flat(s *syntax.Stmt) bool {
	for _, redirect := range s.Redirs {
		if !r.flatRedirect(redirect) {
			return false
		}
	}
	switch c := s.Cmd.(type) {
	case *syntax.BinaryCmd: // &&, ||, |
		return r.flat(c.X) && r.flat(c.Y)
	case *syntax.CallExpr:
		for _, as := range c.Assigns {
			r.line.Assigns = r.line.Assigns || as.Name != nil && RunsPrograms(as.Name.Value)
			if as.Append || as.Naked || as.Index != nil || as.Array != nil || as.Value != nil && !plain(as.Value) {
				return false
			}
		}
		for _, w := range c.Args {
			if !plain(w) {
				return false
			}
		}
		return !s.Coprocess && !s.Disown && (len(c.Args) == 0 || plainName(c.Args[0].Lit()))
	default:
		return false
	}
}

// flatRedirect reports whether a redirection writes to no file: 2>&1, < file, > /dev/null.
func (r *reader) flatRedirect(d *syntax.Redirect) bool {
	switch d.Op {
	case syntax.DplOut, syntax.DplIn: // with a name in place of the number, ">&" writes to a file
		return d.Word.Lit() == "-" || d.Word.Lit() != "" && strings.Trim(d.Word.Lit(), "0123456789") == ""
	case syntax.RdrIn:
		return plain(d.Word)
	case syntax.RdrOut, syntax.AppOut, syntax.RdrAll, syntax.AppAll:
		return d.Word.Lit() == "/dev/null"
	default:
		return false
	}
}

// plainName reports whether every shell reads s as it stands there: without quotes, globs, braces and backslashes.
func plainName(s string) bool {
	return s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+~@:,") == "" || s == "["
}

// plain reports whether a word holds nothing that a shell would run, and nothing that shells read differently: dash does not know $'…', a
// glob's parentheses and what stands in brackets after a variable can hold commands in zsh.
func plain(w *syntax.Word) bool {
	ok := true
	var parts func(parts []syntax.WordPart)
	parts = func(all []syntax.WordPart) {
		for i, p := range all {
			switch p := p.(type) {
			case *syntax.Lit:
				if _, after := previous(all, i).(*syntax.ParamExp); after && p.Value != "" && strings.IndexByte("[:(", p.Value[0]) >= 0 {
					ok = false
				}
			case *syntax.SglQuoted:
				ok = ok && !p.Dollar
			case *syntax.DblQuoted:
				ok = ok && !p.Dollar
				parts(p.Parts)
			case *syntax.ParamExp:
				ok = ok && onlyName(p)
			default:
				ok = false
			}
		}
	}
	parts(w.Parts)
	return ok
}

func previous(all []syntax.WordPart, i int) syntax.WordPart {
	if i == 0 {
		return nil
	}
	return all[i-1]
}

// onlyName reports whether a parameter is only named.
func onlyName(p *syntax.ParamExp) bool {
	return p.Param != nil && !p.Excl && !p.Length && !p.Width && p.Index == nil && p.Slice == nil && p.Repl == nil && p.Names == 0 && p.Exp == nil
}

// walk adds the commands below a node. fed says that they read what another command writes.
func (r *reader) walk(node syntax.Node, fed bool) {
	syntax.Walk(node, func(n syntax.Node) bool {
		if len(r.line.Commands) > maxCommands {
			return false
		}
		switch n := n.(type) {
		case *syntax.BinaryCmd:
			if n.Op == syntax.Pipe || n.Op == syntax.PipeAll {
				r.walk(n.X, fed)
				r.walk(n.Y, true)
				return false
			}
		case *syntax.Stmt:
			given := fed
			for _, d := range n.Redirs {
				given = r.redirect(d) || given
			}
			if given && !fed && n.Cmd != nil {
				r.walk(n.Cmd, true)
				for _, d := range n.Redirs {
					r.walk(d, false)
				}
				return false
			}
		case *syntax.CallExpr:
			r.call(n, fed)
		case *syntax.DeclClause:
			words := []Word{{Text: n.Variant.Value, Static: true}}
			for _, as := range n.Args {
				if as.Name != nil {
					r.assign(as)
					words = append(words, Word{Text: as.Name.Value})
				} else if as.Value != nil {
					words = append(words, r.word(as.Value))
				}
			}
			r.line.Commands = append(r.line.Commands, Command{Words: words})
		}
		return true
	})
}

// redirect looks at a redirection. It reports whether it gives a command a text to read.
func (r *reader) redirect(d *syntax.Redirect) bool {
	switch d.Op {
	case syntax.Hdoc, syntax.DashHdoc:
		if d.Hdoc != nil {
			r.nested(r.word(d.Hdoc))
		}
		return true
	case syntax.WordHdoc:
		r.nested(r.word(d.Word))
		return true
	case syntax.RdrIn:
		from := r.word(d.Word)
		r.opaque = r.opaque || !from.Static || !r.readable(from.Text)
		r.names(from, true)
		return true
	default:
	}
	if r.flatRedirect(d) {
		return false
	}
	to := r.word(d.Word)
	switch {
	case !to.Static:
		r.note("it writes to a file that only the shell knows")
	case strings.HasPrefix(to.Text, "/dev/tcp/") || strings.HasPrefix(to.Text, "/dev/udp/"):
		r.note("it opens a connection")
	case to.Text != "/dev/stdout" && to.Text != "/dev/stderr" && to.Text != "/dev/tty":
		r.line.Changes = append(r.line.Changes, r.paths.Expand(to.Text, r.dir))
	}
	return false
}

// call adds a simple command.
func (r *reader) call(n *syntax.CallExpr, fed bool) {
	for _, as := range n.Assigns {
		r.assign(as)
	}
	if len(n.Args) == 0 {
		return
	}
	c := Command{Fed: fed}
	for _, w := range n.Args {
		c.Words = append(c.Words, r.word(w))
	}
	r.line.Commands = append(r.line.Commands, c)
	if Quotes(c.Words[0].Text) {
		return
	}
	for _, w := range c.Words[1:] {
		r.nested(w)
	}
}

// Quotes reports whether a program takes text and, as far as is known, runs none of it as a line.
func Quotes(program string) bool { return quotes[programName(program)] }

var quotes = set("echo", "printf", "grep", "egrep", "fgrep", "rg", "jq", "gh", "awk", "sed", "perl", "python", "python3", "node", "ruby", "git")

// nested takes a word apart that may be a line for another shell.
func (r *reader) nested(w Word) {
	if r.depth >= maxNested || !strings.ContainsAny(w.Text, " \t\n") {
		return
	}
	inner := &reader{line: new(Line), paths: r.paths, dir: r.dir, depth: r.depth + 1}
	if !inner.parse(w.Text) {
		return // most texts are no lines
	}
	r.line.Commands = append(r.line.Commands, inner.line.Commands...)
	r.line.Changes = append(r.line.Changes, inner.line.Changes...)
}

// writers are programs that change the files that they are given: all of them, or the last.
var (
	writers     = set("rm", "unlink", "tee", "touch", "mkdir", "rmdir", "truncate", "shred", "chmod", "chown", "chgrp", "mv", "patch")
	lastWriters = set("cp", "ln", "install", "rsync", "scp", "dd")
)

// Written returns the absolute paths that the line is seen to write, change or remove.
func (l *Line) Written(paths *places.Paths) []string {
	all := l.Changes
	for _, c := range l.Commands {
		name := programName(c.Words[0].Text)
		from := 1
		if lastWriters[name] {
			from = max(1, len(c.Words)-1)
		} else if !writers[name] {
			continue
		}
		for _, w := range c.Words[from:] {
			if w.Static && !strings.HasPrefix(w.Text, "-") {
				all = append(all[:len(all):len(all)], paths.Expand(w.Text, l.dir))
			}
		}
	}
	return all
}

// word returns what is known of a word.
func (r *reader) word(w *syntax.Word) Word {
	e := expansion{home: r.paths.Home, word: Word{Static: true}}
	e.parts(w.Parts, false)
	e.word.Text = e.text.String()
	if lit := w.Lit(); lit != "" && !e.word.Static && !strings.ContainsRune(lit, '\\') {
		e.word.pattern = lit
	}
	return e.word
}

// expansion is a word that is being put together.
type expansion struct {
	home string
	word Word
	text strings.Builder
}

func (e *expansion) parts(parts []syntax.WordPart, quoted bool) {
	for i, p := range parts {
		if !e.word.Static {
			return
		}
		switch p := p.(type) {
		case *syntax.Lit:
			e.literal(p.Value, quoted, i == 0 && !quoted && e.text.Len() == 0)
		case *syntax.SglQuoted:
			if e.word.Static = !p.Dollar || !strings.ContainsRune(p.Value, '\\'); e.word.Static {
				e.text.WriteString(p.Value)
			}
		case *syntax.DblQuoted:
			e.parts(p.Parts, true)
		case *syntax.ParamExp:
			if e.word.Static = onlyName(p) && p.Param.Value == "HOME" && e.home != ""; e.word.Static {
				e.text.WriteString(e.home)
			}
		default:
			e.word.Static = false
		}
	}
}

func (e *expansion) literal(s string, quoted, first bool) {
	switch {
	case first && e.home != "" && (s == "~" || strings.HasPrefix(s, "~/")):
		s = e.home + s[1:]
	case first && strings.HasPrefix(s, "~"): // another user's home, or a directory of the shell's
		e.word.Static = false
		return
	}
	if at := special(s); at >= 0 && !quoted && s != "[" && s != "[[" {
		e.word.Static = false
		s = s[:at]
	}
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && (!quoted || strings.IndexByte("$`\"\\\n", s[i+1]) >= 0) {
			if i++; s[i] == '\n' {
				continue
			}
		}
		e.text.WriteByte(s[i])
	}
}

// special returns where a glob or braces begin in a literal, or -1. Braces with nothing in them stand for themselves.
func special(s string) int {
	for i := 0; i < len(s); i++ {
		switch {
		case strings.HasPrefix(s[i:], "{}"):
			i++
		case strings.IndexByte("*?[{", s[i]) >= 0:
			return i
		}
	}
	return -1
}

// programName returns the name of a program without its directory, in lower case.
func programName(word string) string {
	return strings.TrimSuffix(strings.ToLower(filepath.Base(filepath.ToSlash(word))), ".exe")
}

func set(names ...string) map[string]bool {
	m := make(map[string]bool, len(names))
	for _, n := range names {
		m[n] = true
	}
	return m
}
