package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Arg is a word as programs get it, as far as that is known before the shell runs.
type Arg struct {
	// Text is the word; where it is not known, what it is known to begin with.
	Text string
	// Known is false for a word with a substitution, a variable other than HOME and PWD, a glob or braces.
	Known bool
	// glob says that it stands for files whose paths begin with text; pattern is the whole of it, where it is one literal.
	glob    bool
	pattern string
}

// word returns what is known of a word.
func (a *analysis) word(w *syntax.Word) Arg {
	e := expansion{a: a, arg: Arg{Known: true}}
	e.parts(w.Parts, false)
	e.arg.Text = e.text.String()
	if lit := w.Lit(); lit != "" && e.arg.glob {
		e.arg.pattern = lit
	}
	// What has no end, and braces with nothing in them, stand for themselves: "[" is a program, "{}" what find puts in.
	if lit := w.Lit(); !e.arg.Known && (lit == "[" || lit == "[[" || lit == "{}" || lit == "{") {
		return Arg{Text: lit, Known: true}
	}
	return e.arg
}

// document returns what is known of the text that a command is given in the line.
func (a *analysis) document(w *syntax.Word) Arg {
	e := expansion{a: a, arg: Arg{Known: true}}
	e.parts(w.Parts, true)
	e.arg.Text = e.text.String()
	return e.arg
}

// expansion is a word that is being put together.
type expansion struct {
	a    *analysis
	arg  Arg
	text strings.Builder
}

func (e *expansion) parts(parts []syntax.WordPart, quoted bool) {
	for i, p := range parts {
		if !e.arg.Known {
			e.arg.glob = false // more comes behind it
			return
		}
		switch p := p.(type) {
		case *syntax.Lit:
			e.literal(p.Value, quoted, i == 0 && !quoted && e.text.Len() == 0)
		case *syntax.SglQuoted:
			if e.arg.Known = !p.Dollar || !strings.ContainsRune(p.Value, '\\'); e.arg.Known {
				e.text.WriteString(p.Value)
			}
		case *syntax.DblQuoted:
			e.parts(p.Parts, true)
		case *syntax.ParamExp:
			switch a := e.a; {
			case p.Param == nil || !onlyName(p):
				e.arg.Known = false
			case p.Param.Value == "HOME" && a.paths.Home != "":
				e.text.WriteString(a.paths.Home)
			case p.Param.Value == "PWD" && len(a.dirs) == 1 && !a.unknown:
				e.text.WriteString(a.dirs[0])
			default:
				e.arg.Known = false
			}
		default:
			e.arg.Known = false
		}
	}
}

func (e *expansion) literal(s string, quoted, first bool) {
	if home := e.a.paths.Home; first && home != "" && (s == "~" || strings.HasPrefix(s, "~/")) {
		s = home + s[1:]
	} else if first && strings.HasPrefix(s, "~") && s != "~" && !strings.HasPrefix(s, "~/") {
		e.arg.Known = false // another user's home, or a directory of the shell's
		return
	}
	if at := special(s); at >= 0 && !quoted {
		e.arg.Known = false
		e.arg.glob = s[at] != '{' && !strings.Contains(s[at:], "..")
		s = s[:at]
	}
	e.text.WriteString(unescape(s, quoted))
}

// special is where a glob or braces begin in a literal, or -1. Braces with nothing in them stand for themselves.
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

// onlyName reports whether a parameter is only named.
func onlyName(p *syntax.ParamExp) bool {
	return !p.Excl && !p.Length && !p.Width && p.Index == nil && p.Slice == nil && p.Repl == nil && p.Names == 0 && p.Exp == nil
}

// unescape takes the backslashes out of a literal.
func unescape(s string, quoted bool) string {
	if !strings.ContainsRune(s, '\\') {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && (!quoted || strings.IndexByte("$`\"\\\n", s[i+1]) >= 0) {
			if i++; s[i] == '\n' {
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
