package shell

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/toolkit"
	"github.com/gajae-code/gjc/internal/text"
)

//go:embed eval.md
var evalText string

// Limits of the eval tool.
const (
	evalTimeout    = 30 // seconds, for a cell
	maxEvalTimeout = 600
	maxCells       = 50
	maxCode        = 1 << 20 // bytes, of all cells
)

type evalInput struct {
	Cells []evalCell `json:"cells" jsonschema:"what to run, in order; a cell that fails ends the call"`
}

type evalCell struct {
	Language string `json:"language" jsonschema:"py, for Python"`
	Code     string `json:"code" jsonschema:"the code"`
	Title    string `json:"title,omitzero" jsonschema:"what it does, in a few words"`
	Timeout  int    `json:"timeout,omitzero" jsonschema:"seconds, 1 to 600; 30 if absent"`
	Reset    bool   `json:"reset,omitzero" jsonschema:"start with a new interpreter"`
}

// Eval returns the tool "eval", which runs Python code in an interpreter that lasts as long as the session.
func Eval(set *BashSettings) agent.Tool {
	return agent.NewTool(agent.ToolFuncs[evalInput]{
		Schemas: schemas,
		Name:    "eval", Description: toolkit.Description(evalText), Kind: agent.KindExecute, Exclusive: true, Program: "python3",
		Plan: func(_ context.Context, _ *agent.Call, in *evalInput) (*agent.CallPlan, error) {
			if err := in.check(); err != nil {
				return nil, err
			}
			return in.plan(), nil
		},
		Run: func(ctx context.Context, call *agent.Call, in *evalInput) (*agent.Result, error) {
			if err := in.check(); err != nil {
				return nil, err
			}
			k := kernelsOf(call)
			k.running.Lock()
			defer k.running.Unlock()
			e := &evalRun{call: call, set: set, in: in, kernels: k}
			return e.run(ctx)
		},
	})
}

func (in *evalInput) check() error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("%w for eval: "+format, append([]any{agent.ErrBadInput}, args...)...)
	}
	if len(in.Cells) == 0 {
		return bad("cells is empty")
	}
	if len(in.Cells) > maxCells {
		return bad("there are %d cells; at most %d run in one call", len(in.Cells), maxCells)
	}
	all := 0
	for i, c := range in.Cells {
		all += len(c.Code)
		switch {
		case c.Language != "py" && c.Language != "python":
			return bad("cell %d: unknown language %q; use py", i+1, c.Language)
		case strings.TrimSpace(c.Code) == "" && !c.Reset:
			return bad("cell %d: code is empty", i+1)
		case strings.ContainsRune(c.Code, 0):
			return bad("cell %d: the code contains a NUL byte", i+1)
		case c.Timeout < 0 || c.Timeout > maxEvalTimeout:
			return bad("cell %d: timeout is %d; it must be 1 to %d seconds", i+1, c.Timeout, maxEvalTimeout)
		case all > maxCode:
			return bad("the code is larger than %s; put it in a file and import that", toolkit.Size(maxCode))
		}
	}
	return nil
}

// plan shows all of the code. The effects of Python code are unknown, so it is judged as a command that may do anything, and "always"
// permits only this code.
func (in *evalInput) plan() *agent.CallPlan {
	words, shown := []string{"python3", "-c"}, make([]string, 0, len(in.Cells))
	for _, c := range in.Cells {
		words = append(words, c.Code)
		shown = append(shown, codeBlock(c.Code))
	}
	title := cmp.Or(in.Cells[0].Title, in.Cells[0].Code)
	title = "Python: " + toolkit.CommandTitle(title)
	if n := len(in.Cells); n > 1 {
		title += fmt.Sprintf(" (and %s)", text.Count(n-1, "more cell"))
	}
	return &agent.CallPlan{
		Title: title, Content: []agent.Content{agent.TextContent{Text: strings.Join(shown, "\n\n")}},
		Effects: []approval.Effect{toolkit.ServerEffect(title, words...)},
	}
}

// evalRun is a running call.
type evalRun struct {
	call    *agent.Call
	set     *BashSettings
	in      *evalInput
	kernels *kernels
	notes   []string
	// tail holds at least the last [toolkit.MaxText] bytes of the output.
	tail []byte
}

