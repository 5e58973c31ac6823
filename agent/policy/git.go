package policy

import "strings"

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
func (a *analysis) git(args []arg) {
	harmless := harmlessSetting
	sub := ""
	for i := 0; i < len(args); i++ {
		t := args[i].text
		if !args[i].known && t == "" && sub == "" {
			a.risk("it gives git options that only the shell knows")
			return
		}
		switch {
		case strings.HasPrefix(t, "ext::") || strings.HasPrefix(t, "--upload-pack") || strings.HasPrefix(t, "--receive-pack") ||
			strings.HasPrefix(t, "--exec=") || strings.HasPrefix(t, "--exec-path=") || t == "--ext-diff" || strings.HasPrefix(t, "--open-files-in-pager") ||
			strings.HasPrefix(t, "--config-env") || strings.HasPrefix(t, "--extcmd") || strings.HasPrefix(t, "--template"):
			a.risk("it runs a program by an option of git (%s)", Show(t))
		case strings.HasPrefix(t, "--output="):
			a.target(strings.TrimPrefix(t, "--output="), args[i].known)
		case strings.HasPrefix(t, "-O") && sub == "grep":
			a.risk("it runs a program by an option of git (%s)", Show(t))
		case sub == "" && (t == "-c" || t == "--git-dir" || t == "--work-tree" || t == "-C"):
			if i++; i >= len(args) {
				return
			}
			switch {
			case t == "-c" && !harmless(args[i].text):
				a.risk("it gives git a setting by which it can run programs (%s)", Show(args[i].text))
			case t == "-C":
				a.outsideRepository(args[i])
			case t != "-c":
				a.outsideRepository(args[i])
			}
		case sub == "" && strings.HasPrefix(t, "-c") && len(t) > 2:
			if !harmless(t[2:]) {
				a.risk("it gives git a setting by which it can run programs (%s)", Show(t[2:]))
			}
		case sub == "" && (strings.HasPrefix(t, "--git-dir=") || strings.HasPrefix(t, "--work-tree=")):
			_, dir, _ := strings.Cut(t, "=")
			a.outsideRepository(arg{text: dir, known: args[i].known})
		case sub == "" && !strings.HasPrefix(t, "-"):
			sub = t
			rest := args[i+1:]
			switch sub {
			case "config":
				a.gitConfig(rest, harmless)
			case "bisect":
				if len(rest) > 0 && rest[0].text == "run" {
					a.command(rest[1:], false, nil)
				}
			case "submodule":
				if len(plainArgs(rest)) > 1 && plainArgs(rest)[0].text == "foreach" {
					a.nested(plainArgs(rest)[1:])
				}
			case "filter-branch", "difftool", "mergetool":
				a.risk("it has git run other programs (%s)", sub)
			case "rebase":
				for j, r := range rest {
					if (r.text == "-x" || r.text == "--exec") && j+1 < len(rest) {
						a.nested(rest[j+1 : j+2])
					}
				}
			}
		}
	}
}

// nested looks at arguments that are put together to a line for a shell.
func (a *analysis) nested(args []arg) {
	var words []string
	for _, arg := range args {
		if !arg.known {
			a.risk("it runs text that only the shell knows")
			return
		}
		words = append(words, arg.text)
	}
	a.line(strings.Join(words, " "))
}

// outsideRepository looks at the directory that git is to work in: what is configured there is run.
func (a *analysis) outsideRepository(dir arg) {
	if !dir.known {
		a.risk("it has git work in a directory that only the shell knows")
		return
	}
	for _, p := range a.places(dir.text) {
		if a.paths.Outside(p) {
			a.risk("it has git work in %s, outside the workspace", Show(p))
			return
		}
	}
}

// gitConfig looks at git config: reading is harmless, and so are some settings.
func (a *analysis) gitConfig(args []arg, harmless func(string) bool) {
	plain := plainArgs(args)
	for _, arg := range args {
		switch arg.text {
		case "--get", "--get-all", "--get-regexp", "--list", "-l", "--get-urlmatch", "get", "list":
			return
		case "--global", "--system":
			if len(plain) > 1 {
				a.risk("it changes git's settings for all repositories")
				return
			}
		case "--edit", "-e", "--file", "-f":
			a.risk("it changes git's settings")
			return
		}
	}
	if len(plain) > 0 && (plain[0].text == "set" || plain[0].text == "--add") {
		plain = plain[1:]
	}
	if len(plain) > 1 && (!plain[0].known || !harmless(plain[0].text+"="+plain[1].text)) {
		a.risk("it changes a setting of git by which it can run programs (%s)", Show(plain[0].text))
	}
}
