// Package debug holds the tool debug: debug sessions over DAP adapters.
package debug

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/toolkit"
	"github.com/gajae-code/gjc/dap"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/text"
)

//go:embed debug.md
var debugText string

// Limits of the debug tool.
const (
	debugTimeout    = 30.0 // seconds
	minDebugTimeout = 5.0
	maxDebugTimeout = 300.0
	// endTime bounds how long a cancelled call takes to end its debug session.
	endTime = 2 * time.Second
)

type debugInput struct {
	Action  string `json:"action" jsonschema:"what to do, as the description lists it"`
	Session string `json:"session,omitzero" jsonschema:"debug session, such as debug-1 (child: debug-1.1); the one used last if absent"`

	Program       string            `json:"program,omitzero" jsonschema:"launch: source file, binary, Go package directory or pytest node id"`
	Args          []string          `json:"args,omitzero" jsonschema:"launch: arguments of the program"`
	Cwd           string            `json:"cwd,omitzero" jsonschema:"launch: directory to run in"`
	Env           map[string]string `json:"env,omitzero" jsonschema:"launch: environment variables to set"`
	Mode          string            `json:"mode,omitzero" jsonschema:"launch: debug, test, exec or core; the one that fits if absent"`
	StopOnEntry   *bool             `json:"stop_on_entry,omitzero" jsonschema:"launch, attach: stop at once; if absent true, or false where breakpoints are set"`
	Terminal      bool              `json:"terminal,omitzero" jsonschema:"launch: run in the user's terminal, for programs that read from it"`
	Core          string            `json:"core,omitzero" jsonschema:"launch: core file to look at"`
	Adapter       string            `json:"adapter,omitzero" jsonschema:"debug adapter, such as dlv, debugpy, lldb-dap; the one that fits if absent"`
	Configuration string            `json:"configuration,omitzero" jsonschema:"launch, attach: name of a configuration in .vscode/launch.json"`
	Arguments     jsonText          `json:"arguments,omitzero" jsonschema:"JSON object: launch, attach: members for the adapter, over all others; custom_request: its arguments"`
	PID           int               `json:"pid,omitzero" jsonschema:"attach: process id"`
	Host          string            `json:"host,omitzero" jsonschema:"attach: host of port; 127.0.0.1 if absent"`
	Port          int               `json:"port,omitzero" jsonschema:"attach: port"`
	Listen        bool              `json:"listen,omitzero" jsonschema:"attach: wait on port for the program to connect"`

	File         string            `json:"file,omitzero" jsonschema:"source file, for breakpoints, run_to, goto"`
	Line         int               `json:"line,omitzero" jsonschema:"line in file, from 1"`
	Function     string            `json:"function,omitzero" jsonschema:"breakpoint on a function in place of file and line"`
	Condition    string            `json:"condition,omitzero" jsonschema:"breakpoint: expression that must be true"`
	HitCondition scalar            `json:"hit_condition,omitzero" jsonschema:"breakpoint: how often to pass, such as >= 5"`
	LogMessage   string            `json:"log_message,omitzero" jsonschema:"breakpoint: print this in place of stopping; {x} prints an expression"`
	Filters      []string          `json:"filters,omitzero" jsonschema:"set_exception_breakpoints: which to stop at, all of them; empty for none; absent lists them"`
	Conditions   map[string]string `json:"conditions,omitzero" jsonschema:"set_exception_breakpoints: conditions by filter"`

	FrameID     int    `json:"frame_id,omitzero" jsonschema:"frame, from stack_trace; the top one if absent"`
	ScopeID     int    `json:"scope_id,omitzero" jsonschema:"scope, from scopes (ref)"`
	VariableRef int    `json:"variable_ref,omitzero" jsonschema:"variable with others in it (ref)"`
	Name        string `json:"name,omitzero" jsonschema:"variable, for set_variable and data_breakpoint_info"`
	Value       scalar `json:"value,omitzero" jsonschema:"set_variable, set_expression: new value"`
	Expression  string `json:"expression,omitzero" jsonschema:"evaluate, set_expression; completions: text to complete"`
	Context     string `json:"context,omitzero" jsonschema:"evaluate: watch, repl, hover, variables or clipboard"`
	Column      int    `json:"column,omitzero" jsonschema:"completions: where in the text, from 1; its end if absent"`
	Depth       int    `json:"depth,omitzero" jsonschema:"inspect: frames, 1 to 10; 3 if absent"`
	Levels      int    `json:"levels,omitzero" jsonschema:"stack_trace: frames; 20 if absent"`
	Thread      int    `json:"thread,omitzero" jsonschema:"thread or goroutine; the one that stopped if absent"`
	Target      *int   `json:"target,omitzero" jsonschema:"step_in, goto: id from step_in_targets, goto_targets"`
	Granularity string `json:"granularity,omitzero" jsonschema:"steps: statement, line or instruction"`

	MemoryReference      string `json:"memory_reference,omitzero" jsonschema:"address or reference, for memory and disassemble"`
	InstructionReference string `json:"instruction_reference,omitzero" jsonschema:"instruction breakpoint: address"`
	Offset               int    `json:"offset,omitzero" jsonschema:"bytes behind the reference; variables, stack_trace: how many to skip"`
	Count                int    `json:"count,omitzero" jsonschema:"read_memory: bytes; variables: how many"`
	InstructionCount     int    `json:"instruction_count,omitzero" jsonschema:"disassemble: how many instructions"`
	InstructionOffset    int    `json:"instruction_offset,omitzero" jsonschema:"disassemble: instructions behind the reference"`
	ResolveSymbols       bool   `json:"resolve_symbols,omitzero" jsonschema:"disassemble: with symbols"`
	Data                 string `json:"data,omitzero" jsonschema:"write_memory: bytes in base64"`
	AllowPartial         bool   `json:"allow_partial,omitzero" jsonschema:"write_memory: fewer bytes may be written"`
	DataID               string `json:"data_id,omitzero" jsonschema:"data breakpoint: id from data_breakpoint_info"`
	AccessType           string `json:"access_type,omitzero" jsonschema:"data breakpoint: read, write or readWrite"`
	SourceReference      int    `json:"source_reference,omitzero" jsonschema:"source: reference from loaded_sources"`
	StartModule          int    `json:"start_module,omitzero" jsonschema:"modules: first one, from 0"`
	ModuleCount          int    `json:"module_count,omitzero" jsonschema:"modules: how many"`
	Command              string `json:"command,omitzero" jsonschema:"custom_request: the DAP request"`

	Timeout float64 `json:"timeout,omitzero" jsonschema:"seconds to wait, 5 to 300; 30 if absent"`
}

