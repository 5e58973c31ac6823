// Package debug implements the debug tool: debug sessions over DAP adapters.
package debug

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/toolkit"
	"github.com/gajae-code/gjc/dap"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/text"
)

//go:embed schemas/*.json
var schemas embed.FS

//go:embed debug.md
var debugText string

// Limits of the debug tool.
const (
	debugTimeout    = 30.0 // seconds
	minDebugTimeout = 5.0
	maxDebugTimeout = 300.0
	// endTime bounds how long a cancelled call may take to end its debug session.
	endTime = 2 * time.Second
)

// Tool returns the debugger as a tool. The calls of one answer run in order: each refers to where the last one stopped.
func Tool() agent.Tool {
	return agent.NewTool(agent.ToolFuncs[debugInput]{
		Schemas: schemas,
		Name:    "debug", Description: toolkit.Description(debugText), Kind: agent.KindExecute, Exclusive: true, Available: hasDebugger,
		Uses: approval.Uses{Roots: true}, // it shows the source where a program stops
		Plan: planDebug, Run: runDebug,
	})
}

// debugCall is the state of one call.
type debugCall struct {
	printer
	call   *agent.Call
	in     *debugInput
	action debugAction
	// adapters is the catalog of debug adapters.
	adapters dap.Catalog
	// turn is the context of the turn: when it ends, so does the debug session. The context of the action ends at its timeout.
	turn context.Context //nolint:containedctx // it outlives the action's context
	// path is the absolute path of the file, or "".
	path string
	// session is the session that the call is about, or nil.
	session *dap.Session
	seconds float64
	// stopped, if set, is called when the wait for the program ends.
	stopped  func()
	release  func()
	live     *toolkit.LiveOutput
	notes    []string
	followed []agent.Location
}

// debugPrepared holds the results of planning that Run needs.
type debugPrepared struct {
	session *dap.Session
	start   *debugStart
}

// errDebugTimeout ends the wait for the program or the adapter.
var errDebugTimeout = errors.New("the debugger call timed out")

// debugInputError reports an invalid call.
type debugInputError struct{ text string }

func (e *debugInputError) Error() string { return e.text }
func (e *debugInputError) Unwrap() error { return agent.ErrBadInput }

// required returns the error for a missing parameter.
func required(what, action string) error {
	return &debugInputError{what + " is required for " + action}
}

func newDebugCall(call *agent.Call, in *debugInput) (*debugCall, error) {
	action, ok := newDebugAction(in.Action)
	if !ok {
		return nil, fmt.Errorf("%w for debug: unknown action %q; the actions are %s", agent.ErrBadInput, in.Action, strings.Join(debugActions(), ", "))
	}
	debugger := debuggerOf(call.Values)
	if debugger == nil || debugger.Sessions == nil {
		return nil, errors.New("this session has no debugger; use bash, with prints or tests, instead")
	}
	c := &debugCall{
		printer: printer{debugger: debugger.Sessions, workspace: &call.Workspace},
		call:    call, in: in, action: action, adapters: debugger.Adapters, seconds: debugTimeout, release: func() {},
	}
	if in.Timeout != 0 {
		c.seconds = min(max(in.Timeout, minDebugTimeout), maxDebugTimeout)
		if c.seconds != in.Timeout {
			c.notes = append(c.notes, fmt.Sprintf("The timeout was set to %s seconds; it can be %g to %g.", toolkit.Seconds(c.seconds), minDebugTimeout, maxDebugTimeout))
		}
	}
	for _, text := range append([]string{
		in.Program, in.Cwd, in.Core, in.File, in.Function, in.Condition, string(in.HitCondition), in.LogMessage, in.Expression, string(in.Value), in.Name, in.Host, in.MemoryReference, in.InstructionReference,
	}, in.Args...) {
		if strings.ContainsRune(text, 0) {
			return nil, fmt.Errorf("%w for debug: %q contains a NUL byte", agent.ErrBadInput, toolkit.CutLine(text, toolkit.MaxShownColumns))
		}
	}
	if file := strings.TrimSpace(in.File); file != "" {
		c.path = call.Workspace.Resolve(file)
	}
	if in.Line < 0 || in.Column < 0 || in.Depth < 0 || in.Levels < 0 || in.Count < 0 || in.InstructionCount < 0 || in.StartModule < 0 || in.ModuleCount < 0 {
		return nil, fmt.Errorf("%w for debug: lines, columns and counts must not be negative", agent.ErrBadInput)
	}
	if in.Arguments != "" && jsonx.Raw(in.Arguments).Kind() != '{' {
		return nil, fmt.Errorf("%w for debug: arguments must be a JSON object", agent.ErrBadInput)
	}
	if err := action.missing(c); err != nil {
		return nil, err
	}
	return c, nil
}

