package shell

import (
	"slices"
	"strings"
)

// harmlessKeys begin the names of settings of git that run nothing.
var harmlessKeys = []string{
	"user.", "color.", "advice.", "init.defaultbranch", "log.", "core.quotepath", "core.autocrlf", "core.abbrev", "core.pager=cat",
	"commit.gpgsign=false", "tag.gpgsign=false", "status.", "column.", "diff.renames", "diff.algorithm", "pull.", "push.default", "merge.conflictstyle", "rerere.",
	"fetch.", "gc.", "http.postbuffer", "http.version",
}

// harmlessSetting reports whether a setting, as key=value, runs nothing.
func harmlessSetting(setting string) bool {
	setting = strings.ToLower(setting)
	key, _, _ := strings.Cut(setting, "=")
	for _, harmless := range harmlessKeys {
		switch {
		case strings.Contains(harmless, "="):
			if setting == harmless {
				return true
			}
		case key == harmless || strings.HasSuffix(harmless, ".") && strings.HasPrefix(key, harmless) && !strings.Contains(key, "hook") && !strings.Contains(key, "command"):
			return true
		}
	}
	return false
}

// git looks at git, many of whose options run programs.
func (a *analysis) git(args []Arg) {
	harmless := harmlessSetting
	sub := ""
	for i := 0; i < len(args); i++ {
		t := args[i].Text
		if !args[i].Known && t == "" && sub == "" {
			a.risk("it gives git options that only the shell knows")
			return
		}
		switch {
		case sub == "" && (t == "--namespace" || t == "--super-prefix" || t == "--attr-source"):
			i++
		case strings.HasPrefix(t, "ext::") || runsByOption(t, sub):
			a.risk("it runs a program by an option of git (%s)", show(t))
		case abbreviates(t, "--output", 4) && sub != "grep" && t != "--out", abbreviates(t, "--output-directory", 10),
			t == "-o" && (sub == "archive" || sub == "format-patch" || sub == "bugreport" || sub == "diagnose"), abbreviates(t, "--separate-git-dir", 5):
			if _, to, ok := strings.Cut(t, "="); ok {
				a.target(to, args[i].Known)
			} else if i+1 < len(args) {
				a.target(args[i+1].Text, args[i+1].Known)
			}
		case sub == "clone" && (t == "-c" || t == "--config") && i+1 < len(args):
			if i++; !args[i].Known || !harmless(args[i].Text) {
				a.risk("it gives git a setting by which it can run programs (%s)", show(args[i].Text))
			}
		case sub == "clone" && strings.HasPrefix(t, "--config=") && !harmless(strings.TrimPrefix(t, "--config=")):
			a.risk("it gives git a setting by which it can run programs (%s)", show(t))
		case sub == "clone" && (t == "-u" || strings.HasPrefix(t, "-u")), sub == "send-email" && strings.HasPrefix(t, "--s"), sub == "rebase" && strings.HasPrefix(t, "-x") && len(t) > 2:
			a.risk("it runs a program by an option of git (%s)", show(t))
		case sub == "grep" && bundled(t, 'O', "efABCm"):
			a.risk("it runs a program by an option of git (%s)", show(t))
		case strings.HasPrefix(t, "-o") && (sub == "archive" || sub == "format-patch"):
			a.target(t[2:], args[i].Known)
		case sub == "" && (t == "-c" || t == "--git-dir" || t == "--work-tree" || t == "-C"):
			if i++; i >= len(args) {
				return
			}
			switch {
			case t == "-c" && !harmless(args[i].Text):
				a.risk("it gives git a setting by which it can run programs (%s)", show(args[i].Text))
			case t == "-C":
				a.outsideRepository(args[i])
			case t != "-c":
				a.outsideRepository(args[i])
			}
		case sub == "" && strings.HasPrefix(t, "-c") && len(t) > 2:
			if !harmless(t[2:]) {
				a.risk("it gives git a setting by which it can run programs (%s)", show(t[2:]))
			}
		case sub == "" && (strings.HasPrefix(t, "--git-dir=") || strings.HasPrefix(t, "--work-tree=")):
			_, dir, _ := strings.Cut(t, "=")
			a.outsideRepository(Arg{Text: dir, Known: args[i].Known})
		case sub == "" && !strings.HasPrefix(t, "-"):
			sub = t
			rest := args[i+1:]
			switch sub {
			case "init":
				for _, dir := range plainArgs(rest) {
					a.target(dir.Text, dir.Known)
				}
			case "clone":
				if plain := plainArgs(rest); len(plain) > 1 {
					a.target(plain[len(plain)-1].Text, plain[len(plain)-1].Known)
				}
			case "worktree":
				if plain := plainArgs(rest); len(plain) > 1 && (plain[0].Text == "add" || plain[0].Text == "move") {
					for _, dir := range plain[1:] { // a branch is a name in the workspace
						a.target(dir.Text, dir.Known || dir.Text == "")
					}
				}
			case "mv":
				for _, file := range plainArgs(rest) {
					if file.Known {
						a.writes(file.Text)
					}
				}
			case "checkout-index":
				for j, r := range rest {
					if to, ok := strings.CutPrefix(r.Text, "--prefix="); ok {
						a.target(to, r.Known)
					} else if r.Text == "--prefix" && j+1 < len(rest) {
						a.target(rest[j+1].Text, rest[j+1].Known)
					}
				}
			case "bundle":
				if plain := plainArgs(rest); len(plain) > 1 && plain[0].Text == "create" {
					a.target(plain[1].Text, plain[1].Known)
				}
			case "merge-file":
				if plain := plainArgs(rest); len(plain) > 0 {
					a.target(plain[0].Text, plain[0].Known)
				}
			case "interpret-trailers":
				if slices.ContainsFunc(rest, func(r Arg) bool { return abbreviates(r.Text, "--in-place", 4) }) {
					for _, file := range plainArgs(rest) {
						a.target(file.Text, file.Known)
					}
				}
			case "maintenance":
				if plain := plainArgs(rest); len(plain) > 0 && (plain[0].Text == "start" || plain[0].Text == "register") {
					a.risk("it changes git's settings for all repositories")
				}
			case "checkout", "restore":
				if at := slices.IndexFunc(rest, func(r Arg) bool { return r.Text == "--" }); at >= 0 {
					for _, file := range rest[at+1:] {
						if file.Known && file.Text != "." {
							a.writes(file.Text)
						}
					}
				}
			case "hook":
				a.risk("it has git run other programs (%s)", sub)
			case "config":
				a.gitConfig(rest, harmless)
			case "bisect":
				if len(rest) > 0 && rest[0].Text == "run" {
					a.command(rest[1:], false, nil)
				}
			case "submodule":
				if len(plainArgs(rest)) > 1 && plainArgs(rest)[0].Text == "foreach" {
					a.nested(plainArgs(rest)[1:])
				}
			case "filter-branch", "difftool", "mergetool":
				a.risk("it has git run other programs (%s)", sub)
			case "rebase":
				for j, r := range rest {
					if _, line, ok := strings.Cut(r.Text, "="); ok && abbreviates(r.Text, "--exec", 3) {
						a.nested([]Arg{{Text: line, Known: r.Known}})
					} else if (strings.HasSuffix(r.Text, "x") && bundled(r.Text, 'x', "sXC") || abbreviates(r.Text, "--exec", 3)) && j+1 < len(rest) {
						a.nested(rest[j+1 : j+2])
					}
				}
			}
		}
	}
}

