package agent

import (
	"errors"
	"strings"
	"sync"

	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/contextwindow"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
)

// RunTool runs a tool because the user has asked for it, and returns its result for people. The editor shows the call
// like one of the model's, and hooks, rules and plan mode apply. It asks only what auto mode asks, because the user has
// requested the call. The conversation does not include the call; the model receives its result afterwards, unless it
// is empty. An error is the tool's, or says why it did not run. RunTool is for the functions of a [Prompt].
func (t *RunningTurn) RunTool(name string, input jsonx.Raw) (text string, err error) {
	s := t.session
	var model providers.ModelInfo
	var mode approval.Mode
	if err := t.do(func(st *state) error { model, mode = st.model, st.mode; return nil }); err != nil {
		return "", err
	}
	t.tools, t.model = s.offered(&model, mode), model
	run := &toolRun{turn: t, call: providers.ToolCall{ID: s.opts.NewID(), Name: name, Input: input}, tool: find(t.tools, name), byUser: true}
	result, err := run.do(t.ctx)
	if err != nil {
		return "", err
	}
	text = result.Text
	shown := s.Hide(text)
	if result.IsError {
		return "", errors.New(shown)
	}
	Value(s.opts.Values, func() *userCalls { return new(userCalls) }).add("The user has called the tool " + name + ":\n" + text)
	return shown, nil
}

// customUserCall is the type of the entry for a call that is not part of the conversation. Its data is a [userCall].
const customUserCall = "gjc.user_call"

// userCall is a call that the user made, or that stood for a question to the user, with its result.
type userCall struct {
	ID      string    `json:"id"`
	Name    string    `json:"name"`
	Input   jsonx.Raw `json:"input"`
	Text    string    `json:"text,omitzero"`
	IsError bool      `json:"isError,omitzero"`
	Details jsonx.Raw `json:"details,omitzero"`
}

// keepUserCall records a call of the user's with its result.
func (st *state) keepUserCall(input jsonx.Raw, result *providers.Message) error {
	s := st.session
	data, err := jsonx.Marshal(userCall{
		ID: result.ToolCallID, Name: result.ToolName, Input: input,
		Text: result.Text(), IsError: result.IsError, Details: result.Details,
	})
	if err != nil {
		return err
	}
	if _, err := s.opts.Log.Append(sessions.Custom{CustomType: customUserCall, Data: data}); err != nil {
		return st.unsaved(err)
	}
	return nil
}

// message returns the call and its result as they would stand in a conversation.
func (c *userCall) message() (providers.ToolCall, *providers.Message) {
	call := providers.ToolCall{ID: c.ID, Name: c.Name, Input: c.Input}
	m := contextwindow.ToolMessage(call, c.Text, c.IsError)
	m.Details = c.Details
	return call, &m
}

// userCalls holds the results of the user's calls that the model has not seen yet. It is a [reporter].
type userCalls struct {
	mu    sync.Mutex // guards texts
	texts []string
}

func (u *userCalls) add(text string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.texts = append(u.texts, text)
}

// Report implements [reporter]. The user has seen the results.
func (u *userCalls) Report() Report {
	u.mu.Lock()
	defer u.mu.Unlock()
	text := strings.Join(u.texts, "\n\n")
	u.texts = nil
	return Report{Text: text}
}
