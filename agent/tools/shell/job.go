package shell

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/toolkit"
)

//go:embed job.md
var jobText string

type jobInput struct {
	List   bool     `json:"list,omitzero" jsonschema:"list all jobs"`
	Poll   []string `json:"poll,omitzero" jsonschema:"IDs of jobs to show, with their output"`
	Cancel []string `json:"cancel,omitzero" jsonschema:"IDs of jobs to stop"`
	Wait   float64  `json:"wait,omitzero" jsonschema:"seconds to wait until one of the polled jobs ends, up to 300; 0 if absent"`
	After  float64  `json:"after,omitzero" jsonschema:"start a timer: seconds until it ends, 1 to 86400"`
	Note   string   `json:"note,omitzero" jsonschema:"what you want to be reminded of when the timer ends"`
}

// jobTool is the name of the tool.
const jobTool = "job"

// Job returns the tool "job", which lists, awaits and ends the session's background jobs, and starts timers.
func Job() agent.Tool {
	return agent.NewTool(agent.ToolFuncs[jobInput]{
		Schemas: schemas,
		Name:    jobTool, Description: toolkit.Description(jobText), Kind: agent.KindOther,
		Plan: func(_ context.Context, _ *agent.Call, in *jobInput) (*agent.CallPlan, error) {
			switch {
			case !in.List && len(in.Poll) == 0 && len(in.Cancel) == 0 && in.After == 0:
				return nil, fmt.Errorf("%w for job: give an action: list, poll, cancel or after", agent.ErrBadInput)
			case in.After != 0 && (in.After < minTimer || in.After > maxTimer):
				return nil, fmt.Errorf("%w for job: after is %g; a timer takes %g to %g seconds", agent.ErrBadInput, in.After, minTimer, maxTimer)
			case in.Note != "" && in.After == 0:
				return nil, fmt.Errorf("%w for job: a note is for a timer; give after as well", agent.ErrBadInput)
			case in.Wait < 0 || in.Wait > maxJobWait:
				return nil, fmt.Errorf("%w for job: wait is %g; it can be 0 to %g seconds", agent.ErrBadInput, in.Wait, maxJobWait)
			case in.After > 0:
				return &agent.CallPlan{Title: "Set a timer for " + time.Duration(in.After*float64(time.Second)).String()}, nil
			case len(in.Cancel) > 0:
				return &agent.CallPlan{Title: "End " + strings.Join(in.Cancel, ", ")}, nil
			case len(in.Poll) > 0:
				return &agent.CallPlan{Title: "Look at " + strings.Join(in.Poll, ", ")}, nil
			default:
				return &agent.CallPlan{Title: "List jobs"}, nil
			}
		},
		Run: runJob,
	})
}

func runJob(ctx context.Context, call *agent.Call, in *jobInput) (*agent.Result, error) {
	all := jobsOf(call)
	var texts []string
	ending, err := all.find(in.Cancel)
	if err != nil {
		return nil, err
	}
	polled, err := all.find(in.Poll)
	if err != nil {
		return nil, err
	}
	if err := endJobs(ctx, ending); err != nil {
		return nil, err
	}
	for _, b := range ending {
		texts = append(texts, all.describe(ctx, b, maxReported))
	}
	if err := waitForOne(ctx, polled, time.Duration(in.Wait*float64(time.Second))); err != nil {
		return nil, err
	}
	for _, b := range polled {
		texts = append(texts, all.describe(ctx, b, toolkit.MaxText/len(polled)))
	}
	if in.After > 0 {
		started, err := startTimer(ctx, call, in)
		if err != nil {
			return nil, err
		}
		texts = append(texts, started+"\n\nYou will be notified when it ends. Do not wait for it: end your turn when nothing else is to be done.")
	}
	if in.List {
		texts = append(texts, all.listing())
	}
	return &agent.Result{Text: strings.Join(texts, "\n\n")}, nil
}

// waitForOne waits until one of the jobs has ended, at most for d.
func waitForOne(ctx context.Context, polled []*job, d time.Duration) error {
	if d <= 0 || len(polled) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, d, errJobWait)
	defer cancel()
	one := make(chan struct{}, len(polled))
	for _, b := range polled {
		go func() {
			select {
			case <-b.done:
				one <- struct{}{}
			case <-ctx.Done():
			}
		}()
	}
	select {
	case <-one:
		return nil
	case <-ctx.Done():
		if cause := context.Cause(ctx); !errors.Is(cause, errJobWait) {
			return cause
		}
		return nil
	}
}

// errJobWait is the cause when the wait of a poll times out.
var errJobWait = errors.New("the wait has timed out")

// listing returns one line for each job.
func (j *jobs) listing() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.list) == 0 {
		return "There are no background jobs."
	}
	var s strings.Builder
	for _, b := range j.list {
		state := fmt.Sprintf("runs for %s", time.Since(b.began).Round(time.Second))
		switch {
		case b.result != nil && b.result.IsError:
			state = fmt.Sprintf("failed after %s", b.took.Round(time.Second))
		case b.result != nil:
			state = fmt.Sprintf("ended after %s", b.took.Round(time.Second))
		}
		fmt.Fprintf(&s, "%s %s: %s\n", b.id, state, b.title)
	}
	return strings.TrimSuffix(s.String(), "\n")
}
