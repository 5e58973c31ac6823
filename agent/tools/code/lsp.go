// Package code holds the tool lsp, which uses language servers to navigate and change code.
package code

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/toolkit"
	"github.com/gajae-code/gjc/agent/toolkit/edits"
	"github.com/gajae-code/gjc/lsp"
)

//go:embed schemas/*.json
var schemas embed.FS

//go:embed lsp.md
var lspText string

// Limits of the lsp tool.
const (
	lspTimeout    = 20.0 // seconds
	minLSPTimeout = 5.0
	maxLSPTimeout = 60.0
	// loadTime bounds the wait for a server that loads the project.
	loadTime = 15 * time.Second
)

type lspInput struct {
	Action    string  `json:"action" jsonschema:"diagnostics, definition, type_definition, implementation, references, hover, signature, symbols, call_hierarchy, type_hierarchy, rename, rename_file, code_actions, format, inlay_hints, folding, status, capabilities, reload or request"`
	File      string  `json:"file,omitzero" jsonschema:"path; for diagnostics also a glob; * for the workspace"`
	Line      int     `json:"line,omitzero" jsonschema:"line of the symbol, from 1"`
	Symbol    string  `json:"symbol,omitzero" jsonschema:"name on that line; name#2 for the second occurrence on it"`
	Query     string  `json:"query,omitzero" jsonschema:"symbols: what to look for; code_actions: kind filter, or the action to apply; request: the LSP method"`
	NewName   string  `json:"new_name,omitzero" jsonschema:"rename: the new name; rename_file: the new path"`
	Apply     *bool   `json:"apply,omitzero" jsonschema:"false shows a rename, rename_file or format without making it; true applies a code action"`
	Direction string  `json:"direction,omitzero" jsonschema:"call_hierarchy: incoming, outgoing or both; type_hierarchy: supertypes, subtypes or both"`
	Payload   string  `json:"payload,omitzero" jsonschema:"request: the parameters as JSON text"`
	Timeout   float64 `json:"timeout,omitzero" jsonschema:"seconds, 5 to 60; 20 if absent"`
}

// Tool returns the language servers as a tool. It is exclusive because some actions change files, and no other call may change the texts
// from which an edit is computed. Its kind is that of most of its actions. check runs the project's own checker.
func Tool(check Checker) agent.Tool {
	return agent.NewTool(agent.ToolFuncs[lspInput]{
		Schemas: schemas,
		Name:    "lsp", Description: toolkit.Description(lspText), Kind: agent.KindSearch, Exclusive: true, Available: toolkit.HasLanguages,
		Uses: approval.Uses{Roots: true}, // it shows the lines of the places that a server names
		Plan: planLSP,
		Run: func(ctx context.Context, call *agent.Call, in *lspInput) (*agent.Result, error) {
			return runLSP(ctx, call, in, check)
		},
	})
}

// A Checker runs a command line in the session's directory and returns its output, like the tool bash.
type Checker func(ctx context.Context, call *agent.Call, line string) (*agent.Result, error)

// lspAction describes one value of the parameter action.
type lspAction struct {
	name string
	// title has a verb for %s.
	title string
	// file reports that the action needs an existing file.
	file bool
	// symbol reports that the action needs a symbol.
	symbol bool
	// edits reports that the action changes files, unless the call only requests a preview.
	edits bool
	// plan adds to the plan of an action that does more than read; it may be nil.
	plan func(ctx context.Context, c *lspCall, plan *agent.CallPlan) error
	run  func(ctx context.Context, c *lspCall) (*agent.Result, error)
}

