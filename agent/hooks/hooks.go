// Package hooks runs programs of users and workspaces at events of a session: before and after tool calls, around turns
// and compactions, and at the start and end of sessions.
//
// A hook is a program. It receives an [Input] as JSON on its standard input and may write an [Answer] to its standard
// output. Hooks are defined in ".gjc/hooks/*.yml" (*.yaml, *.json) and ".gjc/hooks.yml" of each workspace root, and in
// "hooks/" and "hooks.yml" of the agent directory. A workspace's hooks run only if the user trusts them; trust covers
// the contents of the file and of the programs and scripts that it names.
//
// A hook can reject a call. It cannot allow one that is otherwise refused.
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

// Event is an event at which hooks run.
type Event string

// The events.
const (
	// SessionStart precedes the first prompt after a session was created or opened, or its conversation was cleared.
	SessionStart Event = "session_start"
	Prompt       Event = "prompt"
	TurnStart    Event = "turn_start"
	// Context precedes each request to the model. A hook may rewrite its messages.
	Context Event = "context"
	// ToolCall precedes a call that may run. A hook may reject it or replace its input.
	ToolCall Event = "tool_call"
	// ToolResult follows a call. A hook may replace its result.
	ToolResult Event = "tool_result"
	// Permission precedes a question to the user about a call. A hook may answer it with no.
	Permission Event = "permission"
	// BeforeCompact precedes a compaction. A hook may cancel it or supply the summary.
	BeforeCompact Event = "before_compact"
	AfterCompact  Event = "after_compact"
	// BeforeTree precedes a move to another place of the conversation. A hook may cancel it or supply the summary of what is left.
	BeforeTree Event = "before_tree"
	Tree       Event = "tree"
	// BeforeFork precedes a copy of the open session into another one. A hook may cancel it.
	BeforeFork Event = "before_fork"
	Fork       Event = "fork"
	// Retry follows a failed request that is repeated, and RetryEnd the last repetition.
	Retry    Event = "retry"
	RetryEnd Event = "retry_end"
	// Reply follows each answer of the model, before its calls.
	Reply Event = "reply"
	// Rule follows an answer that violates rules.
	Rule Event = "rule"
	// Todo follows a change of the plan.
	Todo          Event = "todo"
	SubagentStart Event = "subagent_start"
	SubagentEnd   Event = "subagent_end"
	TurnEnd       Event = "turn_end"
	SessionEnd    Event = "session_end"
)

// Events lists all events.
func Events() []Event {
	return []Event{
		SessionStart, Prompt, TurnStart, Context, ToolCall, ToolResult, Permission, BeforeCompact, AfterCompact, BeforeTree, Tree,
		BeforeFork, Fork, Retry, RetryEnd, Reply, Rule, Todo, SubagentStart, SubagentEnd, TurnEnd, SessionEnd,
	}
}

// Hook is a configured hook.
type Hook struct {
	Name   string
	Events []Event
	// Tools are globs for tool names; empty for all.
	Tools []string
	// Command is the program and its arguments.
	Command []string
	Timeout time.Duration
	// Blocking makes a failure of a [ToolCall] hook reject the call.
	Blocking bool
	// At is the hook's position, "file:line". Dir is the directory for relative paths of its program.
	At, Dir string
	// Project reports whether the hook belongs to a workspace.
	Project bool

	claude *claudeHook // nil for a hook in gjc's own form
}

