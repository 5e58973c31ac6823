package shell

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/gajae-code/gjc/internal/lazyregexp"
	"github.com/gajae-code/gjc/internal/text"
)

// Command is what is known of a shell command line without running it.
type Command struct {
	// Parsed says that the line is one that a POSIX shell would take.
	Parsed bool
	// Simple are the commands in it, in order: of pipelines, substitutions, functions and loops too. A word that only the shell
	// knows is "".
	Simple [][]string
	// Runs are all commands that are in the line: those, and what they run in turn (env, xargs, sh -c), with the names of programs
	// without their places.
	Runs [][]string
	// Plain says that the line, and each that it has in its arguments, is nothing but simple commands in a row or in pipelines: only
	// then do the first words of commands say what runs.
	Plain bool
	// Calls are the words of all commands of a plain line, and of those that they run in turn.
	Calls [][]Arg
	// Changed are the absolute paths that the line is known to change.
	Changed []string
	// Risks are why the line asks whatever the mode is, for people: what leaves the workspace, what hides what it runs, what
	// changes who runs what. Each stands there once.
	Risks []string
}

// Limits of what is looked at; behind them a line is a risk by itself.
const (
	maxLine   = 64 << 10
	maxDepth  = 8  // lines in lines: sh -c "sh -c …"
	maxPlaces = 16 // directories that a line may be in
	maxSteps  = 8000
	maxPath   = 4096
	maxNames  = 2000 // files of a directory that a glob is compared with
)

// Analyze looks at a line for a POSIX shell that begins in dir.
func Analyze(line, dir string, paths *Paths) *Command {
	return analyze(line, dir, paths).cmd
}

func analyze(line, dir string, paths *Paths) *analysis {
	a := &analysis{dirs: []string{dir}, cmd: &Command{Parsed: true, Plain: true}}
	a.paths = a.counted(paths)
	a.line(line)
	return a
}

// counted are the same paths with each real one looked for once, as a step.
func (a *analysis) counted(paths *Paths) *Paths {
	counted := *paths
	if paths.Real == nil {
		return &counted
	}
	known := make(map[string]string)
	counted.Real = func(path string) string {
		real, ok := known[path]
		if !ok {
			if !a.step(1) {
				return filepath.Clean(path) // it asks by now
			}
			real = paths.Real(path)
			known[path] = real
		}
		return real
	}
	counted.RealRoots = counted.realRoots()
	return &counted
}

// step counts what is looked at, and reports whether there is more of the budget; behind it the line asks.
func (a *analysis) step(n int) bool {
	if a.steps += n; a.steps > maxSteps {
		a.risk("it is too long or too deep to be looked at")
		return false
	}
	return true
}

// analysis is a line that is being looked at.
type analysis struct {
	paths *Paths
	// dirs are where a command may run: where the line began, and wherever a cd may have led. unknown says that one may have led
	// anywhere.
	dirs    []string
	unknown bool
	depth   int
	// cds are how deep in subshells each cd was that led elsewhere: behind a subshell it counts for nothing.
	cds       []int
	subshells int
	functions map[string]*function
	outer     *Arg // what the blocks around a command are given to read in the line
	steps     int  // lines, commands, words, places and globs that were looked at
	// listed are the files of directories that globs were compared with.
	listed map[string][]os.DirEntry
	cmd    *Command
}

// function is one that the line declares, and how many cds there were when its body was looked at last.
type function struct {
	body   *syntax.Stmt
	cds    int
	active bool
}

// called looks at a function's body again, where directories or the input are others than when it was declared.
func (a *analysis) called(name string, piped bool) {
	f := a.functions[name]
	if f == nil || f.active || f.cds == len(a.cds) && !piped {
		return
	}
	f.active, f.cds = true, len(a.cds)
	a.walk(f.body, piped)
	f.active = false
}

