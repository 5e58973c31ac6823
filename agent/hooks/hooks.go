// Package hooks has programs of the user's and of workspaces take part in a session: before and behind each tool call, around
// turns and compactions, and where a session begins and ends.
//
// A hook is a program. It gets an [Input] as JSON on its standard input and may answer with an [Answer] on its standard output.
// Hooks are in ".gjc/hooks/*.yml" (*.yaml, *.json) and ".gjc/hooks.yml" of each root of a workspace, and in "hooks/" and
// "hooks.yml" of the agent directory. Those of a workspace run only with the user's trust, which is for the contents of the file
// and of the programs and scripts that it names.
//
// A hook can forbid a call; nothing that it says allows one.
package hooks

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/text"
)

// Event is what a hook is run for.
type Event string

// The events.
const (
	// SessionStart comes with the first prompt of a session that was begun or opened.
	SessionStart  Event = "session_start"
	Prompt        Event = "prompt"
	ToolCall      Event = "tool_call"
	ToolResult    Event = "tool_result"
	TurnEnd       Event = "turn_end"
	BeforeCompact Event = "before_compact"
	AfterCompact  Event = "after_compact"
	SessionEnd    Event = "session_end"
)

// Events lists all events.
func Events() []Event {
	return []Event{SessionStart, Prompt, ToolCall, ToolResult, TurnEnd, BeforeCompact, AfterCompact, SessionEnd}
}

// Hook is one hook.
type Hook struct {
	Name   string
	Events []Event
	// Tools are globs for the names of tools; empty for all.
	Tools []string
	// Command is the program and its arguments.
	Command []string
	Timeout time.Duration
	// Blocking hooks of [ToolCall] that fail forbid the call.
	Blocking bool
	// At is where the hook stands: "file:line". Dir is what a relative path of its program is relative to.
	At, Dir string
	// Project says that it is a workspace's own.
	Project bool
}

// For reports whether the hook is for an event; tool is empty for what is about no call.
func (h *Hook) For(ev Event, tool string) bool {
	is := false
	for _, e := range h.Events {
		is = is || e == ev
	}
	if !is || len(h.Tools) == 0 || tool == "" {
		return is
	}
	for _, glob := range h.Tools {
		if ok, err := doublestar.Match(glob, tool); ok && err == nil {
			return true
		}
	}
	return false
}

// Input is what a hook is told. Members that an event does not have are left out.
type Input struct {
	Event     Event    `json:"event"`
	Hook      string   `json:"hook"`
	SessionID string   `json:"sessionId"`
	Cwd       string   `json:"cwd"`
	Roots     []string `json:"roots"`
	Mode      string   `json:"mode,omitzero"`
	// Tool is the call, as it runs: of [ToolCall] and [ToolResult].
	Tool *ToolInput `json:"tool,omitzero"`
	// Result is what came of it: of [ToolResult].
	Result *ResultInput `json:"result,omitzero"`
	// Prompt is the text of a prompt.
	Prompt string `json:"prompt,omitzero"`
	// Reason is why a turn ended, or why a conversation is compacted.
	Reason string `json:"reason,omitzero"`
}

// ToolInput is a tool call.
type ToolInput struct {
	CallID string    `json:"callId"`
	Name   string    `json:"name"`
	Kind   string    `json:"kind"`
	Input  jsonx.Raw `json:"input"`
	// Paths are the files that the call is known to touch, absolute.
	Paths []string `json:"paths"`
}

// ResultInput is the result of a call, as the model gets it.
type ResultInput struct {
	Text    string `json:"text"`
	IsError bool   `json:"isError"`
}

// Answer is what a hook says.
type Answer struct {
	// Block forbids the call; of [ToolCall] alone. Reason is told to the model.
	Block  bool   `json:"block"`
	Reason string `json:"reason"`
	// Context is told to the model too.
	Context string `json:"context"`
}

const (
	// maxOutput is how much a hook may print, in bytes, maxWords how much of a text in its answer is used.
	maxOutput = 64 << 10
	maxWords  = 16 << 10
	// blockCode is the exit code that forbids a call.
	blockCode = 2
)

// ParseAnswer reads what a hook printed and how it ended. A hook that printed nothing and ended with 0 has nothing to say; one
// that ended with 2 forbids the call, for the reason that it printed to standard error. Anything else that is no answer is an
// error.
func ParseAnswer(stdout []byte, code int, stderr string) (Answer, error) {
	if len(stdout) > maxOutput {
		return Answer{}, fmt.Errorf("it printed more than %d KiB", maxOutput>>10)
	}
	var a Answer
	text := strings.TrimSpace(strings.TrimPrefix(string(stdout), "\ufeff"))
	said := text != ""
	if said {
		if raw := jsonx.Raw(text); raw.Kind() != '{' {
			said = false
			if code != blockCode {
				return Answer{}, errors.New("what it printed is no JSON object")
			}
		} else if err := jsonx.Unmarshal(raw, &a); err != nil {
			return Answer{}, fmt.Errorf("what it printed is no answer: %w", err)
		}
	}
	switch {
	case code == blockCode && !said:
		a.Block, a.Reason = true, strings.TrimSpace(stderr)
	case code == blockCode:
		a.Block = true
	case code != 0 && !a.Block:
		return Answer{}, fmt.Errorf("it ended with exit code %d%s", code, behind(stderr))
	}
	a.Reason, a.Context = words(a.Reason), words(a.Context)
	return a, nil
}

func behind(stderr string) string {
	if s := words(strings.TrimSpace(stderr)); s != "" {
		return ": " + s
	}
	return ""
}

func words(s string) string {
	return text.TruncateBytes(strings.TrimSpace(strings.ToValidUTF8(s, "\ufffd")), maxWords)
}

// Runner runs programs.
type Runner interface {
	// LookPath returns the absolute path of the program called name.
	LookPath(name string) (string, error)
	// Run runs a program to its end, and its children with it when ctx ends. It returns what it printed, at most limit bytes, and
	// its exit code. An error is for one that did not start or was ended.
	Run(ctx context.Context, path string, args []string, dir string, stdin []byte, limit int) (stdout []byte, code int, stderr string, err error)
}

// Run runs the hook. An error says that it failed: nothing is known of what it wanted.
func (h *Hook) Run(ctx context.Context, r Runner, in Input) (Answer, error) {
	in.Hook = h.Name
	stdin, err := jsonx.Marshal(in)
	if err != nil {
		return Answer{}, err
	}
	path, err := h.program(r)
	if err != nil {
		return Answer{}, fmt.Errorf("its program cannot be started: %w", err)
	}
	dir := in.Cwd
	if h.Project {
		dir = h.Dir // what its arguments name is what was looked at for trust
	}
	limited, cancel := context.WithTimeoutCause(ctx, h.Timeout, errTimeout)
	defer cancel()
	stdout, code, stderr, err := r.Run(limited, path, h.Command[1:], dir, append(stdin, '\n'), maxOutput+1)
	switch {
	case ctx.Err() != nil:
		return Answer{}, context.Cause(ctx)
	case errors.Is(context.Cause(limited), errTimeout) && err != nil:
		return Answer{}, fmt.Errorf("it took longer than %v and was ended", h.Timeout)
	case err != nil:
		return Answer{}, err
	}
	return ParseAnswer(stdout, code, stderr)
}

var errTimeout = errors.New("the hook took too long")
