// Package providertest helps to test users and implementations of models: [Script] is a model that plays steps of a test, and
// [Server] plays the same steps over HTTP in the wire formats of all APIs. The tests of the package run one suite over all
// implementations of [providers.Model].
//
// Only tests, benchmarks and the commands that serve them import it.
package providertest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
)

// A Step is one answer of a model: its actions in order. Unless an action ends it, it ends with [providers.StopTools] if it
// called a tool, and with [providers.StopEnd] otherwise.
type Step []Action

// An Action is one part of a [Step].
type Action interface{ isAction() }

type (
	textAction  struct{ text string }
	thinkAction struct{ text, signature string }
	callAction  struct {
		id, name string
		pieces   []string
	}
	stopAction   struct{ reason providers.StopReason }
	usageAction  struct{ usage providers.Usage }
	reportAction struct{ usage providers.Usage }
	errAction    struct{ err error }
	holdAction   struct {
		gate   *Gate
		silent bool
	}
	checkAction struct{ fn func(*providers.Request) }
)

func (textAction) isAction()   {}
func (thinkAction) isAction()  {}
func (callAction) isAction()   {}
func (stopAction) isAction()   {}
func (usageAction) isAction()  {}
func (reportAction) isAction() {}
func (errAction) isAction()    {}
func (holdAction) isAction()   {}
func (checkAction) isAction()  {}

// Text writes text in one delta.
func Text(text string) Action { return textAction{text} }

// Think writes reasoning in one delta.
func Think(text string) Action { return thinkAction{text: text} }

// SignedThink reasons like [Think] with a signature, as Anthropic's models do.
func SignedThink(text, signature string) Action { return thinkAction{text, signature} }

// Call calls a tool. Input is the argument object as JSON text; several pieces arrive as several deltas.
func Call(id, name string, input ...string) Action { return callAction{id, name, input} }

// Stop ends the step with reason.
func Stop(reason providers.StopReason) Action { return stopAction{reason} }

// Use sets the usage of the step.
func Use(usage providers.Usage) Action { return usageAction{usage} }

// ReportUsage reports the usage so far, in the middle of the step. A [Server] does so if the API can express it.
func ReportUsage(usage providers.Usage) Action { return reportAction{usage} }

// Fail ends the step with err.
func Fail(err error) Action { return errAction{err} }

// Check runs fn on the request before the rest of the step. It runs on the goroutine that reads the stream.
func Check(fn func(*providers.Request)) Action { return checkAction{fn} }

// Repeat returns a step of n actions: the results of fn for 0 to n-1.
func Repeat(n int, fn func(i int) Action) Step {
	s := make(Step, 0, n)
	for i := range n {
		s = append(s, fn(i))
	}
	return s
}

// A Gate stops a model in the middle of a step until the test opens the gate.
type Gate struct {
	reached  chan struct{}
	released chan struct{}
	once     sync.Once
	first    sync.Once
}

// NewGate returns a closed gate.
func NewGate() *Gate {
	return &Gate{reached: make(chan struct{}), released: make(chan struct{})}
}

// Hold waits at the gate. If the context of the stream ends, the wait ends with its cause.
func (g *Gate) Hold() Action { return holdAction{gate: g} }

// HoldAll is like [Gate.Hold], but a [Server] that has sent nothing yet also holds back the header of its response.
func (g *Gate) HoldAll() Action { return holdAction{gate: g, silent: true} }

// Reached returns a channel that is closed when a model has reached the gate.
func (g *Gate) Reached() <-chan struct{} { return g.reached }

// Open opens the gate permanently. It is idempotent.
func (g *Gate) Open() { g.once.Do(func() { close(g.released) }) }

// Wait records that a model has reached the gate, and waits until the gate opens or ctx ends.
func (g *Gate) Wait(ctx context.Context) error {
	g.first.Do(func() { close(g.reached) })
	select {
	case <-g.released:
		return nil
	default:
	}
	select {
	case <-g.released:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// A Script is a model that plays steps: each request takes the next step, whichever goroutine sends it. It is safe for concurrent
// use. If no step is left, a request fails with an error that is not retryable.
type Script struct {
	info providers.ModelInfo

	mu       sync.Mutex // guards the fields below
	steps    []Step
	fallback func(*providers.Request) Step
	requests []*providers.Request
}

var _ providers.Model = (*Script)(nil)

// NewScript returns a model that plays steps. If info has no provider, the model becomes "test/scripted".
func NewScript(info providers.ModelInfo, steps ...Step) *Script {
	if info.Provider == "" {
		info.Provider, info.ID, info.API = "test", "scripted", "test"
		info.ContextWindow, info.MaxOutput, info.Images = 200_000, 32_000, true
		info.Thinking = []providers.ThinkingLevel{providers.ThinkingLow, providers.ThinkingHigh}
	}
	return &Script{info: info, steps: steps}
}

// Add appends steps.
func (s *Script) Add(steps ...Step) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.steps = append(s.steps, steps...)
}

// Else answers the requests for which no step is left. fn may be called concurrently.
func (s *Script) Else(fn func(*providers.Request) Step) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fallback = fn
}

