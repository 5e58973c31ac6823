package agent

import (
	"context"
	"errors"
	"time"

	"github.com/gajae-code/gjc/agent/contextwindow"
	"github.com/gajae-code/gjc/agent/goal"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/telemetry"
	"github.com/gajae-code/gjc/providers"
)

// Event is one step of a session, for display. A [Session] emits its events in order, and [Replay] returns those of a stored
// conversation in the same form.
type Event interface{ isEvent() }

// MessageDelta is a further part of a message. Text is never empty. All deltas of one message have the same ID, and text and
// thinking do not share an ID; a new ID begins a new message.
type MessageDelta struct {
	MessageID string
	Speaker   Speaker
	Text      string
	// Content is set instead of Text for a part of a replayed user message that is not text.
	Content Content
}

// Speaker says who wrote a [MessageDelta].
type Speaker uint8

// The speakers.
const (
	SpeakerUser Speaker = iota
	SpeakerAgent
	SpeakerThought
)

// ToolStarted announces a tool call. It is pending: it may still have to be approved.
type ToolStarted struct {
	CallID    string
	Name      string
	Title     string
	Kind      ToolKind
	Input     jsonx.Raw
	Content   []Content
	Locations []Location
}

// ToolProgress reports the progress of a call. Nil and empty fields have not changed.
type ToolProgress struct {
	CallID string
	// Title and Kind replace those of the start.
	Title string
	Kind  ToolKind
	// Running reports that the call runs now.
	Running bool
	// Content is everything shown for the call; nil if it has not changed.
	Content []Content
	// Locations lists all locations of the call; nil if they have not changed.
	Locations []Location
	// Output is the text that a command has printed since the last report; Content has it too. Other tools use only
	// Content.
	Output string
}

// ToolEnded is the end of a call. Each started call ends exactly once, within its turn.
type ToolEnded struct {
	CallID    string
	Failed    bool
	Content   []Content
	Locations []Location
	// Raw is the call's structured output; nil for none.
	Raw jsonx.Raw
}

// PromptStored reports that the log has the message of a prompt. Other events of its turn follow, unless it is cut. A replay does not contain it.
type PromptStored struct{ MessageID string }

// PlanChanged carries the whole plan.
type PlanChanged struct{ Entries []PlanEntry }

// PlanText is more of the plan that a model is writing for a call of [PresentTool]. Text is empty if the model has broken off: the call
// does not follow. Otherwise its [ToolStarted] carries the whole plan. A replay does not contain it.
type PlanText struct{ CallID, Text string }

// GoalChanged carries the goal of the session; nil if it was removed. The goal must not be changed. A replay does not contain it.
type GoalChanged struct{ Goal *goal.Goal }

// UsageChanged reports how full the model's window is.
type UsageChanged struct {
	// Used and Size are in tokens of the current context.
	Used, Size int
	// CostUSD is the cost of the session so far; zero if the price of a part of it is unknown.
	CostUSD float64
	// Quotas are the limits of the account that has answered; nil if they are unknown.
	Quotas []providers.Quota
}

// InfoChanged reports the session's title and the time of its last use.
type InfoChanged struct {
	Title     string
	UpdatedAt time.Time
}

// Noticed is a line for the user about something that concerns the session.
type Noticed struct {
	// ID is the ID for a client that shows it as a message; empty for a new one.
	ID       string
	Severity Severity
	Title    string
	Detail   string
}

// Severity grades a [Noticed].
type Severity string

// The severities.
const (
	SeverityInfo    Severity = "info"
	SeverityWarning Severity = "warning"
	SeverityError   Severity = "error"
)

// CompactionChanged reports the progress of a compaction. Its summary arrives as [CompactionDelta] events in between. In a replay
// it arrives as a whole with the end.
type CompactionChanged struct {
	ID     string
	Status CompactionStatus
	// Reason is empty in a replay of another program's compaction.
	Reason contextwindow.Reason
	// Before and After are the numbers of tokens in the model's window before and after the compaction; zero if unknown. After is
	// set at the end, and is an estimate.
	Before, After int
	// ShortSummary is one line of the summary. It is set at the end.
	ShortSummary string
	// Summary is the whole summary. It is set only in a replay.
	Summary string
	// Error says why the compaction failed.
	Error string
}