// repeated looks at a loop's body; and again where it was left in other directories than it began in: there its next round is.
func (a *analysis) repeated(body func()) {
	for round := range 3 {
		before, dirs := len(a.cds), len(a.dirs)
		body()
		moved := slices.ContainsFunc(a.cds[before:], func(depth int) bool { return depth <= a.subshells })
		if !moved {
			return
		}
		if round == 1 { // it leads on and on: only what goes down stays in the workspace
			if !slices.ContainsFunc(a.dirs[dirs:], func(dir string) bool { return !withinAny(a.dirs[:dirs], dir) }) {
				return
			}
			a.unknown = true
		}
	}
}

func (a *analysis) risk(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if !slices.Contains(a.cmd.Risks, text) {
		a.cmd.Risks = append(a.cmd.Risks, text)
	}
}

// line looks at a line, or at one that is an argument of another.
func (a *analysis) line(line string) {
	if !a.step(1) {
		return
	}
	if len(line) > maxLine || a.depth >= maxDepth {
		a.risk("it is too long or too deep to be looked at")
		return
	}
	for _, r := range line {
		if text.Forges(r) {
			a.risk("it has characters that cannot be seen")
			break
		}
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(line), "")
	if err != nil {
		a.cmd.Parsed, a.cmd.Plain = false, false
		a.risk("it cannot be read as a shell command")
		return
	}
	if !a.plainFile(file) {
		a.cmd.Plain = false
	}
	a.depth++
	defer func() { a.depth-- }()
	for _, stmt := range file.Stmts {
		a.walk(stmt, false)
	}
}

// walk looks at a node and all that is in it. piped says that its input is another command's output.
func (a *analysis) walk(node syntax.Node, piped bool) {
	syntax.Walk(node, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Stmt:
			for _, r := range n.Redirs {
				a.redirect(r)
			}
			if call, ok := n.Cmd.(*syntax.CallExpr); ok {
				a.call(call, piped, n.Redirs)
				a.inner(call, n.Redirs)
				return false
			}
			if document, fed := a.given(n.Redirs); fed { // what a block is given, its commands read
				before := a.outer
				a.outer = document
				if n.Cmd != nil { // a line may be nothing but a document
					a.walk(n.Cmd, true)
				}
				a.outer = before
				for _, r := range n.Redirs {
					a.words(r)
				}
				return false
			}
		case *syntax.BinaryCmd:
			if n.Op == syntax.Pipe || n.Op == syntax.PipeAll {
				a.walk(n.X, piped)
				a.walk(n.Y, true)
				return false
			}
		case *syntax.CallExpr:
			a.call(n, piped, nil)
			a.inner(n, nil)
			return false
		case *syntax.FuncDecl:
			if a.functions == nil {
				a.functions = make(map[string]*function)
			}
			f := &function{body: n.Body, cds: len(a.cds), active: true}
			if n.Name != nil {
				a.functions[n.Name.Value] = f
			}
			a.walk(n.Body, piped)
			f.active = false
			return false
		case *syntax.Subshell:
			a.subshells++
			for _, s := range n.Stmts {
				a.walk(s, piped)
			}
			a.subshells--
			return false
		case *syntax.ForClause:
			if !a.step(1) {
				return false
			}
			a.walk(n.Loop, piped)
			a.repeated(func() { a.all(n.Do, piped) })
			return false
		case *syntax.WhileClause:
			a.repeated(func() { a.all(n.Cond, piped); a.all(n.Do, piped) })
			return false
		case *syntax.DeclClause:
			refers := false // declare -n: the value is a name
			for _, as := range n.Args {
				if as.Name == nil && as.Value != nil {
					option := as.Value.Lit()
					refers = refers || strings.HasPrefix(option, "-") && strings.Contains(option, "n") && n.Variant.Value != "export"
				} else if refers && as.Value != nil {
					if to := a.word(as.Value); to.Known {
						a.sets(to.Text, argUnknown)
					} else {
						a.risk("it sets a variable that only the shell knows")
					}
				}
				a.assign(as)
			}
			a.evaluated(n)
		case *syntax.WordIter: // of for and select
			a.sets(n.Name.Value, argUnknown)
			for _, item := range n.Items { // it may be read by its variable
				if v := a.word(item); v.Known {
					a.reads(v.Text)
				} else {
					a.globReads(item, v)
				}
			}
		default:
			a.expression(n)
		}
		return true
	})
}