// For reports whether the hook runs at an event. tool is the tool's name; it is empty for events without a call.
func (h *Hook) For(ev Event, tool string) bool {
	is := false
	for _, e := range h.Events {
		is = is || e == ev
	}
	if is && h.claude != nil {
		return h.claude.matches(ev, tool)
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

// A Handler takes part in events: a [Hook], or an extension.
type Handler interface {
	// For is like that of a [Hook].
	For(ev Event, tool string) bool
	// Run passes on an event and returns the answer. On an error the decision is unknown.
	Run(ctx context.Context, r Runner, in Input) (Answer, error)
	// About names the handler for messages.
	About() About
}

// About names a [Handler]. Kind is "hook" or "extension".
type About struct {
	Kind, Name, At string
	// Blocking makes a failure at [ToolCall] reject the call.
	Blocking bool
}

// About implements [Handler].
func (h *Hook) About() About {
	return About{Kind: "hook", Name: h.Name, At: h.At, Blocking: h.Blocking}
}

// Input is the data of an event. Fields that an event does not have are empty.
type Input struct {
	Event     Event    `json:"event"`
	Hook      string   `json:"hook"`
	SessionID string   `json:"sessionId"`
	Cwd       string   `json:"cwd"`
	Roots     []string `json:"roots"`
	Mode      string   `json:"mode,omitzero"`
	// Tool is the call as it runs, for [ToolCall] and [ToolResult].
	Tool *ToolInput `json:"tool,omitzero"`
	// Result is the call's result, for [ToolResult].
	Result *ResultInput `json:"result,omitzero"`
	// Prompt is the text of a prompt, or the task of a helper.
	Prompt string `json:"prompt,omitzero"`
	// Reason is the reason why a turn ended, a conversation is compacted, a request is repeated or failed for good, or a session began:
	// "new", "open", "fork" or "clear".
	Reason string `json:"reason,omitzero"`
	// From is the session that this one was copied from, for [SessionStart] with "fork".
	From string `json:"from,omitzero"`
	// Messages are those of the next request, for [Context], or the answer, for [Reply].
	Messages []MessageInput `json:"messages,omitzero"`
	// Question is the title of a question, for [Permission].
	Question string `json:"question,omitzero"`
	// Target is the entry that a conversation moves to, for [BeforeTree] and [Tree], or the new session, for [Fork].
	Target string `json:"target,omitzero"`
	// Attempt counts the failed requests, for [Retry] and [RetryEnd].
	Attempt int `json:"attempt,omitzero"`
	// Rules are the names of the violated rules, for [Rule].
	Rules []string `json:"rules,omitzero"`
	// Todo is the plan.
	Todo []TodoInput `json:"todo,omitzero"`
	// Subagent names a helper, for [SubagentStart] and [SubagentEnd].
	Subagent *SubagentInput `json:"subagent,omitzero"`
}

// MessageInput is a message of a request. In an answer, only Index keeps the message as it is, Index with Text replaces its text, and
// Role with Text adds a message.
type MessageInput struct {
	// Index counts from 0. It is -1 for an added message.
	Index int    `json:"index"`
	Role  string `json:"role,omitzero"`
	Text  string `json:"text,omitzero"`
	// Calls are the calls of an answer, and CallID is the call that a result belongs to.
	Calls  []CallInput `json:"calls,omitzero"`
	CallID string      `json:"callId,omitzero"`
	Images int         `json:"images,omitzero"`
}

// CallInput is a call in a message.
type CallInput struct {
	ID    string    `json:"id"`
	Name  string    `json:"name"`
	Input jsonx.Raw `json:"input"`
}

// TodoInput is a step of a plan.
type TodoInput struct {
	Content string `json:"content"`
	Status  string `json:"status"`
	Phase   string `json:"phase,omitzero"`
}

// SubagentInput is a helper. Result is its report.
type SubagentInput struct {
	Name   string `json:"name"`
	Title  string `json:"title,omitzero"`
	Result string `json:"result,omitzero"`
}

// ToolInput is a tool call.
type ToolInput struct {
	CallID string    `json:"callId"`
	Name   string    `json:"name"`
	Kind   string    `json:"kind"`
	Input  jsonx.Raw `json:"input"`
	// Paths are the absolute paths of files that the call affects, as far as known.
	Paths []string `json:"paths"`
}

// ResultInput is the result of a call, as the model receives it.
type ResultInput struct {
	Text    string `json:"text"`
	IsError bool   `json:"isError"`
}

// Answer is the output of a hook. Fields that are not for its event have no effect.
type Answer struct {
	// Block rejects a call ([ToolCall]), a prompt ([Prompt]), a question ([Permission]), or cancels a compaction, a move or a copy
	// ([BeforeCompact], [BeforeTree], [BeforeFork]). The model or the user receives Reason. For [TurnEnd] it makes the model go on.
	Block  bool   `json:"block"`
	Reason string `json:"reason"`
	// Context is added to what the model receives.
	Context string `json:"context"`
	// Input replaces the input of a call, an object, for [ToolCall]. The call with it is judged again.
	Input jsonx.Raw `json:"input"`
	// Result replaces the result of a call, for [ToolResult].
	Result *ResultInput `json:"result"`
	// Messages replace those of a request, for [Context].
	Messages []MessageInput `json:"messages"`
	// Summary takes the place of a model's, for [BeforeCompact] and [BeforeTree].
	Summary string `json:"summary"`
	// Notice is shown to the user.
	Notice string `json:"notice"`
}

const (
	// maxOutput is the maximum output of a hook, in bytes, and maxWords the maximum length of a text in its answer.
	maxOutput = 64 << 10
	maxWords  = 16 << 10
	// maxMessages is the maximum output of a hook for [Context], [ToolCall] and [ToolResult], in bytes.
	maxMessages = 16 << 20
	// blockCode is the exit code that rejects a call.
	blockCode = 2
)

// ParseAnswer parses a hook's output and exit code. A hook without output and with exit code 0 has no opinion. Exit
// code 2 rejects the call, with standard error as the reason. Anything else that is not a valid answer is an error.
func ParseAnswer(ev Event, stdout []byte, code int, stderr string) (Answer, error) {
	if limit := limitOf(ev); len(stdout) > limit {
		return Answer{}, fmt.Errorf("its output exceeds %d KiB", limit>>10)
	}
	var a Answer
	text := strings.TrimSpace(strings.TrimPrefix(string(stdout), "\ufeff"))
	said := text != ""
	if said {
		if raw := jsonx.Raw(text); raw.Kind() != '{' {
			said = false
			if code != blockCode {
				return Answer{}, errors.New("its output is not a JSON object")
			}
		} else if err := jsonx.Unmarshal(raw, &a); err != nil {
			return Answer{}, fmt.Errorf("its output is not a valid answer: %w", err)
		}
	}
	switch {
	case code == blockCode && !said:
		a.Block, a.Reason = true, strings.TrimSpace(stderr)
	case code == blockCode:
		a.Block = true
	case code != 0 && !a.Block:
		return Answer{}, fmt.Errorf("it ended with exit code %d%s", code, detail(stderr))
	}
	a.tidy()
	return a, nil
}

// ParseResult parses the answer of an extension. No answer is no opinion.
func ParseResult(raw jsonx.Raw) (Answer, error) {
	if len(raw) == 0 || jsonx.IsNull(raw) {
		return Answer{}, nil
	}
	var a Answer
	if raw.Kind() != '{' {
		return Answer{}, errors.New("its answer is not a JSON object")
	}
	if err := jsonx.Unmarshal(raw, &a); err != nil {
		return Answer{}, fmt.Errorf("its answer is not valid: %w", err)
	}
	a.tidy()
	return a, nil
}

// tidy bounds the texts of the answer.
func (a *Answer) tidy() {
	a.Reason, a.Context, a.Notice = words(a.Reason), words(a.Context), words(a.Notice)
	if jsonx.IsNull(a.Input) {
		a.Input = nil
	}
}

// limitOf returns the maximum output of a hook for an event, in bytes.
func limitOf(ev Event) int {
	switch ev {
	case Context, ToolCall, ToolResult:
		return maxMessages
	default:
		return maxOutput
	}
}

func detail(stderr string) string {
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
	// LookPath returns the absolute path of a program.
	LookPath(name string) (string, error)
	// Run runs a program and waits for it. It kills the program and its children when ctx ends. It returns at most
	// limit bytes of the output, and the exit code. It returns an error for a program that did not start or was killed.
	Run(ctx context.Context, path string, args []string, dir string, stdin []byte, limit int) (stdout []byte, code int, stderr string, err error)
}

// Run runs the hook. On an error the hook's decision is unknown.
func (h *Hook) Run(ctx context.Context, r Runner, in Input) (Answer, error) {
	in.Hook = h.Name
	stdin, err := h.stdin(&in)
	if err != nil {
		return Answer{}, err
	}
	path, err := h.program(r)
	if err != nil {
		return Answer{}, fmt.Errorf("its program cannot be started: %w", err)
	}
	dir := in.Cwd
	if h.Project {
		dir = h.Dir // trust was checked for the file that the arguments name in this directory
	}
	limited, cancel := context.WithTimeoutCause(ctx, h.Timeout, errTimeout)
	defer cancel()
	stdout, code, stderr, err := r.Run(limited, path, h.Command[1:], dir, append(stdin, '\n'), limitOf(in.Event)+1)
	switch {
	case ctx.Err() != nil:
		return Answer{}, context.Cause(ctx)
	case errors.Is(context.Cause(limited), errTimeout) && err != nil:
		return Answer{}, fmt.Errorf("it timed out after %v", h.Timeout)
	case err != nil:
		return Answer{}, err
	}
	if h.claude != nil {
		return h.claude.answer(in.Event, stdout, code, stderr)
	}
	return ParseAnswer(in.Event, stdout, code, stderr)
}

// stdin returns what the program of the hook reads.
func (h *Hook) stdin(in *Input) ([]byte, error) {
	if h.claude != nil {
		return h.claude.input(in)
	}
	return jsonx.Marshal(in)
}

var errTimeout = errors.New("the hook took too long")
