package shell

import (
	"slices"
	"strings"

	"github.com/gajae-code/gjc/internal/lazyregexp"
)

// interpreter looks at a shell or an interpreter: what it is given as text is looked at, or is a risk.
func (a *analysis) interpreter(name string, args []Arg, piped bool, document *Arg) {
	if name == "busybox" {
		if at := slices.IndexFunc(args, func(arg Arg) bool { return !arg.Known || !strings.HasPrefix(arg.Text, "-") }); at >= 0 {
			a.command(args[at:], piped, document)
		}
		return
	}
	if shells[name] {
		a.shell(name, args, false, piped, document)
		if slices.ContainsFunc(args, func(arg Arg) bool { return bundledValue().MatchString(arg.Text) }) {
			a.shell(name, args, true, piped, document)
		}
		return
	}
	for _, arg := range args {
		switch {
		case !arg.Known && arg.Text == "":
			a.risk("it has %s run what only the shell knows", name)
			return
		case arg.Text == "-" || arg.Text == "-s":
			a.fed(name, piped, document)
			return
		case a.opened(name, arg, piped, document):
			return
		case strings.HasPrefix(arg.Text, "-"):
			if arg.Text == "-c" || arg.Text == "-e" || arg.Text == "-m" || strings.HasPrefix(arg.Text, "--eval") || arg.Text == "-r" {
				return // a program in another language: the sandbox's matter
			}
		default:
			return // a file
		}
	}
	a.fed(name, piped, document)
}

// bundledValue is a bundle of a shell's options in which letters come behind one with a value: to bash they are more options, to zsh
// the value.
var bundledValue = lazyregexp.New(`^[-+][a-zA-Z]*[oO][a-zA-Z]`)

// shell looks at the arguments of a shell, letter by letter: each o and O takes a word of its own, and the text of -c is the first word
// behind all options, wherever its letter stands. attached says that an o takes what is behind it in its word.
func (a *analysis) shell(name string, args []Arg, attached, piped bool, document *Arg) {
	text, input := false, false
	at := 0
	for ended := false; at < len(args) && !ended; {
		arg := args[at]
		if !arg.Known && (arg.Text == "" || strings.HasPrefix(arg.Text, "-") || strings.HasPrefix(arg.Text, "+")) {
			a.risk("it has %s run what only the shell knows", name)
			return
		}
		switch t := arg.Text; {
		case t == "-" || t == "--":
			ended = true
			at++
		case t == "--rcfile" || t == "--init-file" || t == "--emulate":
			at += 2
		case name == "fish" && (t == "--command" || t == "--init-command"):
			text = true
			at++
		case strings.HasPrefix(t, "--"):
			at++
		case strings.HasPrefix(t, "-") || strings.HasPrefix(t, "+"):
			at++
			for i, letter := range t[1:] {
				switch letter {
				case 'c':
					text = text || t[0] == '-'
				case 's':
					input = true
				case 'o', 'O':
					if attached && i+2 < len(t) {
						letter = 0
					} else {
						at++
					}
				}
				if letter == 0 {
					break
				}
			}
		default:
			ended = true
		}
	}
	switch {
	case at >= len(args) && !text, input && !text:
		a.fed(name, piped, document)
	case at >= len(args):
	case text && args[at].Known:
		a.line(args[at].Text)
	case text:
		a.risk("it has a shell run text that only the shell knows")
	case !args[at].Known && args[at].Text == "":
		a.risk("it has %s run what only the shell knows", name)
	default:
		a.opened(name, args[at], piped, document)
	}
}

// input is what a program's own input is called as a file; others are files that are open already.
var input, others = lazyregexp.New(`^/+dev/+(stdin|fd/+0)$|^/+proc/+(self|thread-self)/+fd/+0$`), lazyregexp.New(`^/+dev/+fd/|^/+proc/.*/fd/`)

// opened looks at a program's name that is a file which the shell, or the system, has opened.
func (a *analysis) opened(name string, file Arg, piped bool, document *Arg) bool {
	switch {
	case file.Known && input().MatchString(file.Text):
		a.fed(name, piped, document)
	case others().MatchString(file.Text), !file.Known && strings.HasPrefix(file.Text, "/proc/"):
		a.risk("it has %s run what only the shell knows", name)
	default:
		return false
	}
	return true
}

// fed looks at an interpreter that reads its program from another command or from a document in the line.
func (a *analysis) fed(name string, piped bool, document *Arg) {
	switch {
	case !piped:
	case document == nil:
		a.risk("it has %s run the output of another command", name)
	case !document.Known:
		a.risk("it has %s run what only the shell knows", name)
	case shells[name], name == "source", name == ".":
		a.line(document.Text)
	}
}