// allLSPActions returns the actions in the order of the description.
func allLSPActions() []lspAction {
	return []lspAction{
		{name: "diagnostics", title: "Diagnostics of %s", plan: planDiagnostics, run: runDiagnostics},
		{name: "definition", title: "Definition of %s", file: true, symbol: true, run: runDefinition},
		{name: "type_definition", title: "Type definition of %s", file: true, run: runDefinition},
		{name: "implementation", title: "Implementations of %s", file: true, run: runDefinition},
		{name: "references", title: "References to %s", file: true, symbol: true, run: runReferences},
		{name: "hover", title: "Documentation of %s", file: true, run: runHover},
		{name: "signature", title: "Signature of %s", file: true, run: runSignature},
		{name: "symbols", title: "Symbols of %s", run: runSymbols},
		{name: "call_hierarchy", title: "Calls of %s", file: true, run: runCallHierarchy},
		{name: "type_hierarchy", title: "Types around %s", file: true, run: runTypeHierarchy},
		{name: "rename", title: "Rename %s", file: true, symbol: true, edits: true, plan: planRename, run: runEditAction},
		{name: "rename_file", title: "Rename %s", edits: true, plan: planRenameFile, run: runEditAction},
		{name: "code_actions", title: "Code actions of %s", file: true, plan: planCodeActions, run: runCodeActions},
		{name: "format", title: "Format %s", file: true, edits: true, plan: planFormat, run: runEditAction},
		{name: "inlay_hints", title: "Inlay hints of %s", file: true, run: runInlayHints},
		{name: "folding", title: "Folding ranges of %s", file: true, run: runFolding},
		{name: "status", title: "Status of language servers", run: runLSPStatus},
		{name: "capabilities", title: "Capabilities of language servers", run: runCapabilities},
		{name: "reload", title: "Reload language servers", run: runReload},
		{name: "request", title: "LSP request %s", plan: planRequest, run: runRequest},
	}
}

// newLSPAction returns the action with the given name.
func newLSPAction(name string) (lspAction, error) {
	var names []string
	for _, a := range allLSPActions() {
		if a.name == name {
			return a, nil
		}
		names = append(names, a.name)
	}
	return lspAction{}, fmt.Errorf("%w for lsp: unknown action %q; the actions are %s", agent.ErrBadInput, name, strings.Join(names, ", "))
}

// lspCall is the state of one call.
type lspCall struct {
	call   *agent.Call
	in     *lspInput
	action lspAction
	w      *lsp.Workspace
	check  Checker
	// path is the absolute path of the file; empty if there is none and for "*".
	path string
	// asked is the name of the server that the call is waiting for.
	asked string
	notes []string
	places
}

// errLSPTimeout ends the wait for the servers.
var errLSPTimeout = errors.New("the language server call timed out")

func newLSPCall(call *agent.Call, in *lspInput) (*lspCall, error) {
	action, err := newLSPAction(in.Action)
	if err != nil {
		return nil, err
	}
	c := &lspCall{call: call, in: in, action: action, w: toolkit.Languages(call.Values), places: places{call: call}}
	switch {
	case c.w == nil:
		return nil, errors.New("this session has no language servers; use search, read and the project's own tools instead")
	case in.Line < 0:
		return nil, fmt.Errorf("%w for lsp: line is %d; the first line is 1", agent.ErrBadInput, in.Line)
	case strings.ContainsRune(in.File+in.NewName, 0):
		return nil, fmt.Errorf("%w for lsp: a path contains a NUL byte", agent.ErrBadInput)
	}
	if in.Symbol = strings.TrimSpace(in.Symbol); strings.ContainsAny(in.Symbol, "\r\n") {
		return nil, fmt.Errorf("%w for lsp: symbol has several lines; give one name", agent.ErrBadInput)
	}
	if file := strings.TrimSpace(in.File); file != "" && file != "*" {
		if strings.Contains(file, "://") {
			return nil, fmt.Errorf("%w for lsp: %s is an address; file must be a path", agent.ErrBadInput, file)
		}
		c.path = call.Workspace.Resolve(file)
		c.given = c.path
	}
	if action.file && c.path == "" {
		return nil, errors.New("file parameter required; use `*` for workspace scope where supported")
	}
	if action.symbol && in.Symbol == "" {
		return nil, fmt.Errorf("%w for lsp: symbol is required for project-aware %s; give the name as it is written there", agent.ErrBadInput, in.Action)
	}
	return c, nil
}

// within runs fn with the call's timeout for servers.
func (c *lspCall) within(ctx context.Context, fn func(ctx context.Context) error) error {
	seconds := lspTimeout
	if c.in.Timeout != 0 {
		seconds = min(max(c.in.Timeout, minLSPTimeout), maxLSPTimeout)
	}
	limited, cancel := context.WithTimeoutCause(ctx, time.Duration(seconds*float64(time.Second)), errLSPTimeout)
	defer cancel()
	err := fn(limited)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case limited.Err() != nil || errors.Is(err, lsp.ErrTimeout):
		on := ""
		if c.asked != "" {
			on = " on " + c.asked
		}
		return fmt.Errorf("LSP %s timed out after %gs%s. The server may still be loading the project: try again, or with a longer timeout (up to %g); the action status shows its progress",
			c.in.Action, seconds, on, maxLSPTimeout)
	}
	if re, ok := errors.AsType[*lsp.ResponseError](err); ok {
		return fmt.Errorf("LSP error: %w", re)
	}
	return err
}

