package tools

import "context"

// output collects what the command has printed.
func (r *bashRun) output(ctx context.Context) (bashOutput, error) {
	out, err := r.exec.Output(ctx)
	if err != nil {
		return bashOutput{}, err
	}
	if r.exec.TerminalID() != "" {
		b := bashOutput{text: tidyOutput(out.Text), truncated: out.Truncated}
		if out.Truncated {
			b.notes = append(b.notes, "The start of the output is cut off: the editor's terminal keeps the end only.")
		}
		return b, nil
	}
	return r.live.bounded(ctx, r.call, "bash", out.Text), nil
}
