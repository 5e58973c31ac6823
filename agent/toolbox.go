package agent

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/providers"
)

// Toolbox holds the tools of a session. They may change between two model requests, for example when MCP servers come
// and go. It is safe for concurrent use.
type Toolbox interface {
	// Settle waits until the tools that are loading are available or have failed, or until ctx ends.
	Settle(ctx context.Context)
	// Tools returns the tools that there are. As long as they are the same, so is their order: providers cache what
	// a request begins with.
	Tools() []Tool
}

// Tools is a [Toolbox] that never changes.
type Tools []Tool

// Settle implements [Toolbox].
func (t Tools) Settle(ctx context.Context) {}

// Tools implements [Toolbox].
func (t Tools) Tools() []Tool { return t }

// settleTools bounds how long the first model request of a turn waits for tools that are on their way.
const settleTools = 2 * time.Second

// offered returns the tools that the session can offer: those whose requirements it meets and that suit the model and,
// in a child, the mode.
func (s *Session) offered(model *providers.ModelInfo, mode approval.Mode) []Tool {
	return slices.DeleteFunc(slices.Clone(s.opts.Tools.Tools()), func(t Tool) bool {
		spec := t.Spec()
		return withheld(s, spec, mode) || spec.Available != nil && !spec.Available(s.opts.Values) || spec.For != nil && !spec.For(model) ||
			spec.Program != "" && !s.programs.there(spec.Program, s.opts.Programs)
	})
}

// seenPrograms caches which programs exist. A session checks each once, so that its tools stay the same: providers
// cache the beginning of a request.
type seenPrograms struct {
	mu   sync.Mutex // guards what follows
	seen map[string]bool
}

func (p *seenPrograms) there(name string, programs Programs) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	is, known := p.seen[name]
	if !known {
		if programs != nil {
			_, err := programs.LookPath(name)
			is = err == nil
		}
		if p.seen == nil {
			p.seen = make(map[string]bool)
		}
		p.seen[name] = is
	}
	return is
}

// find returns the tool of that name, or nil.
func find(tools []Tool, name string) Tool {
	for _, tool := range tools {
		if tool.Spec().Name == name {
			return tool
		}
	}
	return nil
}

func names(tools []Tool) []string {
	all := make([]string, 0, len(tools))
	for _, tool := range tools {
		all = append(all, tool.Spec().Name)
	}
	return all
}
