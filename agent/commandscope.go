package agent

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// commandScope is what an "always" answer to a command covers: a program, with its subcommand where it has such,
// or, for a line that cannot be read that way, the line itself.
type commandScope struct {
	text  string
	whole bool
}

// withSubcommand are programs whose first word behind the name says what they do.
var withSubcommand = map[string]bool{
	"apt": true, "apt-get": true, "brew": true, "bun": true, "bundle": true, "cargo": true, "composer": true, "deno": true,
	"docker": true, "dotnet": true, "gh": true, "git": true, "go": true, "gradle": true, "helm": true, "just": true,
	"kubectl": true, "make": true, "mix": true, "mvn": true, "npm": true, "npx": true, "pip": true, "pip3": true,
	"pnpm": true, "podman": true, "poetry": true, "rails": true, "rake": true, "rustup": true, "systemctl": true,
	"task": true, "terraform": true, "uv": true, "yarn": true, "zig": true,
}

// runsOthers are programs that run what their arguments say, and shells: to allow one by name would allow all. The
// number of a version behind a name does not count.
var runsOthers = map[string]bool{
	"sh": true, "bash": true, "zsh": true, "dash": true, "fish": true, "ksh": true, "csh": true, "tcsh": true, "ash": true,
	"pwsh": true, "powershell": true, "cmd": true, "eval": true, "exec": true, "source": true, ".": true, "alias": true,
	"hash": true, "command": true, "builtin": true, "trap": true, "noglob": true, "nocorrect": true, "-": true,
	"env": true, "sudo": true, "doas": true, "su": true, "runuser": true, "chroot": true, "unshare": true, "nsenter": true,
	"xargs": true, "parallel": true, "nohup": true, "time": true, "timeout": true, "nice": true, "ionice": true,
	"taskset": true, "setsid": true, "stdbuf": true, "flock": true, "watch": true, "entr": true, "script": true,
	"strace": true, "ltrace": true, "gdb": true, "lldb": true, "busybox": true, "toybox": true, "tmux": true, "screen": true,
	"ssh": true, "rsync": true, "at": true, "batch": true, "crontab": true, "direnv": true, "nix": true, "nix-shell": true,
	"python": true, "pypy": true, "ipython": true, "node": true, "nodejs": true, "tsx": true, "ts-node": true, "perl": true,
	"ruby": true, "php": true, "lua": true, "tclsh": true, "expect": true, "osascript": true, "awk": true, "gawk": true,
	"mawk": true, "nawk": true, "sed": true, "gsed": true, "ed": true, "ex": true, "vi": true, "vim": true, "nvim": true,
	"emacs": true, "find": true, "fd": true, "fdfind": true, "tar": true,
}

// subcommandRunsOthers are the same, one word further in.
var subcommandRunsOthers = map[string]bool{
	"bun x": true, "bun exec": true, "bun run": true, "bundle exec": true, "cargo run": true, "composer exec": true,
	"deno eval": true, "deno run": true, "docker exec": true, "docker run": true, "git bisect": true,
	"git difftool": true, "git filter-branch": true, "git mergetool": true, "git rebase": true, "git submodule": true,
	"go run": true, "go tool": true, "kubectl exec": true, "kubectl run": true, "mix run": true, "npm exec": true, "npm x": true,
	"pnpm dlx": true, "pnpm exec": true, "podman exec": true, "podman run": true, "poetry run": true, "rails runner": true,
	"uv run": true, "uv tool": true, "yarn dlx": true, "yarn exec": true,
}

// commandScopes parses line as shell and returns the scope of each simple command in it. A line that is not plain
// (substitutions, redirections into files, assignments, functions, programs that run others) is one scope of its
// own, because a program's name does not tell what it would do.
func commandScopes(line string) []commandScope {
	exact := wholeLine(line)
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(line), "")
	if err != nil {
		return exact
	}
	var scopes []commandScope
	for _, stmt := range file.Stmts {
		var ok bool
		if scopes, ok = addScopes(scopes, stmt); !ok {
			return exact
		}
	}
	if len(scopes) == 0 {
		return exact
	}
	return scopes
}

