package headless

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/trust"
)

// Formats are the output formats.
func Formats() []string { return []string{formatText, formatJSON, formatStream} }

const (
	formatText   = "text"
	formatJSON   = "json"
	formatStream = "stream-json"
)

// Output prints a run.
type Output struct {
	// Format is one of [Formats].
	Format string
	// Out receives the result, Err texts for the user.
	Out, Err io.Writer
	// Progress receives what the agent does. Optional.
	Progress io.Writer
	// Gone is called when Out cannot be written any longer. Required.
	Gone context.CancelCauseFunc

	mu     sync.Mutex // guards failed
	failed error      // of writing to out
}

// Update prints an update.
func (o *Output) Update(n *acp.SessionNotification) {
	if o.Progress != nil {
		showProgress(o.Progress, n)
	}
	if o.Format == formatStream {
		o.line(struct {
			JSONRPC string                   `json:"jsonrpc"`
			Method  string                   `json:"method"`
			Params  *acp.SessionNotification `json:"params"`
		}{"2.0", acp.MethodSessionUpdate.Name, n})
	}
}

// line prints JSON on a line.
func (o *Output) line(v any) {
	data, err := jsonx.Marshal(v)
	if err == nil {
		data = append(data, '\n')
	}
	o.write(data, err)
}

func (o *Output) write(data []byte, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.failed != nil {
		return
	}
	if err == nil {
		_, err = o.Out.Write(data)
	}
	if o.failed = err; err != nil {
		o.Gone(err)
	}
}

// Finish prints the result and returns the exit status.
func (o *Output) Finish(r *Result) Status {
	switch o.Format {
	case formatJSON:
		o.line(r)
	case formatStream:
		o.line(struct {
			Type string `json:"type"`
			*Result
		}{"result", r})
	default:
		switch {
		case r.Output != nil:
			o.write(append(slices.Clone(r.Output), '\n'), nil)
		case r.Answer != "" && r.Status != Unfit:
			o.write([]byte(r.Answer+"\n"), nil)
		}
	}
	o.mu.Lock()
	failed := o.failed
	o.mu.Unlock()
	if failed != nil {
		if !errors.Is(failed, syscall.EPIPE) { // the reader has enough
			fmt.Fprintf(o.Err, "gjc: writing the result: %v\n", failed)
		}
		return Failed
	}
	if o.Format == formatText {
		showWorktree(o.Err, r.Worktree)
		for _, refused := range r.Refused {
			if refused.Reason != "" {
				fmt.Fprintf(o.Err, "gjc: refused: %s: %s\n", trust.Printable(refused.Title), refused.Reason)
			}
		}
		for _, text := range slices.Concat(r.Warnings, r.Errors) {
			prefix := "gjc: "
			for line := range strings.SplitSeq(text, "\n") {
				fmt.Fprintf(o.Err, "%s%s\n", prefix, trust.Printable(line))
				prefix = "  "
			}
		}
	}
	return r.Status
}

// showWorktree prints where the changes of a run in a worktree are.
func showWorktree(w io.Writer, tree *Worktree) {
	if tree == nil {
		return
	}
	if len(tree.Applied) > 0 {
		fmt.Fprintln(w, "gjc: the changes in the working tree:")
	}
	for _, f := range tree.Applied {
		state := f.Outcome
		if f.Reason != "" {
			state += ": " + f.Reason
		}
		fmt.Fprintf(w, "  %-8s %s %s\n", f.Kind, trust.Printable(f.Path), trust.Printable(state))
	}
	if len(tree.Branches) == 0 && len(tree.Applied) == 0 && tree.Path == "" {
		fmt.Fprintln(w, "gjc: nothing was changed in the worktree, which is removed")
	}
	for i := range tree.Branches {
		b := &tree.Branches[i]
		also := ""
		if len(tree.Applied) > 0 {
			also = "all "
		}
		fmt.Fprintf(w, "gjc: %sthe changes are on the branch %s of %s:\n", also, trust.Printable(b.Name), trust.Printable(b.Repository))
		for _, f := range b.Files {
			lines := fmt.Sprintf("+%d -%d", f.Added, f.Removed)
			if f.Binary {
				lines = "binary"
			}
			fmt.Fprintf(w, "  %-8s %s %s\n", f.Kind, trust.Printable(f.Path), lines)
		}
		if also == "" {
			fmt.Fprintf(w, "  to have them in the working tree: %s\n", trust.Printable(b.Command))
		}
	}
}

// showProgress prints what the agent does, for people.
func showProgress(w io.Writer, n *acp.SessionNotification) {
	switch u := n.Update.(type) {
	case *acp.ToolCall:
		fmt.Fprintf(w, "· %s\n", trust.Printable(u.Title))
	case *acp.ToolCallUpdate:
		if u.Status.Or("") == acp.ToolCallStatusFailed {
			fmt.Fprintln(w, "  failed")
		}
	case *acp.Notice:
		fmt.Fprintf(w, "! %s\n", trust.Printable(u.Title))
	}
}