// jsonText is a JSON value that a model can give as such or as text.
type jsonText string

// UnmarshalJSON implements the decoding of [jsonx].
func (j *jsonText) UnmarshalJSON(data []byte) error {
	raw := jsonx.Raw(data)
	if raw.Kind() != '"' {
		*j = jsonText(data)
		return nil
	}
	var text string
	if err := jsonx.Unmarshal(raw, &text); err != nil {
		return err
	}
	*j = jsonText(strings.TrimSpace(text))
	return nil
}

// scalar is a text that a model may give as a number or a truth value too.
type scalar string

// UnmarshalJSON implements the decoding of [jsonx].
func (s *scalar) UnmarshalJSON(data []byte) error {
	switch raw := jsonx.Raw(data); raw.Kind() {
	case '"':
		return jsonx.Unmarshal(raw, (*string)(s))
	case '{', '[':
		return errors.New("it must be a text or a number")
	default:
		*s = scalar(data)
		return nil
	}
}

// Tool is the tool of the debugger. Calls of one answer keep their order: each is about where the last one stopped.
func Tool() agent.Tool {
	return agent.NewTool(agent.ToolFuncs[debugInput]{
		Schema: schema[debugInput],
		Name:   "debug", Description: toolkit.Description(debugText), Kind: agent.KindExecute, Exclusive: true, Available: hasDebugger,
		Plan: planDebug, Run: runDebug,
	})
}

// debugCall is a call of the tool on its way.
type debugCall struct {
	call   *agent.Call
	in     *debugInput
	action debugAction
	d      *dap.Debugger
	// adapters lists the debug adapters.
	adapters dap.Catalog
	// turn is the context of the turn: where it ends, so does the debug session. The action's own ends with its time.
	turn context.Context //nolint:containedctx // it bounds what the action's context does not
	// path is the file, absolute; empty for none.
	path string
	// session is the one that the call is about; nil for none.
	session *dap.Session
	seconds float64
	// stopped, if set, is called when the wait for the program is over.
	stopped  func()
	release  func()
	live     *toolkit.LiveOutput
	notes    []string
	followed []agent.Location
}

// debugPrepared is what planning has found out for the run.
type debugPrepared struct {
	session *dap.Session
	start   *debugStart
}

// errDebugTimeout ends the wait for the program or the adapter.
var errDebugTimeout = errors.New("the time for the debugger is over")

// debugInputError is a call that lacks something.
type debugInputError struct{ text string }

