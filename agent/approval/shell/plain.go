package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// plainFile reports whether a line is nothing but simple commands, in a row or in pipelines: no substitutions, arithmetic, tests,
// declarations, functions or loops, no redirections into files, no variables but harmless ones. Only of such a line do the first
// words of its commands say what it runs.
func (a *analysis) plainFile(file *syntax.File) bool {
	for _, stmt := range file.Stmts {
		if !a.plainStmt(stmt) {
			return false
		}
	}
	return len(file.Stmts) > 0
}

func (a *analysis) plainStmt(stmt *syntax.Stmt) bool {
	if stmt.Coprocess || stmt.Disown {
		return false
	}
	for _, r := range stmt.Redirs {
		if !plainRedirect(r) {
			return false
		}
	}
	switch cmd := stmt.Cmd.(type) {
	case *syntax.BinaryCmd: // &&, ||, |
		return a.plainStmt(cmd.X) && a.plainStmt(cmd.Y)
	case *syntax.CallExpr:
		for _, as := range cmd.Assigns {
			if as.Append || as.Naked || as.Name == nil || as.Index != nil || as.Array != nil || !safeVariable(as.Name.Value) {
				return false
			}
			if as.Value != nil && (!plainWord(as.Value) || !a.word(as.Value).Known) {
				return false
			}
		}
		for _, w := range cmd.Args {
			if !plainWord(w) {
				return false
			}
		}
		return len(cmd.Args) > 0 && plainName(cmd.Args[0].Lit())
	default:
		return false
	}
}

// plainName reports whether every shell reads s as it stands there: without quotes, globs, braces and backslashes.
func plainName(s string) bool {
	for _, r := range s {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', strings.ContainsRune("/._-+~@:,[", r):
		default:
			return false
		}
	}
	return s == "[" || s != "" && !strings.Contains(s, "[")
}

// plainRedirect reports whether a redirection writes nothing: 2>&1, < file, > /dev/null.
func plainRedirect(r *syntax.Redirect) bool {
	switch r.Op {
	case syntax.DplOut, syntax.DplIn:
		// With a name in place of the number, ">&" writes to a file.
		return r.Word.Lit() == "-" || r.Word.Lit() != "" && strings.Trim(r.Word.Lit(), "0123456789") == ""
	case syntax.RdrIn:
		return plainWord(r.Word)
	case syntax.RdrOut, syntax.AppOut, syntax.RdrAll, syntax.AppAll:
		return r.Word.Lit() == "/dev/null"
	default:
		return false
	}
}

// plainWord reports whether a word holds nothing that a shell would run, and nothing that one shell reads as bash does and
// another differently: dash does not know $'…', a glob's parentheses can hold commands in zsh, and so can what stands in
// brackets behind a variable.
func plainWord(w *syntax.Word) bool {
	ok := true
	parts := func(parts []syntax.WordPart) {
		for i, p := range parts {
			if _, is := p.(*syntax.ParamExp); is && i+1 < len(parts) {
				if next, is := parts[i+1].(*syntax.Lit); is && strings.ContainsAny(next.Value[:min(1, len(next.Value))], "[:(") {
					ok = false
				}
			}
		}
	}
	parts(w.Parts)
	syntax.Walk(w, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst, *syntax.ProcSubst, *syntax.ArithmExp, *syntax.ExtGlob:
			ok = false
		case *syntax.SglQuoted:
			ok = ok && !n.Dollar
		case *syntax.DblQuoted:
			ok = ok && !n.Dollar
			parts(n.Parts)
		case *syntax.ParamExp:
			ok = ok && n.Param != nil && onlyName(n)
		}
		return ok
	})
	return ok
}

// safeVariables change how programs show things, where they look for nothing and what they run not at all. Names that are not
// here may do more.
var safeVariables = set(
	"CI", "COLUMNS", "LINES", "LANG", "LANGUAGE", "TZ", "NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "FORCE_COLOR", "DEBUG", "VERBOSE",
	"NODE_ENV", "RAILS_ENV", "RACK_ENV", "APP_ENV", "RUST_BACKTRACE", "RUST_LOG", "RUST_TEST_THREADS", "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE",
	"PYTHONHASHSEED", "PYTHONIOENCODING", "PYTHONUTF8", "GOOS", "GOARCH", "GOARM", "GOAMD64", "CGO_ENABLED", "GOMAXPROCS", "GOMEMLIMIT", "GOGC",
	"GO111MODULE", "GOTRACEBACK", "DEBIAN_FRONTEND", "SOURCE_DATE_EPOCH", "GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_AUTHOR_DATE",
	"GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL", "GIT_COMMITTER_DATE", "GIT_TERMINAL_PROMPT", "GIT_OPTIONAL_LOCKS", "GIT_LITERAL_PATHSPECS",
	"LC_ALL", "LC_CTYPE", "LC_COLLATE", "LC_NUMERIC", "LC_TIME", "LC_MESSAGES", "LC_MONETARY",
)

func safeVariable(name string) bool { return safeVariables[name] }
