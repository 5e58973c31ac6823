package server

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rs/zerolog"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/content"
	"github.com/gajae-code/gjc/acp/server/air"
	"github.com/gajae-code/gjc/acp/server/followed"
	"github.com/gajae-code/gjc/acp/server/relay"
	"github.com/gajae-code/gjc/acp/server/slash"
	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/goal"
	"github.com/gajae-code/gjc/agent/tools/shell"
	"github.com/gajae-code/gjc/agent/wake"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
)

// promptHandlers handles prompts, steering and cancellation.
type promptHandlers struct {
	sessions *registry
	models   *models
	tasks    *background
	log      zerolog.Logger
}

// Prompt queues a turn. The prompts of a session run one after the other, in the order of the wire.
func (h *promptHandlers) Prompt(ctx context.Context, p *acp.PromptRequest) (acp.Reply[acp.PromptResponse], error) {
	s, err := h.sessions.find(p.SessionID)
	if err != nil {
		return nil, err
	}
	if f := s.followed.Load(); f != nil {
		return h.promptElsewhere(ctx, f, p)
	}
	h.models.refresh(ctx) // before the session's model is called: the last call may have asked for a login
	begin, command, err := newTurn(p)
	if err != nil {
		return nil, err
	}
	report := h.changeReport(s, p.Meta)
	type started struct {
		opened *opened
		turn   *agent.Turn
		jobs   bool
	}
	begun := after(&s.opening, func(o *opened) started {
		s.out.beginTurn()
		wake.Prompted(o.Session)
		return started{o, begin(o), shell.JobsRunning(o.Values())}
	})
	return func() (*acp.PromptResponse, error) {
		b, err := begun()
		if err != nil {
			return nil, err
		}
		r := b.turn.Wait(ctx)
		if report != "" {
			r.Changes.Incomplete = r.Changes.Incomplete || b.jobs || shell.JobsRunning(b.opened.Values())
			ws := b.opened.Workspace()
			asked := !command || r.Usage != (providers.Usage{})
			s.out.send(air.Report(report, append([]string{ws.Cwd}, ws.Additional...), &r, asked))
		}
		s.out.endTurn()
		acp.AfterResponse(ctx, func() { s.refreshCommands(b.opened, h.tasks) })
		if b.opened.takenOver() {
			return nil, fmt.Errorf("the turn has ended: %w; load the session again", sessions.ErrTakenOver)
		}
		resp := &acp.PromptResponse{StopReason: acp.StopReason(r.Stop), Usage: usage(r.Usage)}
		if r.Err != nil {
			f, ok := s.out.turnFailure(r.Err)
			if !ok {
				return nil, r.Err
			}
			resp.StopReason = acp.StopReasonEndTurn // the client reads the failure instead
			f.Put(&resp.Meta)
		}
		return resp, nil
	}, nil
}

// promptElsewhere sends a prompt to the process that has the session open.
func (h *promptHandlers) promptElsewhere(ctx context.Context, f *followed.Session, p *acp.PromptRequest) (acp.Reply[acp.PromptResponse], error) {
	if typed, err := slash.Parse(p.Prompt); err == nil && typed.IsBuiltIn() {
		return nil, withData(acp.ErrorCodeInvalidRequest, "what this command shows is seen only where the session is open: "+f.State().Reason,
			errorData{Kind: "session_elsewhere", SessionID: string(p.SessionID)})
	}
	wait, ok := f.Prompt(p)
	if !ok {
		return nil, elsewhere(p.SessionID, f)
	}
	return func() (*acp.PromptResponse, error) {
		resp, err := wait(ctx)
		if !errors.Is(err, followed.ErrOpen) {
			return resp, err
		}
		here, err := h.Prompt(ctx, p)
		if err != nil {
			return nil, err
		}
		return here()
	}, nil
}

// changeReport returns the ID with which a prompt asks for a report on the files that its turn changes; empty for none.
func (h *promptHandlers) changeReport(s *session, m acp.Meta) string {
	if !s.out.air.Has(air.FileChangeReport) {
		return ""
	}
	id, err := air.ReportRequest(m)
	if err != nil {
		h.log.Warn().Str("session", string(s.id)).Err(err).Msg("a part of the prompt is malformed and ignored")
	}
	return id
}

