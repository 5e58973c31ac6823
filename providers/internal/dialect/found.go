package dialect

import (
	"slices"

	"github.com/gajae-code/gjc/providers"
)

// Found are the tools of a request that the model has found in its conversation, for an API that adds them there.
type Found struct {
	// Search is the name of the tool that finds them.
	Search string

	byCall   map[string][]string
	deferred map[string]bool
}

// NewFound returns the found tools of a request whose results are in its messages; nil if the request has no search. The others, whose
// results have been compacted, are like any other tool, as is one that the answer must call.
func NewFound(req *providers.Request) *Found {
	if req.Search == nil {
		return nil
	}
	f := &Found{Search: req.Search.Tool, byCall: make(map[string][]string), deferred: make(map[string]bool)}
	if len(req.Search.Found) == 0 {
		return f
	}
	present := make(map[string]bool, len(req.Tools))
	for i := range req.Tools {
		present[req.Tools[i].Name] = true
	}
	for i := range req.Messages {
		msg := &req.Messages[i]
		if msg.Role != providers.RoleTool || msg.ToolName != f.Search || f.byCall[msg.ToolCallID] != nil {
			continue
		}
		for _, name := range req.Search.Found[msg.ToolCallID] {
			if present[name] && !f.deferred[name] && name != f.Search && name != req.ForceTool {
				f.deferred[name] = true
				f.byCall[msg.ToolCallID] = append(f.byCall[msg.ToolCallID], name)
			}
		}
	}
	return f
}

// Deferred reports whether a tool is added where it was found.
func (f *Found) Deferred(name string) bool { return f != nil && f.deferred[name] }

// By returns the names of the tools that the result of a call adds.
func (f *Found) By(call string) []string {
	if f == nil {
		return nil
	}
	return f.byCall[call]
}

// Last returns the index of the last tool that is not deferred; -1 for none.
func (f *Found) Last(tools []providers.Tool) int {
	for i, t := range slices.Backward(tools) {
		if !f.Deferred(t.Name) {
			return i
		}
	}
	return -1
}