// title describes the call in a few words.
func (c *lspCall) title() string {
	if !strings.Contains(c.action.title, "%s") {
		return c.action.title
	}
	about := "the workspace"
	switch {
	case c.in.Action == "request":
		about = c.in.Query
	case c.path != "" && c.in.Symbol != "":
		about = c.in.Symbol + " in " + c.name(c.path)
	case c.path != "" && c.in.Line > 0:
		about = fmt.Sprintf("%s:%d", c.name(c.path), c.in.Line)
	case c.path != "":
		about = c.name(c.path)
	case c.in.Query != "":
		about = fmt.Sprintf("the workspace that match %q", c.in.Query)
	}
	title := fmt.Sprintf(c.action.title, about)
	if c.in.NewName != "" && strings.HasPrefix(c.in.Action, "rename") {
		title += " to " + c.in.NewName
	}
	return title
}

func planLSP(ctx context.Context, call *agent.Call, in *lspInput) (*agent.CallPlan, error) {
	c, err := newLSPCall(call, in)
	if err != nil {
		return nil, err
	}
	plan := &agent.CallPlan{Title: c.title()}
	if c.path != "" && (in.Action != "diagnostics" || !isGlob(in.File)) {
		plan.Locations = []agent.Location{{Path: c.path, Line: in.Line}}
		plan.Effects = []approval.Effect{{Action: approval.ActionRead, Path: c.path}}
	}
	if c.action.plan == nil {
		return plan, nil
	}
	if c.action.edits && (in.Apply == nil || *in.Apply) {
		plan.Kind = agent.KindEdit
	}
	plan.AskLater = c.action.edits || in.Action == "code_actions"
	plan.Complete = func(ctx context.Context) error {
		if err := toolkit.TrustWorkspace(ctx, call, c.path); err != nil {
			return err
		}
		return c.within(ctx, func(ctx context.Context) error { return c.action.plan(ctx, c, plan) })
	}
	return plan, nil
}

func runLSP(ctx context.Context, call *agent.Call, in *lspInput, check Checker) (*agent.Result, error) {
	c, err := newLSPCall(call, in)
	if err != nil {
		return nil, err
	}
	c.check = check
	if c.action.file {
		if err := c.present(ctx); err != nil {
			return nil, err
		}
	}
	if in.Action != "status" { // status starts no server
		if err := toolkit.TrustWorkspace(ctx, call, c.path); err != nil {
			return nil, err
		}
	}
	if e, ok := call.Prepared.(prepared); ok {
		return e.run(ctx, c) // the action has its own timeouts
	}
	var res *agent.Result
	err = c.within(ctx, func(ctx context.Context) error {
		var err error
		res, err = c.action.run(ctx, c)
		return err
	})
	return res, err
}

// prepared is the prepared action that Run executes.
type prepared interface {
	run(ctx context.Context, c *lspCall) (*agent.Result, error)
}

// present returns an error for a file that does not exist or is not a file.
func (c *lspCall) present(ctx context.Context) error {
	kind, err := edits.FileKind(ctx, c.call, c.path)
	switch {
	case err != nil:
		return err
	case kind == lsp.Directory:
		return fmt.Errorf("%s is a directory; give the path of a file in it", c.name(c.path))
	case kind == lsp.NoFile:
		err := toolkit.Missing(ctx, c.call, c.path)
		if errors.Is(err, fs.ErrNotExist) {
			return &toolkit.MissingError{Text: "File not found: " + err.Error()}
		}
		return err
	}
	return nil
}

func (c *lspCall) name(path string) string { return toolkit.Display(&c.call.Workspace, path) }

// result returns text for the model within its limits. Text that does not fit is stored as an artifact.
func (c *lspCall) result(ctx context.Context, text string) *agent.Result {
	return &agent.Result{Text: toolkit.BoundedText(ctx, c.call, "lsp", text, c.notes), Locations: c.followed}
}