func (a *analysis) all(stmts []*syntax.Stmt, piped bool) {
	for _, s := range stmts {
		a.walk(s, piped)
	}
}

// inner looks at what the words of a command have in them: substitutions.
func (a *analysis) inner(call *syntax.CallExpr, redirs []*syntax.Redirect) {
	for _, as := range call.Assigns {
		a.assign(as)
		if as.Value != nil {
			a.words(as.Value)
		}
		if as.Array != nil {
			a.words(as.Array)
		}
	}
	for _, w := range call.Args {
		a.words(w)
	}
	for _, r := range redirs {
		if r.Word != nil {
			a.words(r.Word)
		}
		if r.Hdoc != nil {
			a.words(r.Hdoc)
		}
	}
}

// words looks at the substitutions below a node.
func (a *analysis) words(node syntax.Node) {
	syntax.Walk(node, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst:
			a.subshells++
			a.all(n.Stmts, false)
			a.subshells--
			return false
		case *syntax.ProcSubst:
			a.subshells++
			a.all(n.Stmts, false)
			a.subshells--
			return false
		default:
			a.expression(n)
		}
		return true
	})
}

// qualified looks at a glob with parentheses, which zsh takes for qualifiers that can run commands.
func (a *analysis) qualified(n *syntax.ExtGlob) {
	if strings.ContainsAny(n.Pattern.Value, `:'"`) || strings.HasPrefix(n.Pattern.Value, "+") {
		a.risk("it has a glob that some shells take for a command")
	}
}

// expression looks at a place where the shell computes: text there is an expression, and one in brackets can hold commands.
func (a *analysis) expression(n syntax.Node) {
	switch n := n.(type) {
	case *syntax.ExtGlob:
		a.qualified(n)
	case *syntax.ParamExp:
		if n.Exp != nil && n.Exp.Op == syntax.OtherParamOps {
			a.risk("it has the shell run what a variable says")
		}
		if n.Exp != nil && n.Param != nil && (n.Exp.Op == syntax.AssignUnset || n.Exp.Op == syntax.AssignUnsetOrNull) {
			a.sets(n.Param.Value, argUnknown)
		}
		if n.Index != nil || n.Slice != nil || n.Exp != nil && n.Exp.Word != nil {
			a.evaluated(n)
		}
	case *syntax.ArithmExp, *syntax.ArithmCmd, *syntax.LetClause, *syntax.CStyleLoop:
		a.evaluated(n)
	case *syntax.TestClause:
		computes := false
		syntax.Walk(n, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.BinaryTest:
				switch n.Op {
				case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
					computes = true
				default:
				}
			case *syntax.UnaryTest:
				computes = computes || n.Op == syntax.TsVarSet || n.Op == syntax.TsRefVar
			}
			return !computes
		})
		if computes {
			a.evaluated(n)
		}
	}
}

// evaluated looks for commands in text that the shell takes for an expression.
func (a *analysis) evaluated(node syntax.Node) {
	syntax.Walk(node, func(n syntax.Node) bool {
		if !a.step(1) { // one expression can be in another, many deep
			return false
		}
		switch n := n.(type) {
		case *syntax.CmdSubst, *syntax.ProcSubst:
			return false // they are looked at as commands
		case *syntax.SglQuoted:
			a.computed(n.Value)
		case *syntax.Lit:
			a.computed(n.Value)
		}
		return true
	})
}

func (a *analysis) computed(text string) {
	if strings.Contains(text, "$(") || strings.Contains(text, "`") {
		a.risk("it has text that a shell runs where it computes")
	}
}

// computes are builtins that take their arguments for names of variables, with an expression in brackets.
var computes = set("printf", "test", "[", "read", "unset", "let", "declare", "typeset", "local", "export", "readonly", "mapfile", "readarray", "wait", "getopts")