// gitRuns are options of git by which it runs programs, with how much of a name git takes for them.
var gitRuns = map[string]int{
	"--upload-pack": 4, "--receive-pack": 5, "--ext-diff": 5, "--open-files-in-pager": 4, "--config-env": 9, "--extcmd": 5, "--template": 4,
}

func runsByOption(text, sub string) bool {
	for option, least := range gitRuns {
		if abbreviates(text, option, least) {
			return true
		}
	}
	return strings.HasPrefix(text, "--exec-path=") || (sub == "push" || sub == "archive" || sub == "ls-remote" || sub == "fetch-pack") && abbreviates(text, "--exec", 4) ||
		strings.HasPrefix(text, "--exec=")
}

// abbreviates reports whether a word is a long option, with a value or without, or an abbreviation of it of least characters.
func abbreviates(text, option string, least int) bool {
	name, _, _ := strings.Cut(text, "=")
	return len(name) >= least && strings.HasPrefix(option, name)
}

// nested looks at arguments that are put together to a line for a shell.
func (a *analysis) nested(args []Arg) {
	var words []string
	for _, arg := range args {
		if !arg.Known {
			a.risk("it runs text that only the shell knows")
			return
		}
		words = append(words, arg.Text)
	}
	a.line(strings.Join(words, " "))
}

// outsideRepository looks at the directory that git is to work in: what is configured there is run.
func (a *analysis) outsideRepository(dir Arg) {
	if !dir.Known {
		a.risk("it has git work in a directory that only the shell knows")
		return
	}
	for _, p := range a.places(dir.Text) {
		if a.paths.Outside(p) {
			a.risk("it has git work in %s, outside the workspace", show(p))
			return
		}
	}
}

// gitConfig looks at git config: reading is harmless, and so are some settings.
func (a *analysis) gitConfig(args []Arg, harmless func(string) bool) {
	plain := plainArgs(args)
	elsewhere := false
	for _, arg := range args {
		if arg.Text == "get" || arg.Text == "list" {
			if len(plain) > 0 && plain[0].Text == arg.Text && plain[0].Known {
				return
			}
			continue
		}
		switch arg.Text {
		case "--get", "--get-all", "--get-regexp", "--list", "-l", "--get-urlmatch":
			return
		case "--global", "--system":
			if len(plain) > 1 {
				a.risk("it changes git's settings for all repositories")
				return
			}
		case "--edit", "-e", "--file", "-f", "--rename-section":
			a.risk("it changes git's settings")
			return
		}
		elsewhere = elsewhere || strings.HasPrefix(arg.Text, "-f") || strings.HasPrefix(arg.Text, "--file=")
	}
	if elsewhere || len(plain) > 0 && plain[0].Text == "rename-section" || len(args) == 1 && !args[0].Known && args[0].Text == "" {
		a.risk("it changes git's settings")
		return
	}
	if len(plain) > 0 && (plain[0].Text == "set" || plain[0].Text == "--add") {
		plain = plain[1:]
	}
	if len(plain) > 1 && (!plain[0].Known || !harmless(plain[0].Text+"="+plain[1].Text)) {
		a.risk("it changes a setting of git by which it can run programs (%s)", show(plain[0].Text))
	}
}
