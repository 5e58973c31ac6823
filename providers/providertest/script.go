// Package providertest helps to test what uses a model and what implements one: [Script] is a model that says what
// a test wrote down, [Server] speaks the wire formats of Anthropic and OpenAI over HTTP from the same words, and
// [Suite] is what every implementation of [providers.Model] must pass.
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

// Step is one answer of a model: what it does, in order. A step that does not say how it ends, ends well: with
// [providers.StopTools] if it called a tool, with [providers.StopEnd] if not.
type Step []Action

// Action is one thing that a model does within a [Step].
type Action interface{ isAction() }

type (
	textAction  struct{ text string }
	thinkAction struct{ text, signature string }
	callAction  struct {
		id, name string
		pieces   []string
	}
	stopAction  struct{ reason providers.StopReason }
	usageAction struct{ usage providers.Usage }
	tellAction  struct{ usage providers.Usage }
	errAction   struct{ err error }
	holdAction  struct {
		gate   *Gate
		silent bool
	}
	checkAction struct{ fn func(*providers.Request) }
)

func (textAction) isAction()  {}
func (thinkAction) isAction() {}
func (callAction) isAction()  {}
func (stopAction) isAction()  {}
func (usageAction) isAction() {}
func (tellAction) isAction()  {}
func (errAction) isAction()   {}
func (holdAction) isAction()  {}
func (checkAction) isAction() {}

// Text says text in one delta.
func Text(text string) Action { return textAction{text} }

// Think reasons, in one delta.
func Think(text string) Action { return thinkAction{text: text} }

// SignedThink reasons like [Think] and signs it, as Anthropic's models do.
func SignedThink(text, signature string) Action { return thinkAction{text, signature} }

// Call calls a tool. Input is the argument object as JSON text; several pieces arrive as several deltas.
func Call(id, name string, input ...string) Action { return callAction{id, name, input} }

// Stop ends the step with reason.
func Stop(reason providers.StopReason) Action { return stopAction{reason} }

// Use sets the usage of the step.
func Use(usage providers.Usage) Action { return usageAction{usage} }

// Tell tells of the usage so far, in the middle of the step. A [Server] does so where the API has words for it.
func Tell(usage providers.Usage) Action { return tellAction{usage} }

// Fail breaks the step off with err.
func Fail(err error) Action { return errAction{err} }

// Check runs fn on the request before the rest of the step. It runs on the goroutine that reads the stream.
func Check(fn func(*providers.Request)) Action { return checkAction{fn} }

// Repeat returns a step of n actions: what fn returns for 0 to n-1.
func Repeat(n int, fn func(i int) Action) Step {
	s := make(Step, 0, n)
	for i := range n {
		s = append(s, fn(i))
	}
	return s
}

// A Gate stops a model in the middle of a step until the test lets it go on.
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

// Hold is the action of waiting at the gate. The end of the stream's context ends the wait, with its cause.
func (g *Gate) Hold() Action { return holdAction{gate: g} }

// HoldAll is [Gate.Hold], and a [Server] that has sent nothing yet sends not even the head of its response.
func (g *Gate) HoldAll() Action { return holdAction{gate: g, silent: true} }

// Reached is closed when a model has come to the gate.
func (g *Gate) Reached() <-chan struct{} { return g.reached }

// Open lets every model through, now and later. It may be called twice.
func (g *Gate) Open() { g.once.Do(func() { close(g.released) }) }

// Wait announces that somebody has come and waits until the gate opens or ctx ends.
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

// Script is a model that plays steps: each request takes the next one, whoever sends it. It is safe for concurrent
// use. A request that comes when no step is left fails with an error that is not worth a retry.
type Script struct {
	info providers.ModelInfo

	mu       sync.Mutex // guards all below
	steps    []Step
	fallback func(*providers.Request) Step
	requests []*providers.Request
}

var _ providers.Model = (*Script)(nil)

// NewScript returns a model that plays steps. An info without a provider becomes "test/scripted".
func NewScript(info providers.ModelInfo, steps ...Step) *Script {
	if info.Provider == "" {
		info.Provider, info.ID, info.API = "test", "scripted", "test"
		info.ContextWindow, info.MaxOutput, info.Images = 200_000, 32_000, true
		info.Thinking = []providers.ThinkingLevel{providers.ThinkingLow, providers.ThinkingHigh}
	}
	return &Script{info: info, steps: steps}
}

// Add puts steps behind those that are left.
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

// Info returns what [NewScript] was given.
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

// Stream plays the next step. The step is taken when the iteration begins.
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
		case tellAction:
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
			yield(nil, errors.New("providertest: only a Server can do that"))
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

// Tool returns a tool with a permissive schema.
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
