package agent

import (
	"context"
	"slices"
	"time"
)

// Toolbox is the tools of a session. What it holds may change between two model requests, and does while MCP servers
// come and go. It is safe for concurrent use.
type Toolbox interface {
	// Settle waits until the tools that are on their way have come, or will not, or ctx ends.
	Settle(ctx context.Context)
	// Tools returns the tools that there are. As long as they are the same, so is their order: providers cache what
	// a request begins with.
	Tools() []Tool
}

// Tools is a [Toolbox] that never changes.
type Tools []Tool

// Settle implements [Toolbox].
func (t Tools) Settle(context.Context) {}

// Tools implements [Toolbox].
func (t Tools) Tools() []Tool { return t }

// settleTools bounds how long the first model request of a turn waits for tools that are on their way.
const settleTools = 2 * time.Second

// offered are the tools of the session that it has what they need for.
func (s *Session) offered() []Tool {
	tools := s.opts.Tools.Tools()
	if s.opts.Languages != nil && s.opts.Debugger != nil {
		return tools
	}
	return slices.DeleteFunc(slices.Clone(tools), func(t Tool) bool {
		spec := t.Spec()
		return spec.Languages && s.opts.Languages == nil || spec.Debugger && s.opts.Debugger == nil
	})
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
