package policy

import (
	"slices"
	"strings"

	"github.com/gajae-code/gjc/internal/lazyregexp"
)

// interpreter looks at a shell or an interpreter: what it is given as text is looked at, or is a risk.
func (a *analysis) interpreter(name string, args []arg, piped bool, document *arg) {
	if name == "busybox" {
		if at := slices.IndexFunc(args, func(arg arg) bool { return !arg.known || !strings.HasPrefix(arg.text, "-") }); at >= 0 {
			a.command(args[at:], piped, document)
		}
		return
	}
	if shells[name] {
		a.shell(name, args, false, piped, document)
		if slices.ContainsFunc(args, func(arg arg) bool { return bundledValue().MatchString(arg.text) }) {
			a.shell(name, args, true, piped, document)
		}
		return
	}
	for _, arg := range args {
		switch {
		case !arg.known && arg.text == "":
			a.risk("it has %s run what only the shell knows", name)
			return
		case arg.text == "-" || arg.text == "-s":
			a.fed(name, piped, document)
			return
		case a.opened(name, arg, piped, document):
			return
		case strings.HasPrefix(arg.text, "-"):
			if arg.text == "-c" || arg.text == "-e" || arg.text == "-m" || strings.HasPrefix(arg.text, "--eval") || arg.text == "-r" {
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
func (a *analysis) shell(name string, args []arg, attached, piped bool, document *arg) {
	text, input := false, false
	at := 0
	for ended := false; at < len(args) && !ended; {
		arg := args[at]
		if !arg.known && (arg.text == "" || strings.HasPrefix(arg.text, "-") || strings.HasPrefix(arg.text, "+")) {
			a.risk("it has %s run what only the shell knows", name)
			return
		}
		switch t := arg.text; {
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
	case text && args[at].known:
		a.line(args[at].text)
	case text:
		a.risk("it has a shell run text that only the shell knows")
	case !args[at].known && args[at].text == "":
		a.risk("it has %s run what only the shell knows", name)
	default:
		a.opened(name, args[at], piped, document)
	}
}

// input is what a program's own input is called as a file; others are files that are open already.
var input, others = lazyregexp.New(`^/+dev/+(stdin|fd/+0)$|^/+proc/+(self|thread-self)/+fd/+0$`), lazyregexp.New(`^/+dev/+fd/|^/+proc/.*/fd/`)

// opened looks at a program's name that is a file which the shell, or the system, has opened.
func (a *analysis) opened(name string, file arg, piped bool, document *arg) bool {
	switch {
	case file.known && input().MatchString(file.text):
		a.fed(name, piped, document)
	case others().MatchString(file.text), !file.known && strings.HasPrefix(file.text, "/proc/"):
		a.risk("it has %s run what only the shell knows", name)
	default:
		return false
	}
	return true
}

// fed looks at an interpreter that reads its program from another command or from a document in the line.
func (a *analysis) fed(name string, piped bool, document *arg) {
	switch {
	case !piped:
	case document == nil:
		a.risk("it has %s run the output of another command", name)
	case !document.known:
		a.risk("it has %s run what only the shell knows", name)
	case shells[name], name == "source", name == ".":
		a.line(document.text)
	}
}
