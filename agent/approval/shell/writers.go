package shell

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/internal/lazyregexp"
)

// links reports whether a program makes links to its first arguments.
func links(name string, args []Arg) bool {
	return name == "ln" || name == "link" || name == "cp" && slices.ContainsFunc(args, func(arg Arg) bool {
		return shortOption(arg.Text, "abdfiHLnPpRruvxT", 's') || shortOption(arg.Text, "abdfiHLnPpRruvxT", 'l') ||
			abbreviates(arg.Text, "--symbolic-link", 4) || abbreviates(arg.Text, "--link", 4)
	})
}

// valueOptions are options of programs that take the next word, and may stand behind the file that is written.
var valueOptions = map[string]map[string]bool{
	"cp": set("-S", "--suffix"), "mv": set("-S", "--suffix"), "ln": set("-S", "--suffix"),
	"install": set("-S", "--suffix", "-m", "--mode", "-o", "--owner", "-g", "--group"),
	"split":   set("-a", "--suffix-length", "-b", "--bytes", "-C", "--line-bytes", "-l", "--lines", "-n", "--number", "-t", "--separator", "--additional-suffix"),
	"rsync":   set("--exclude", "--include", "--exclude-from", "--include-from", "--files-from", "-f", "--filter", "-e", "--rsh", "-B", "-T", "--max-size", "--min-size", "--timeout", "--bwlimit", "--chmod"),
	"scp":     set("-P", "-i", "-o", "-F", "-l", "-c", "-J"),
}

// withoutValues are arguments without the options that take a value in the next word, and without these.
func withoutValues(name string, args []Arg) []Arg {
	var out []Arg
	for i := 0; i < len(args); i++ {
		if valueOptions[name][args[i].Text] {
			i++
			continue
		}
		out = append(out, args[i])
	}
	return out
}

// writer looks at a program that changes the files in its arguments.
func (a *analysis) writer(name, what string, args []Arg) {
	paths := plainArgs(args)
	for _, arg := range args {
		if _, to, ok := strings.Cut(arg.Text, "="); ok && abbreviates(arg.Text, "--target-directory", 4) {
			a.target(to, arg.Known)
		} else if (name == "cp" || name == "mv" || name == "ln" || name == "install") && strings.HasPrefix(arg.Text, "-t") && len(arg.Text) > 2 {
			a.target(arg.Text[2:], arg.Known)
		}
	}
	for i, arg := range args {
		if (arg.Text == "-t" || arg.Text == "--target-directory") && i+1 < len(args) && (name == "cp" || name == "mv" || name == "ln" || name == "install") {
			a.target(args[i+1].Text, args[i+1].Known)
		}
	}
	if links(name, args) && len(paths) > 0 { // what is written behind the link, is written where it leads
		sources := paths
		if len(paths) > 1 {
			sources = paths[:len(paths)-1]
		}
		for _, from := range sources {
			if !from.Known {
				a.risk("it makes a link to what only the shell knows")
				continue
			}
			for _, p := range a.places(from.Text) {
				if why := a.paths.Protected(p); why != "" {
					a.risk("it makes a link to %s (%s)", show(p), why)
				} else if a.paths.Outside(p) {
					a.risk("it makes a link to %s, outside the workspace", show(p))
				}
			}
		}
	}
	switch {
	case what == "none" || len(paths) == 0:
		return
	case what == "second":
		if len(paths) < 2 {
			return
		}
		paths = paths[1:2]
	case what == "first":
		paths = paths[:1]
	case what == "last":
		if len(paths) == 1 && name == "ln" {
			return // a link in the directory
		}
		if name == "install" && slices.ContainsFunc(args, func(arg Arg) bool { return shortOption(arg.Text, "vbcCDpsT", 'd') || arg.Text == "--directory" }) {
			break // all are directories
		}
		last := paths[len(paths)-1:]
		if operands := plainArgs(withoutValues(name, args)); len(operands) > 0 && len(operands) < len(paths) {
			// What looks last may be an option's value.
			last = append(last[:1:1], operands[len(operands)-1])
		}
		paths = last
	case what == "behind first":
		if mode := strings.TrimLeft(paths[0].Text, "0"); name == "chmod" && (strings.Contains(mode, "s") && strings.ContainsAny(mode, "+=") || setsRights().MatchString(mode)) {
			a.risk("it lets others run a program with the user's rights")
		}
		paths = paths[1:]
	}
	for _, arg := range paths {
		switch {
		case arg.Known:
			if strings.Contains(arg.Text, ":") && (name == "scp" || name == "rsync") && !filepath.IsAbs(arg.Text) {
				continue // on another host
			}
			a.writes(arg.Text)
		case name == "rm" || name == "shred" || name == "unlink" || name == "srm":
			if arg.glob {
				a.globWrites(arg)
			} else {
				a.risk("it removes files that only the shell knows")
			}
		case arg.glob && arg.Text != "" && !strings.HasPrefix(arg.Text[strings.LastIndexByte(arg.Text, '/')+1:], "."):
			a.writes(begun(arg.Text))
		default:
			a.risk("it changes a file that only the shell knows")
		}
	}
}

// setsRights are modes of files in digits that set the user or the group.
var setsRights = lazyregexp.New(`^[2-7][0-7]{3}$`)

// begun is the directory that a word with a glob leads into.
func begun(text string) string {
	if i := strings.LastIndexByte(text, '/'); i > 0 {
		return text[:i]
	} else if i == 0 {
		return "/"
	}
	return "."
}