// Requests returns copies of the requests so far, oldest first.
func (s *Script) Requests() []*providers.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Left returns how many steps have not been played.
func (s *Script) Left() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.steps)
}

// Info returns the info of [NewScript].
func (s *Script) Info() providers.ModelInfo { return s.info }

func (s *Script) next(req *providers.Request) (Step, error) {
	kept := *req
	kept.Messages, kept.Tools = slices.Clone(req.Messages), slices.Clone(req.Tools)
	s.mu.Lock()
	s.requests = append(s.requests, &kept)
	n, fallback := len(s.requests), s.fallback
	if len(s.steps) > 0 {
		step := s.steps[0]
		s.steps = s.steps[1:]
		s.mu.Unlock()
		return step, nil
	}
	s.mu.Unlock()
	if fallback != nil {
		return fallback(req), nil
	}
	return nil, &providers.Error{
		Kind: providers.KindInvalid, Provider: s.info.Provider, Model: s.info.ID,
		Message: fmt.Sprintf("the script has no step for request %d", n),
	}
}

// Stream plays the next step. It takes the step when the iteration begins.
func (s *Script) Stream(ctx context.Context, req *providers.Request) iter.Seq2[providers.Event, error] {
	return func(yield func(providers.Event, error) bool) {
		step, err := s.next(req)
		if err != nil {
			yield(nil, err)
			return
		}
		s.play(ctx, req, step, yield)
	}
}

func (s *Script) play(ctx context.Context, req *providers.Request, step Step, yield func(providers.Event, error) bool) {
	var (
		build providers.Builder
		stop  providers.StopReason
		usage = providers.Usage{Input: 10, Output: 5}
	)
	send := func(ev providers.Event) bool {
		if ctx.Err() != nil {
			yield(nil, context.Cause(ctx))
			return false
		}
		build.Add(ev)
		return yield(ev, nil)
	}
	for _, a := range step {
		ok := true
		switch a := a.(type) {
		case textAction:
			ok = send(providers.TextDelta{Text: a.text})
		case thinkAction:
			if ok = send(providers.ThinkingDelta{Text: a.text}); a.signature != "" {
				build.Sign(a.signature)
				build.Break()
			}
		case callAction:
			ok = send(providers.ToolCallStart{ID: a.id, Name: a.name})
			for _, piece := range a.pieces {
				ok = ok && send(providers.ToolCallDelta{ID: a.id, Input: piece})
			}
			if stop == "" {
				stop = providers.StopTools
			}
		case stopAction:
			stop = a.reason
		case usageAction:
			usage = a.usage
		case reportAction:
			ok = send(providers.UsageSoFar{Usage: a.usage})
		case checkAction:
			a.fn(req)
		case holdAction:
			if err := a.gate.Wait(ctx); err != nil {
				yield(nil, err)
				return
			}
		case errAction:
			yield(nil, a.err)
			return
		case wireAction:
			yield(nil, errors.New("providertest: only a Server supports this"))
			return
		}
		if !ok {
			return
		}
	}
	if ctx.Err() != nil {
		yield(nil, context.Cause(ctx))
		return
	}
	m := build.Message()
	m.API, m.Provider, m.Model, m.Usage = s.info.API, s.info.Provider, s.info.ID, usage
	if m.StopReason = stop; stop == "" {
		m.StopReason = providers.StopEnd
	}
	yield(providers.Done{Message: m}, nil)
}

// Tool returns a tool whose schema accepts any input.
func Tool(name string) providers.Tool {
	return providers.Tool{Name: name, Description: "The tool " + name + ".", Schema: jsonx.Raw(`{"type":"object"}`)}
}

// User returns a message of the user.
func User(text string) providers.Message {
	return providers.Message{Role: providers.RoleUser, Parts: []providers.Part{providers.Text{Text: text}}}
}

// ResultOf returns a tool message that answers call.
func ResultOf(call providers.ToolCall, text string) providers.Message {
	return providers.Message{
		Role: providers.RoleTool, ToolCallID: call.ID, ToolName: call.Name,
		Parts: []providers.Part{providers.Text{Text: text}},
	}
}