func (e *debugInputError) Error() string { return e.text }
func (e *debugInputError) Unwrap() error { return agent.ErrBadInput }

// required complains about a parameter that is missing.
func required(what, action string) error {
	return &debugInputError{what + " is required for " + action}
}

func newDebugCall(call *agent.Call, in *debugInput) (*debugCall, error) {
	action, ok := newDebugAction(in.Action)
	if !ok {
		return nil, fmt.Errorf("%w for debug: there is no action %q; there are %s", agent.ErrBadInput, in.Action, strings.Join(debugActions(), ", "))
	}
	debugger := debuggerOf(call.Values)
	if debugger == nil || debugger.Sessions == nil {
		return nil, errors.New("this session has no debugger; use bash, with prints or tests, instead")
	}
	c := &debugCall{call: call, in: in, action: action, d: debugger.Sessions, adapters: debugger.Adapters, seconds: debugTimeout, release: func() {}}
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
			return nil, fmt.Errorf("%w for debug: there is a zero byte in %q", agent.ErrBadInput, toolkit.CutLine(text, toolkit.MaxShownColumns))
		}
	}
	if file := strings.TrimSpace(in.File); file != "" {
		c.path = call.Workspace.Resolve(file)
	}
	if in.Line < 0 || in.Column < 0 || in.Depth < 0 || in.Levels < 0 || in.Count < 0 || in.InstructionCount < 0 || in.StartModule < 0 || in.ModuleCount < 0 {
		return nil, fmt.Errorf("%w for debug: lines, columns and counts are not negative", agent.ErrBadInput)
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
		if err := c.roomForMore(); err != nil {
			return nil, err
		}
		plan.Effects = []approval.Effect{{Action: approval.ActionDebug, Title: plan.Title}} // what exactly is found out below
		plan.Complete = func(ctx context.Context) error {
			ctx, cancel := c.limit(ctx)
			defer cancel()
			return c.explain(ctx, c.planStart(ctx, plan, prep))
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
		plan.Effects = append(plan.Effects, approval.Effect{Action: approval.ActionResume, Title: plan.Title})
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
		res, err = c.start(limited, prep.start)
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

// limit is ctx with the time of the call.
func (c *debugCall) limit(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, time.Duration(c.seconds*float64(time.Second)), errDebugTimeout)
}

// find sets the session that the action is about. Where it needs none, there may be none.
func (c *debugCall) find() error {
	if c.action.session == noSession {
		return nil
	}
	s, err := c.d.Find(c.in.Session)
	switch {
	case err != nil && (c.in.Session != "" || c.action.session == openSession):
		return err
	case err != nil:
		return nil
	case s.State() != dap.StateTerminated:
		c.session = s
	case c.in.Session != "" || c.action.session == anySession:
		c.session = s // it can tell how it ended
	case c.action.session == openSession:
		return fmt.Errorf("%w The last one, %s, has ended: %s", dap.ErrNoSession, s.ID(), ending(s.Peek()))
	}
	return nil
}

// observe shows the user what the program prints and where it stops, as long as the call runs.
func (c *debugCall) observe(s *dap.Session) {
	c.live = toolkit.NewLiveOutput(c.call.Update, nil)
	terminal := func(id string) { c.call.Update(agent.Progress{TerminalID: id}) }
	if !c.action.starts && !c.action.resumes {
		terminal = nil // nothing happens there
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

// cancelled ends the debug session of a call whose turn was cancelled: nothing of the program is left running.
func (c *debugCall) cancelled(ctx context.Context) *agent.Result {
	text := context.Cause(ctx).Error()
	s := c.session
	if s != nil {
		if name, _, child := strings.Cut(s.ID(), "."); child { // its program does not run without the others
			if root, err := c.d.Find(name); err == nil {
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

// result is text for the model, within its bounds; what does not fit is kept as an artifact.
func (c *debugCall) result(ctx context.Context, words string) *agent.Result {
	return &agent.Result{Text: text.Visible(toolkit.BoundedText(ctx, c.call, "debug", words, c.notes)), Locations: c.followed}
}

func (c *debugCall) follow(path string, line int) {
	if path != "" {
		c.followed = append(c.followed, agent.Location{Path: path, Line: line})
	}
}

// place is a path and a line for people.
func (c *debugCall) place(path string, line, column int) string {
	text := toolkit.Display(&c.call.Workspace, path)
	if line > 0 {
		text += ":" + strconv.Itoa(line)
		if column > 0 {
			text += ":" + strconv.Itoa(column)
		}
	}
	return text
}