// errCellTimeout ends a cell.
var errCellTimeout = errors.New("the cell timed out")

func (e *evalRun) run(ctx context.Context) (*agent.Result, error) {
	shown := e.in.plan().Content
	live := toolkit.NewLiveOutput(e.call.Update, shown)
	defer live.Close()
	defer e.call.Values.FilesChanged() // whatever the code did to files
	failed := ""
	for i := range e.in.Cells {
		var err error
		if failed, err = e.cell(ctx, i, live); err != nil {
			return nil, err
		}
		if failed != "" {
			if left := len(e.in.Cells) - i - 1; left > 0 {
				failed += " " + text.Count(left, "cell") + " after it did not run."
			}
			break
		}
	}
	out := e.output(ctx, live)
	text := cmp.Or(strings.TrimRight(out.Text, "\n"), "(no output)")
	text = toolkit.JoinNotes(text, append(out.Notes, e.notes...))
	content := append(shown, agent.TextContent{Text: text})
	if failed != "" {
		text += "\n\n" + failed
		content = append(content, agent.TextContent{Text: failed})
	}
	return &agent.Result{Text: text, Content: content, IsError: failed != ""}, nil
}

// cell runs one cell. failed says how it failed; empty for success.
func (e *evalRun) cell(ctx context.Context, i int, live *toolkit.LiveOutput) (failed string, err error) {
	c := &e.in.Cells[i]
	name := "The cell"
	if len(e.in.Cells) > 1 {
		name = fmt.Sprintf("Cell %d of %d", i+1, len(e.in.Cells))
	}
	after := context.WithoutCancel(ctx)
	if c.Reset {
		e.kernels.drop(after)
	}
	k, fresh, err := e.kernels.get(ctx, e.call, e.set)
	if err != nil {
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		return "", fmt.Errorf("cannot start Python: %w", err)
	}
	if fresh && !c.Reset {
		e.notes = append(e.notes, "A new interpreter was started: only what these cells define is defined in it.")
	}
	limit := evalTimeout
	if c.Timeout > 0 {
		limit = c.Timeout
	}
	if e.set.MaxTimeout > 0 {
		limit = min(limit, max(1, int(e.set.MaxTimeout)))
	}
	cellCtx, cancel := context.WithTimeoutCause(ctx, time.Duration(limit)*time.Second, errCellTimeout)
	defer cancel()
	end, err := k.run(cellCtx, e.kernels.name(), c.Code, func(b []byte) {
		e.keep(b)
		live.Write(b)
	})
	if err != nil {
		return "", err
	}
	why := fmt.Sprintf("%s timed out after %s", name, inSeconds(float64(limit)))
	if ctx.Err() != nil {
		why = name + " was cancelled"
	}
	const gone = "The interpreter and everything defined in it are gone; the next call starts a new one."
	switch end {
	case cellOK:
		return "", nil
	case cellExit:
		e.notes = append(e.notes, name+" called sys.exit, which ends the cell; the interpreter keeps running.")
		return "", nil
	case cellInterrupted:
		if cellCtx.Err() == nil {
			return name + " raised KeyboardInterrupt.", nil
		}
		return why + " and was interrupted. What was defined before is still there.", nil
	case cellKilled:
		e.kernels.drop(after)
		return why + " and did not stop, so Python was killed. " + gone, nil
	case cellDied:
		status := k.program.Status()
		e.kernels.drop(after)
		return fmt.Sprintf("%s: Python exited while it ran: %s. %s", name, how(status), gone), nil
	default:
		return name + " failed.", nil
	}
}

// keep appends to the kept end of the output.
func (e *evalRun) keep(b []byte) {
	e.tail = append(e.tail, b...)
	if len(e.tail) > 4*toolkit.MaxText {
		e.tail = append(e.tail[:0], e.tail[len(e.tail)-toolkit.MaxText:]...)
	}
}

// output returns the output of the cells.
func (e *evalRun) output(ctx context.Context, live *toolkit.LiveOutput) toolkit.BashOutput {
	return live.Bounded(context.WithoutCancel(ctx), e.call, "eval", string(e.tail[max(0, len(e.tail)-toolkit.MaxText):]))
}
