package shell

import (
	"context"

	"github.com/gajae-code/gjc/agent/toolkit"
)

// output collects the output of a command.
func (r *bashRun) output(ctx context.Context) (toolkit.BashOutput, error) {
	out, err := r.exec.Output(ctx)
	if err != nil {
		return toolkit.BashOutput{}, err
	}
	if r.exec.TerminalID() != "" {
		b := toolkit.BashOutput{Text: toolkit.TidyOutput(out.Text), Truncated: out.Truncated}
		if out.Truncated {
			b.Notes = append(b.Notes, "The start of the output is cut off: the editor's terminal keeps only the end.")
		}
		return b, nil
	}
	return r.live.Bounded(ctx, r.call, "bash", out.Text), nil
}