// given returns what redirections give a command to read in the line; nil where that is what another command prints.
func (a *analysis) given(redirs []*syntax.Redirect) (document *Arg, ok bool) {
	for _, r := range redirs {
		switch {
		case r.Hdoc != nil && (r.Op == syntax.Hdoc || r.Op == syntax.DashHdoc):
			document, ok = new(a.document(r.Hdoc)), true
		case r.Op == syntax.WordHdoc:
			document, ok = new(a.word(r.Word)), true
		case r.Op == syntax.RdrIn && substituted(r.Word):
			document, ok = nil, true
		}
	}
	return document, ok
}

// substituted reports whether a word is the output of a command as a file.
func substituted(w *syntax.Word) bool {
	for _, p := range w.Parts {
		if _, ok := p.(*syntax.ProcSubst); ok {
			return true
		}
	}
	return false
}

// redirect looks at a redirection.
func (a *analysis) redirect(r *syntax.Redirect) {
	switch r.Op {
	case syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
		return
	case syntax.DplOut, syntax.DplIn:
		if s := r.Word.Lit(); s == "-" || s != "" && strings.Trim(s, "0123456789-") == "" {
			return
		}
	default:
	}
	target := a.word(r.Word)
	switch {
	case r.Op == syntax.RdrIn && target.Known:
		a.reads(target.Text)
	case r.Op == syntax.RdrIn:
		a.globReads(r.Word, target)
	case !target.Known:
		a.risk("it writes to a file that only the shell knows")
	default:
		a.writes(target.Text)
	}
}

// places returns what a path of the line may be, absolute.
func (a *analysis) places(path string) []string {
	var all []string
	for _, dir := range a.dirs {
		for _, p := range []string{a.paths.Expand(path, dir), a.paths.behindLinks(path, dir)} {
			if !slices.Contains(all, p) {
				all = append(all, p)
			}
		}
	}
	return all
}

// streams are what is written to that is no file.
var streams = set("/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/zero", "-")

// descriptor is a file that is open already.
var descriptor = lazyregexp.New(`^/dev/fd/[0-9]+$`)

// writes looks at a path that is written, removed or moved.
func (a *analysis) writes(path string) {
	if streams[path] || descriptor().MatchString(path) {
		return
	}
	if strings.HasPrefix(path, "/dev/tcp/") || strings.HasPrefix(path, "/dev/udp/") {
		a.risk("it opens a connection by the shell")
		return
	}
	if len(path) > maxPath || strings.ContainsRune(path, 0) {
		a.risk("it changes a file with a name that is too long")
		return
	}
	if a.unknown && !filepath.IsAbs(path) && !strings.HasPrefix(path, "~") {
		a.risk("it changes %s in a directory that only the shell knows", show(path))
		return
	}
	for _, p := range a.places(path) {
		a.cmd.Changed = append(a.cmd.Changed, p)
		switch why := a.paths.Protected(p); {
		case why != "":
			a.risk("it changes %s (%s)", show(p), why)
		case a.paths.Outside(p):
			a.risk("it changes %s, outside the workspace", show(p))
		default:
			continue
		}
		return
	}
}

// reads looks at a path that is read, or at an argument that may be one.
func (a *analysis) reads(path string) {
	if path == "" || len(path) > maxPath || strings.ContainsAny(path, "\n\x00") {
		return
	}
	for _, p := range a.places(path) {
		if a.paths.Secret(p) {
			a.risk("it reads %s, which holds secrets by its name", show(p))
			return
		}
	}
}

// cd notes where a line may be from here on.
func (a *analysis) cd(path string, known bool) {
	if !known || path == "-" || len(a.dirs) >= maxPlaces {
		if !a.unknown {
			a.cds = append(a.cds, a.subshells)
		}
		a.unknown = true
		return
	}
	before := len(a.dirs)
	for _, dir := range slices.Clone(a.dirs) {
		if to := a.paths.Expand(path, dir); !slices.Contains(a.dirs, to) {
			a.dirs = append(a.dirs, to)
		}
	}
	if len(a.dirs) > before {
		a.cds = append(a.cds, a.subshells)
	}
}

// show is a path or a word on one line, for people: no longer than can be read, and without characters that fool the eye.
func show(s string) string {
	return text.VisibleLine(text.Truncate(s, 120))
}
