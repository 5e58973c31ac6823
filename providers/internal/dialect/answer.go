package dialect

import (
	"context"

	"github.com/gajae-code/gjc/providers"
)

// An Answer collects the events of one response and yields them. All fields except Build and Usage must be set.
type Answer struct {
	Ctx  context.Context //nolint:containedctx // the caller's; bounds one answer, also an event of many parts
	Info *providers.ModelInfo
	Req  *providers.Request
	// Yield passes an event or the error to the caller of the model.
	Yield func(providers.Event, error) bool
	// Build holds the message so far.
	Build providers.Builder
	// Usage is the usage so far.
	Usage providers.Usage
	// Said reports that output was sent.
	Said bool

	join     joiner
	calls    []string // the ids of the calls so far
	reported *providers.Usage
}

// Send yields ev, an event with output. It reports whether to continue.
func (a *Answer) Send(ev providers.Event) bool {
	if a.Ctx.Err() != nil {
		a.Yield(nil, context.Cause(a.Ctx))
		return false
	}
	a.Said = true
	before, now := a.join.next(ev)
	return a.emit(before) && a.emit(now)
}

// SendText yields text unless it is empty. It reports whether to continue.
func (a *Answer) SendText(text string) bool {
	return text == "" || a.Send(providers.TextDelta{Text: text})
}

// SendThinking yields thinking unless it is empty. It reports whether to continue.
func (a *Answer) SendThinking(text string) bool {
	return text == "" || a.Send(providers.ThinkingDelta{Text: text})
}

// emit yields ev unless it is nil.
func (a *Answer) emit(ev providers.Event) bool {
	if ev == nil {
		return true
	}
	a.Build.Add(ev)
	return a.Yield(ev, nil)
}

// Report yields the usage if it has changed, and always on the first call, which signals that the answer has begun. It reports
// whether to continue.
func (a *Answer) Report() bool {
	if a.reported != nil && *a.reported == a.Usage {
		return true
	}
	a.reported = new(a.Usage)
	return a.Yield(providers.UsageSoFar{Usage: a.Usage}, nil)
}

// StartCall yields the start of a call and returns its unique id. given is the server's id for the call, or "", and response the id
// of the response. It reports whether to continue.
func (a *Answer) StartCall(given, response, name string) (id string, more bool) {
	id = uniqueID(a.Req, given, response, a.calls)
	a.calls = append(a.calls, id)
	return id, a.Send(providers.ToolCallStart{ID: id, Name: name})
}

// Done yields the end of the answer. Finish may complete the message; it may be nil.
func (a *Answer) Done(stop providers.StopReason, finish func(*providers.Message)) {
	for _, ev := range a.join.rest() {
		if !a.emit(ev) {
			return
		}
	}
	m := a.Build.Message()
	if finish != nil {
		finish(&m)
	}
	m.API, m.Provider, m.Model, m.Usage, m.StopReason = a.Info.API, a.Info.Provider, a.Info.ID, a.Usage, stop
	a.Yield(providers.Done{Message: m}, nil)
}