func planDebug(_ context.Context, call *agent.Call, in *debugInput) (*agent.CallPlan, error) {
	c, err := newDebugCall(call, in)
	if err != nil {
		return nil, err
	}
	if err := c.find(); err != nil {
		return nil, err
	}
	prep := &debugPrepared{session: c.session}
	call.Prepared = prep
	plan := &agent.CallPlan{Title: c.title(), Kind: c.action.kind}
	if c.path != "" {
		plan.Locations = []agent.Location{{Path: c.path, Line: in.Line}}
	}
	switch {
	case c.action.starts:
		if err := (launcher{c}).roomForMore(); err != nil {
			return nil, err
		}
		plan.Effects = []approval.Effect{{Action: approval.ActionDebug, Title: plan.Title}} // the exact effects are determined below
		plan.Complete = func(ctx context.Context) error {
			ctx, cancel := c.limit(ctx)
			defer cancel()
			return c.explain(ctx, launcher{c}.planStart(ctx, plan, prep))
		}
	case c.evaluates():
		plan.Complete = func(ctx context.Context) error {
			for _, e := range c.sideEffects(c.bareCalls(ctx)) {
				plan.Effects = append(plan.Effects, e.effect)
				plan.Content = append(plan.Content, agent.TextContent{Text: e.shown})
			}
			return nil
		}
	}
	switch {
	case c.in.Action == "restart" && c.session != nil:
		e := c.again()
		plan.Effects = append(plan.Effects, e.effect)
		plan.Content = append(plan.Content, agent.TextContent{Text: e.shown})
	case c.action.resumes:
		plan.Effects = append(plan.Effects, approval.Effect{Action: approval.ActionResume, Title: plan.Title, Where: c.where()})
	}
	return plan, nil
}

func runDebug(ctx context.Context, call *agent.Call, in *debugInput) (*agent.Result, error) {
	c, err := newDebugCall(call, in)
	if err != nil {
		return nil, err
	}
	c.turn = ctx
	prep, _ := call.Prepared.(*debugPrepared)
	if prep == nil {
		prep = new(debugPrepared)
	}
	if c.session = prep.session; c.session == nil {
		if err := c.find(); err != nil {
			return nil, err
		}
	}
	limited, cancel := c.limit(ctx)
	defer cancel()
	defer func() { c.release() }()
	if c.session != nil {
		c.observe(c.session)
	}
	var res *agent.Result
	if c.action.starts {
		res, err = launcher{c}.start(limited, prep.start)
	} else {
		res, err = c.action.run(limited, c)
	}
	if ctx.Err() != nil {
		return c.cancelled(ctx), nil
	}
	if err != nil {
		return nil, c.explain(limited, err)
	}
	return res, nil
}

// limit returns ctx limited by the timeout of the call.
func (c *debugCall) limit(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, time.Duration(c.seconds*float64(time.Second)), errDebugTimeout)
}

// find sets the session of the call. It leaves it nil if the action needs none and none exists.
func (c *debugCall) find() error {
	if c.action.session == noSession {
		return nil
	}
	s, err := c.debugger.Find(c.in.Session)
	switch {
	case err != nil && (c.in.Session != "" || c.action.session == openSession):
		return err
	case err != nil:
		return nil
	case s.State() != dap.StateTerminated:
		c.session = s
	case c.in.Session != "" || c.action.session == anySession:
		c.session = s // it can still report how it ended
	case c.action.session == openSession:
		return fmt.Errorf("%w; the last one, %s, has ended: %s", dap.ErrNoSession, s.ID(), ending(s.Peek()))
	}
	return nil
}

// observe shows the user the program's output and where it stops while the call runs.
func (c *debugCall) observe(s *dap.Session) {
	c.live = toolkit.NewLiveOutput(c.call.Update, nil)
	terminal := func(id string) { c.call.Update(agent.Progress{TerminalID: id}) }
	if !c.action.starts && !c.action.resumes {
		terminal = nil // this action does not resume the program
	}
	release := s.Observe(dap.Observer{
		Output:   func(_, text string) { c.live.Write([]byte(text)) },
		Terminal: terminal,
		Location: func(path string, line int) {
			c.call.Update(agent.Progress{Locations: []agent.Location{{Path: path, Line: line}}})
		},
	})
	c.release = func() {
		release()
		c.live.Close()
	}
}

// cancelled ends the debug session of a call whose turn was cancelled, so that no part of the program keeps running.
func (c *debugCall) cancelled(ctx context.Context) *agent.Result {
	text := context.Cause(ctx).Error()
	s := c.session
	if s != nil {
		if name, _, child := strings.Cut(s.ID(), "."); child { // a child's program does not run without the others
			if root, err := c.debugger.Find(name); err == nil {
				s = root
			}
		}
	}
	if s != nil && s.State() != dap.StateTerminated {
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
		defer cancel()
		if err := s.Terminate(end, false); err != nil {
			text += fmt.Sprintf("; debug session %s could not be ended in time: %v", s.ID(), err)
		} else {
			text += "; debug session " + s.ID() + " was terminated with its program"
		}
	}
	return &agent.Result{Text: text, IsError: true}
}

// result returns text for the model within its limits. Text that does not fit is stored as an artifact.
func (c *debugCall) result(ctx context.Context, words string) *agent.Result {
	return &agent.Result{Text: text.Visible(toolkit.BoundedText(ctx, c.call, "debug", words, c.notes)), Locations: c.followed}
}

func (c *debugCall) follow(path string, line int) {
	if path != "" {
		c.followed = append(c.followed, agent.Location{Path: path, Line: line})
	}
}
