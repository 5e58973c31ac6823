package contextwindow

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"

	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
)

//go:embed prompts/handoff.md
var handoffPrompt string

var (
	// ErrNothingToHandOff is the error for a conversation of fewer than two messages.
	ErrNothingToHandOff = errors.New("there is nothing to hand off yet")
	// ErrEmptyHandoff is the error for a model that did not write a document.
	ErrEmptyHandoff = errors.New("the model wrote no handoff document; try again, or with another model")
)

// HandoffType is the type of the message that a conversation begins with after a handoff, and the tool of a saved document.
const HandoffType = "handoff"

// HandoffRequest returns the message that asks for a handoff document; focus, if not empty, says what matters most.
func HandoffRequest(focus string) providers.Message {
	ask := strings.TrimSpace(handoffPrompt)
	if focus = strings.TrimSpace(focus); focus != "" {
		ask += "\n\nMost important: " + focus
	}
	return UserMessage(ask)
}

// HandoffDocument sends a request that ends with a [HandoffRequest], and returns the document. used records the usage of the
// answer. Tool calls of the model do not run.
func HandoffDocument(ctx context.Context, model providers.Model, req *providers.Request, used *Meter) (string, error) {
	for ev, err := range model.Stream(ctx, req) {
		if err != nil {
			return "", StreamError(ctx, err)
		}
		used.Add(ev)
		if done, ok := ev.(providers.Done); ok {
			return documentOf(&done.Message)
		}
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
	}
	return "", ErrEmptyHandoff
}

// documentOf returns the texts of an answer.
func documentOf(m *providers.Message) (string, error) {
	if m.StopReason != providers.StopEnd && m.StopReason != providers.StopTools {
		return "", fmt.Errorf("the model did not finish the handoff document (%s); try again, or with another model", m.StopReason)
	}
	var texts []string
	for _, p := range m.Parts {
		if text, ok := p.(providers.Text); ok && strings.TrimSpace(text.Text) != "" {
			texts = append(texts, strings.TrimSpace(text.Text))
		}
	}
	if len(texts) == 0 {
		return "", ErrEmptyHandoff
	}
	return strings.Join(texts, "\n"), nil
}

// HandoffText returns the text that a conversation begins with after a handoff.
func HandoffText(document string) string {
	return "<handoff-context>\n" + strings.TrimSpace(document) + "\n</handoff-context>\n\n" +
		"This is a handoff document from an earlier conversation. Continue the work from there."
}

// HandoffMessage returns the message that a conversation begins with after a handoff.
func HandoffMessage(document string) sessions.CustomMessage {
	return sessions.CustomMessage{
		CustomType: HandoffType, Parts: []providers.Part{providers.Text{Text: HandoffText(document)}}, Display: true, Attribution: "agent",
	}
}