// newTurn returns a function that queues the turn for a prompt: a slash command's turn or a model's turn.
func newTurn(p *acp.PromptRequest) (begin func(*opened) *agent.Turn, command bool, err error) {
	prompt := agent.Prompt{Trace: traceOf(p.Meta)}
	if prompt.Output, err = outputOf(p.Meta); err != nil {
		return nil, false, err
	}
	if prompt.MessageID, err = relay.MessageID(p.Meta); err != nil {
		return nil, false, invalidParams("%v", err)
	}
	typed, err := slash.Parse(p.Prompt)
	if err != nil {
		return nil, false, invalidParams("%v", err)
	}
	if typed != nil && prompt.Output != nil {
		return nil, false, invalidParams("a slash command has no %s; send the command first, then a prompt with the schema", content.OutputSchemaMeta)
	}
	if typed != nil {
		return func(o *opened) *agent.Turn { return o.commands.Start(o.Session, typed, prompt) }, true, nil
	}
	parts, err := content.PromptParts(p.Prompt, 0)
	if err != nil {
		return nil, false, invalidParams("%v", err)
	}
	if named := slash.Mentions(p.Prompt); len(named) > 0 {
		return func(o *opened) *agent.Turn {
			prompt.Prepare = o.commands.Attach(o.Session, parts, named)
			return o.Prompt(prompt)
		}, false, nil
	}
	prompt.Parts = parts
	return func(o *opened) *agent.Turn { return o.Prompt(prompt) }, false, nil
}

// outputOf returns the format of the answer in a request's _meta; nil for text.
func outputOf(m acp.Meta) (*providers.OutputFormat, error) {
	var schema jsonx.Raw
	ok, err := m.Get(content.OutputSchemaMeta, &schema)
	if err != nil {
		return nil, invalidParams("%s: %v", content.OutputSchemaMeta, err)
	}
	if !ok {
		return nil, nil
	}
	output, err := agent.NewOutput(schema)
	if err != nil {
		return nil, invalidParams("%s: %v", content.OutputSchemaMeta, err)
	}
	return output, nil
}

// traceOf returns the W3C trace context in a request's _meta.
func traceOf(m acp.Meta) agent.Trace {
	var trace agent.Trace
	for _, key := range []string{"traceparent", "tracestate", "baggage"} {
		var value string
		if ok, err := m.Get(key, &value); ok && err == nil {
			if trace == nil {
				trace = make(agent.Trace)
			}
			trace[key] = value
		}
	}
	return trace
}

// Cancel ends the running turn and the queued ones. It does nothing for a session that is idle or not open.
func (h *promptHandlers) Cancel(ctx context.Context, p *acp.CancelNotification) error {
	s, err := h.sessions.find(p.SessionID)
	if err == nil {
		if f := s.followed.Load(); f != nil {
			ok, err := f.Cancel(ctx, p)
			if !ok {
				err = elsewhere(p.SessionID, f)
			}
			return err
		}
	}
	if err != nil {
		for _, s := range h.sessions.all() { // the ID may be that of a subagent
			s.then(func(o *opened, err error) {
				if err == nil {
					o.CancelChild(string(p.SessionID))
				}
			})
		}
		return err
	}
	s.then(func(o *opened, err error) {
		if err == nil {
			wake.Cancelled(o.Session)
			o.Cancel()
		}
	})
	return nil
}

// usage returns the usage of all model calls of a turn; nil for none.
func usage(u providers.Usage) *acp.Usage {
	if u == (providers.Usage{}) {
		return nil
	}
	out := &acp.Usage{
		InputTokens: int64(u.Input), OutputTokens: int64(u.Output),
		TotalTokens: int64(u.Input + u.Output + u.CacheRead + u.CacheWrite),
	}
	for _, part := range []struct {
		n  int
		to **int64
	}{{u.Thinking, &out.ThoughtTokens}, {u.CacheRead, &out.CachedReadTokens}, {u.CacheWrite, &out.CachedWriteTokens}} {
		if part.n > 0 {
			*part.to = new(int64(part.n))
		}
	}
	return out
}

