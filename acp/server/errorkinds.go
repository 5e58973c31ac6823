package server

import (
	"errors"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/gajae-code/gjc/acp/server/air"
	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/providers"
)

// errorKind describes one value of an error's data.kind.
type errorKind struct {
	kind string
	// means describes what has happened, next what the user can do. next is empty if the message says it.
	means, next string
}

// modelErrors lists the kinds of failed model calls.
func modelErrors() []errorKind {
	return []errorKind{
		{string(providers.KindAuth), "the key is missing, wrong or expired", "Check the key with gjc doctor, or store another one with gjc login."},
		{string(providers.KindRateLimit), "too many requests", "Wait a moment, or choose another model with /model."},
		{string(providers.KindQuota), "the account's credit or plan is used up", "Add credit at the provider, wait until the limit resets, or choose another model with /model."},
		{string(providers.KindOverloaded), "the provider is overloaded", "Try again later, or choose another model with /model."},
		{string(providers.KindServer), "the provider failed", "Try again later, or choose another model with /model."},
		{string(providers.KindNetwork), "the provider could not be reached, or the connection broke", "Check the network, the proxy and the provider's address."},
		{string(providers.KindTimeout), "the provider sent nothing for too long", "Try again, or choose another model with /model."},
		{string(providers.KindContextOverflow), "the conversation does not fit the model's window", "Make room with /compact, or choose a model with a larger window."},
		{string(providers.KindInvalid), "the provider refused the request", "Choose another model with /model; if this continues, check the log."},
		{string(providers.KindOutput), "the model cannot be held to the JSON Schema of the answer; nothing was sent", "Ask for the answer without a schema, or choose another model with /model."},
		{string(providers.KindModel), "the model does not exist, or the key has no access to it", "Run gjc models to list the usable models, and choose one with /model."},
		{string(providers.KindProtocol), "the provider sent an invalid response", "Check that the provider's address and api in models.yml match."},
		{string(agent.ErrorEmptyResponse), "the model gave an empty answer, three times", "Rephrase the prompt, or choose another model with /model."},
		{string(agent.ErrorRepetition), "the model repeated itself endlessly, twice", "Rephrase the prompt, or choose another model with /model."},
		{string(agent.ErrorProtocolLeak), "the model kept mixing parts of its protocol into its answers", "Try again, or choose another model with /model."},
		{string(kindSecrets), "the secrets to hide cannot be loaded, so nothing was sent", "Fix the file and reopen the session."},
	}
}

// otherErrors lists the kinds of all other errors.
func otherErrors() []errorKind {
	return []errorKind{
		{kind: "session_not_found", means: "the session does not exist"},
		{kind: "session_closed", means: "the session was closed in the meantime"},
		{kind: "session_locked", means: "another process has the session open"},
		{kind: "session_elsewhere", means: "another process has the session open, or its directory is not here: the client cannot do this, or the answer to its prompt is lost"},
		{kind: "session_taken_over", means: "another server has taken the session over; load it again"},
		{kind: "session_corrupt", means: "the session's file is damaged; it was not changed"},
		{kind: "storage", means: "the session can no longer be saved"},
		{kind: "nothing_to_fork", means: "the session has no messages yet"},
		{kind: "fork_cancelled", means: "a hook or an extension cancels the fork"},
		{kind: "no_workspace", means: "the session's directories are not where the server lets sessions work, and the client does not offer its own files"},
		{kind: "cursor", means: "session/list received a cursor that it did not return"},
		{kind: "mode", means: "the mode does not exist"},
		{kind: "thinking", means: "the model has no such thinking level"},
		{kind: "service_tier", means: "the model has no such service tier"},
		{kind: "title", means: "a title must not be blank"},
	}
}

// turnFailure returns the error of a turn as JetBrains Air shows it. It is false for other clients and other errors, which are those of the
// request.
func (f *features) turnFailure(err error) (air.Failure, bool) {
	e, ok := errors.AsType[*providers.Error](err)
	if !ok || e.Kind == kindSecrets || !f.air.Has(air.SessionFailure) {
		return air.Failure{}, false
	}
	return air.ModelFailure(uuid.NewString()+":error", modelMessage(err, e), e)
}

// modelMessage returns the message of a failed model call: what happened, until when, and what to do next.
func modelMessage(err error, e *providers.Error) string {
	text := strings.TrimRight(err.Error(), ".")
	if !e.ResetsAt.IsZero() && !strings.Contains(text, "it can be tried again at ") {
		text += "; the limit resets at " + e.ResetsAt.UTC().Format("2006-01-02 15:04 MST")
	}
	switch {
	case strings.Contains(text, "check the base URL"):
		return text + "." // it says what to do next
	case errors.Is(err, agent.ErrNoRoom):
		return text + ". Choose a model with a larger window with /model, or continue in a new session."
	}
	if e.Kind == providers.KindAuth && e.KeySource != "" {
		return text + ". " + keyAdvice(e)
	}
	for _, k := range modelErrors() {
		if k.kind == string(e.Kind) {
			return text + ". " + k.next
		}
	}
	return text
}

// keyAdvice explains where a rejected key came from and how to replace it.
func keyAdvice(e *providers.Error) string {
	login := "gjc login " + e.Provider
	switch e.KeySource {
	case "none needed":
		return "No key was sent; if the server needs one, set auth: apiKey in models.yml and run " + login + "."
	case "editor":
		return "The credentials came from the editor; change them there."
	case "auth.json", "keyring":
		return "The key came from " + e.KeySource + "; store another one with " + login + "."
	case "--api-key":
		return "The key came from --api-key; pass another one, or omit the flag and run " + login + "."
	}
	return "The key came from " + e.KeySource + "; replace it there, or store another one with " + login + ", which takes precedence."
}

// resetsAt returns the time when the limit that made a model call fail is reset: as reported by the provider, or computed from the
// current time. It returns the zero time if no limit is known.
func resetsAt(e *providers.Error, now time.Time) time.Time {
	if e.ResetsAt.IsZero() && e.RetryAfter > 0 {
		return now.Add(e.RetryAfter)
	}
	return e.ResetsAt
}
