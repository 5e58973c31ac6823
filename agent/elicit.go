package agent

import (
	"context"
	"errors"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// Elicitor asks the user for a choice or for values, and not only for permission. Only ctx limits the wait of its
// methods.
type Elicitor interface {
	// Form shows a form. It returns [ErrNoElicitation] if the editor supports none.
	Form(ctx context.Context, f Form) (FormAnswer, error)
	// URL sends the user to a page, for data that must not go through a form: secrets, payments, sign-ins. The answer
	// says only whether the user agrees to open it. URL returns [ErrNoElicitation] if the editor does not support it.
	URL(ctx context.Context, u URLRequest) (ElicitAction, error)
	// Completed reports that the purpose of a URL is fulfilled.
	Completed(ctx context.Context, id string) error
	// Choose offers options where there are no forms, and returns the index of the chosen one. It returns
	// [ErrNoElicitation] if the editor cannot ask. Only Choose returns [ElicitStop].
	Choose(ctx context.Context, c Choice) (index int, action ElicitAction, err error)
	// Forms and URLs report the editor's capabilities.
	Forms() bool
	URLs() bool
}

// ErrNoElicitation is returned if the editor cannot ask the question.
var ErrNoElicitation = errors.New("the editor cannot ask the user for this")

// Form is a flat form.
type Form struct {
	// ToolCallID names the tool call that asks; empty for none. It has been announced before.
	ToolCallID string
	Message    string
	// Schema is the JSON Schema of the answer in the subset that ACP and MCP share: an object with properties of
	// plain types. It must never ask for a secret.
	Schema jsonx.Raw
}

// FormAnswer is the answer to a form. Content is set, and has been held against the schema, for [ElicitAccept].
type FormAnswer struct {
	Action  ElicitAction
	Content jsonx.Raw
}

// URLRequest is a page for the user to go to.
type URLRequest struct {
	ToolCallID string
	// ID is unique among the open ones of the session.
	ID      string
	Message string
	URL     string
}

// Choice offers options, one of which is taken.
type Choice struct {
	ToolCallID string
	Title      string
	Options    []string
}

// ElicitAction is the user's reaction to a question. The zero value is the one to assume of an answer that makes no
// sense.
type ElicitAction int

// The actions.
const (
	// ElicitCancel is a question that was closed without an answer.
	ElicitCancel ElicitAction = iota
	// ElicitDecline is a no.
	ElicitDecline
	ElicitAccept
	// ElicitStop is a question in whose place the user has cancelled the whole turn. Tools need not know it: the turn's
	// Elicitor ends the turn and fails.
	ElicitStop
)

// Elicitor returns the session's [Elicitor], which asks one question at a time, permissions included. It returns nil if
// the user cannot be asked.
func (s *Session) Elicitor() Elicitor {
	if s.opts.Elicitor == nil {
		return nil
	}
	return queuedElicitor{s.opts.Elicitor, s}
}

// queuedElicitor waits for its turn to ask.
type queuedElicitor struct {
	Elicitor
	session *Session
}

func (q queuedElicitor) Form(ctx context.Context, f Form) (FormAnswer, error) {
	done, err := q.session.ask(ctx)
	if err != nil {
		return FormAnswer{}, err
	}
	defer done()
	return q.Elicitor.Form(ctx, f)
}

func (q queuedElicitor) URL(ctx context.Context, u URLRequest) (ElicitAction, error) {
	done, err := q.session.ask(ctx)
	if err != nil {
		return ElicitCancel, err
	}
	defer done()
	return q.Elicitor.URL(ctx, u)
}

func (q queuedElicitor) Choose(ctx context.Context, c Choice) (int, ElicitAction, error) {
	done, err := q.session.ask(ctx)
	if err != nil {
		return 0, ElicitCancel, err
	}
	defer done()
	return q.Elicitor.Choose(ctx, c)
}

// turnElicitor is the elicitor of the calls of a turn.
type turnElicitor struct {
	Elicitor
	turn *Turn
}

func (e turnElicitor) Choose(ctx context.Context, c Choice) (int, ElicitAction, error) {
	i, action, err := e.Elicitor.Choose(ctx, c)
	if err == nil && action == ElicitStop {
		e.turn.Cancel()
		return 0, ElicitStop, ErrCancelled
	}
	return i, action, err
}

// elicitor is [Call.Elicitor].
func (t *RunningTurn) elicitor() Elicitor {
	asker := t.session.Elicitor()
	if asker == nil {
		return nil
	}
	return turnElicitor{asker, t.Turn}
}