// CompactionDelta is more of a compaction's summary.
type CompactionDelta struct{ ID, Text string }

// CompactionStatus is the state of a compaction, in ACP's terms.
type CompactionStatus string

// The statuses.
const (
	CompactionRunning   CompactionStatus = "in_progress"
	CompactionCompleted CompactionStatus = "completed"
	CompactionFailed    CompactionStatus = "failed"
	CompactionCancelled CompactionStatus = "cancelled"
)

// SubagentChanged reports the start and the end of a child session. The child's own events go to its [Surroundings].
type SubagentChanged struct {
	Subagent
	// Running reports whether the child works on Prompt. If not, it has ended with Stop, or has failed with Err.
	Running bool
	Prompt  string
	Stop    StopReason
	Err     error
}

// ConfigChanged reports a new model, level or mode that was not set with a [Change].
type ConfigChanged struct {
	Now Snapshot
	// Mode reports that the mode has changed.
	Mode bool
}

// OwnTurnChanged reports the start and the end of a turn that gjc has begun, without a prompt. The start precedes all other events of the
// turn, and the end follows them.
type OwnTurnChanged struct {
	// Running reports that the turn begins. If not, it has ended with Stop, or has failed with Err.
	Running bool
	Stop    StopReason
	Err     error
}

func (ConfigChanged) isEvent()     {}
func (OwnTurnChanged) isEvent()    {}
func (GoalChanged) isEvent()       {}
func (PlanText) isEvent()          {}
func (PromptStored) isEvent()      {}
func (CompactionChanged) isEvent() {}
func (CompactionDelta) isEvent()   {}
func (SubagentChanged) isEvent()   {}

func (MessageDelta) isEvent() {}
func (ToolStarted) isEvent()  {}
func (ToolProgress) isEvent() {}
func (ToolEnded) isEvent()    {}
func (PlanChanged) isEvent()  {}
func (UsageChanged) isEvent() {}
func (InfoChanged) isEvent()  {}
func (Noticed) isEvent()      {}

// spans records the turns of a session for its tracer.
type spans struct{ *Session }

// begin begins the span of a turn, whose prompt is part of a trace of the client.
func (s spans) begin(ctx context.Context, trace Trace) (context.Context, *telemetry.Span) {
	if s.opts.Tracer == nil {
		return ctx, nil
	}
	name := "gjc"
	if s.helper != nil {
		name = s.helper.Name
	}
	ctx, span := s.opts.Tracer.Begin(ctx, trace, telemetry.InvokeAgent, name)
	span.Set("gen_ai.agent.name", name)
	span.Set("gen_ai.conversation.id", s.opts.ID)
	return ctx, span
}

// end ends the span of a turn.
func (s spans) end(t *Turn, r *TurnResult) {
	if t.span == nil {
		return
	}
	t.span.Set("gjc.stop_reason", string(r.Stop))
	t.span.Usage(r.Usage.Input+r.Usage.CacheRead+r.Usage.CacheWrite, r.Usage.Output)
	if r.Err != nil {
		kind := "_OTHER"
		if e, ok := errors.AsType[*providers.Error](r.Err); ok {
			kind = string(e.Kind)
		}
		t.span.Fail(kind)
	}
	t.span.End()
}

// endCall ends the span of a tool call.
func endCall(span *telemetry.Span, call *providers.ToolCall, res *Result) {
	if span == nil {
		return
	}
	span.Set("gen_ai.tool.name", call.Name)
	span.Set("gen_ai.tool.call.id", call.ID)
	span.Set("gen_ai.tool.type", "function")
	if res.IsError {
		span.Fail("tool_error")
	}
	span.End()
}

// traceOf returns the trace that requests of a call are part of: that of its span, or else that of the prompt.
func traceOf(span *telemetry.Span, t *Turn) Trace {
	if carried := span.Carry(); carried != nil {
		return carried
	}
	return t.Trace()
}