type steerParams struct {
	SessionID acp.SessionID `json:"sessionId"`
	Prompt    []jsonx.Raw   `json:"prompt"`
	Meta      struct {
		Steering struct {
			IdleBehavior string `json:"idleBehavior"`
		} `json:"steering"`
	} `json:"_meta"`
}

type steerResult struct {
	Outcome string `json:"outcome"`
	Reason  string `json:"reason,omitzero"`
}

// steer handles "_session/steering", which other agents support too: it adds a prompt to the running turn. If no turn is running,
// it asks a client that supports that to send a prompt instead. For other clients it starts a turn that no request waits for.
func (h *promptHandlers) steer(_ context.Context, p *steerParams) (func() (any, error), error) {
	s, err := h.sessions.lookup(p.SessionID)
	if err != nil {
		return nil, err
	}
	var blocks []acp.ContentBlock
	for i, raw := range p.Prompt {
		block, err := acp.DecodeContentBlock(raw)
		if err != nil {
			return nil, invalidParams("prompt block %d: %v", i, err)
		}
		blocks = append(blocks, block)
	}
	parts, err := content.PromptParts(blocks, 0)
	if err != nil {
		return nil, invalidParams("%v", err)
	}
	orPrompt := p.Meta.Steering.IdleBehavior != "promptRequired"
	queued := after(&s.opening, func(o *opened) func() (agent.Steered, error) {
		wake.Prompted(o.Session)
		return o.QueueSteer(parts, orPrompt)
	})
	return func() (any, error) {
		wait, err := queued()
		if err != nil {
			return nil, err
		}
		done, err := wait()
		switch {
		case err != nil:
			return nil, err
		case done.Injected:
			return steerResult{Outcome: "injected"}, nil
		case done.Turn == nil:
			return steerResult{Outcome: "promptRequired", Reason: "noRunningTurn"}, nil
		}
		s.out.beginTurn()
		if !h.tasks.run(func() { // ends with the turn, which ends with the session
			if r := done.Turn.Wait(context.Background()); r.Err != nil {
				s.out.turnFailed(r.Err)
			}
			s.out.endTurn()
		}) {
			s.out.endTurn()
		}
		return steerResult{Outcome: "startedNewTurn"}, nil
	}, nil
}

type stopTaskParams struct {
	SessionID   acp.SessionID `json:"sessionId"`
	AsyncTaskID string        `json:"asyncTaskId"`
}

type stopTaskResult struct {
	Stopped bool `json:"stopped"`
}

// stopTask handles "_session/async_task/stop" of JetBrains Air: it ends a background job.
func (h *promptHandlers) stopTask(ctx context.Context, p *stopTaskParams) (any, error) {
	s, err := h.sessions.lookup(p.SessionID)
	if err != nil {
		return nil, err
	}
	o, err := s.wait(ctx)
	if err != nil {
		return nil, err
	}
	stopped, err := shell.StopJob(ctx, o.Values(), p.AsyncTaskID)
	if errors.Is(err, shell.ErrNoJob) {
		return nil, invalidParams("no task %q; the tasks of a session are those of its async_task_spawned updates", p.AsyncTaskID)
	}
	return stopTaskResult{stopped}, err
}

// changeGoal handles "_session/goal" of JetBrains Air: it changes the goal of a session, also while a turn runs.
func (h *promptHandlers) changeGoal(_ context.Context, p *air.GoalChange) (func() (any, error), error) {
	s, err := h.sessions.lookup(p.SessionID)
	if err != nil {
		return nil, err
	}
	var invalid error
	queued := after(&s.opening, func(o *opened) agent.Pending {
		return agent.ChangeGoal(o.Session, func(old *goal.Goal, budget int, now time.Time) (changed *goal.Goal, err error) {
			changed, invalid = p.Apply(old, budget, now)
			return changed, invalid
		})
	})
	return func() (any, error) {
		wait, err := queued()
		if err == nil {
			err = wait()
		}
		if err != nil && errors.Is(err, invalid) {
			return nil, invalidParams("%v", err)
		}
		return struct{}{}, err
	}, nil
}