func wholeLine(line string) []commandScope {
	return []commandScope{{text: strings.TrimSpace(line), whole: true}}
}

func addScopes(scopes []commandScope, stmt *syntax.Stmt) ([]commandScope, bool) {
	for _, r := range stmt.Redirs {
		if !harmless(r) {
			return nil, false
		}
	}
	switch cmd := stmt.Cmd.(type) {
	case *syntax.BinaryCmd: // &&, ||, |
		scopes, ok := addScopes(scopes, cmd.X)
		if !ok {
			return nil, false
		}
		return addScopes(scopes, cmd.Y)
	case *syntax.CallExpr:
		if len(cmd.Assigns) > 0 || len(cmd.Args) == 0 {
			return nil, false
		}
		var words []string
		for _, w := range cmd.Args {
			if !plain(w) {
				return nil, false
			}
			words = append(words, w.Lit())
		}
		name, base := words[0], programName(words[0])
		if !plainName(name) || runsOthers[base] || runsOthers[strings.TrimRight(base, "0123456789.")] {
			return nil, false
		}
		if withSubcommand[base] && len(words) > 1 {
			// No flag: "git -c alias.x=!sh x".
			if !plainName(words[1]) || strings.HasPrefix(words[1], "-") || subcommandRunsOthers[base+" "+words[1]] {
				return nil, false
			}
			name += " " + words[1]
		}
		if s := (commandScope{text: name}); !slices.Contains(scopes, s) {
			scopes = append(scopes, s)
		}
		return scopes, true
	default:
		return nil, false
	}
}

// programName is what a program is called without its place. Some file systems do not tell "SH" from "sh".
func programName(name string) string {
	return strings.ToLower(name[strings.LastIndexByte(name, '/')+1:])
}

// plainName reports whether every shell reads s as it stands there: without quotes, globs, braces and backslashes.
func plainName(s string) bool {
	for _, r := range s {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', strings.ContainsRune("/._-+~@:,", r):
		default:
			return false
		}
	}
	return s != ""
}

// harmless reports whether a redirection writes nothing: 2>&1, < file, > /dev/null.
func harmless(r *syntax.Redirect) bool {
	switch r.Op {
	case syntax.DplOut, syntax.DplIn:
		// With a name in place of the number, ">&" writes to a file.
		return r.Word.Lit() == "-" || r.Word.Lit() != "" && strings.Trim(r.Word.Lit(), "0123456789") == ""
	case syntax.RdrIn:
		return plain(r.Word)
	case syntax.RdrOut, syntax.AppOut, syntax.RdrAll, syntax.AppAll:
		return r.Word.Lit() == "/dev/null"
	default:
		return false
	}
}

// plain reports whether a word holds nothing that a shell would run, and nothing that one shell reads as bash does and
// another differently: dash does not know $'…', and a glob's parentheses can hold commands in zsh.
func plain(w *syntax.Word) bool {
	ok := true
	syntax.Walk(w, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst, *syntax.ProcSubst, *syntax.ArithmExp, *syntax.ExtGlob:
			ok = false
		case *syntax.SglQuoted:
			ok = ok && !n.Dollar
		case *syntax.DblQuoted:
			ok = ok && !n.Dollar
		case *syntax.ParamExp:
			ok = ok && onlyName(n)
		}
		return ok
	})
	return ok
}

// onlyName reports whether a parameter is only named: an operator or an index can make a shell run what the value says.
func onlyName(p *syntax.ParamExp) bool {
	return p.Param != nil && !p.Excl && !p.Length && !p.Width && p.Index == nil && p.Slice == nil && p.Repl == nil &&
		p.Names == 0 && p.Exp == nil
}
