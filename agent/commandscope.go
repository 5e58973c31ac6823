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

// runsOthers are programs that run what their arguments say, and shells: to allow one by name would allow all.
var runsOthers = map[string]bool{
	"sh": true, "bash": true, "zsh": true, "dash": true, "fish": true, "ksh": true, "eval": true, "exec": true, "source": true,
	".": true, "env": true, "sudo": true, "doas": true, "su": true, "xargs": true, "nohup": true, "time": true,
	"timeout": true, "nice": true, "command": true, "builtin": true, "parallel": true, "watch": true, "ssh": true,
	"python": true, "python3": true, "node": true, "perl": true, "ruby": true, "php": true, "awk": true, "find": true,
	"strace": true, "setsid": true, "stdbuf": true, "flock": true, "busybox": true, "trap": true,
}

// commandScopes parses line as shell and returns the scope of each simple command in it. A line that is not plain
// (substitutions, redirections into files, assignments, functions, programs that run others) is one scope of its
// own, because a program's name does not tell what it would do.
func commandScopes(line string) []commandScope {
	exact := []commandScope{{text: strings.TrimSpace(line), whole: true}}
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
		name := words[0]
		if name == "" || runsOthers[name[strings.LastIndexByte(name, '/')+1:]] {
			return nil, false
		}
		if withSubcommand[name] && len(words) > 1 {
			if words[1] == "" || strings.HasPrefix(words[1], "-") {
				return nil, false // a flag first: "git -c alias.x=!sh x"
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

// harmless reports whether a redirection writes nothing: 2>&1, < file, > /dev/null.
func harmless(r *syntax.Redirect) bool {
	switch r.Op {
	case syntax.DplOut, syntax.DplIn, syntax.RdrIn:
		return plain(r.Word)
	case syntax.RdrOut, syntax.AppOut, syntax.RdrAll, syntax.AppAll:
		return r.Word.Lit() == "/dev/null"
	default:
		return false
	}
}

// plain reports whether a word holds nothing that the shell would run.
func plain(w *syntax.Word) bool {
	ok := true
	syntax.Walk(w, func(n syntax.Node) bool {
		switch n.(type) {
		case *syntax.CmdSubst, *syntax.ProcSubst, *syntax.ArithmExp:
			ok = false
		}
		return ok
	})
	return ok
}
