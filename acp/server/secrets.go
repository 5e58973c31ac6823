package server

import (
	"context"
	"iter"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
)

// secretsIn returns the secrets to hide from the models of a session in a directory; nil for none. If the secrets cannot be loaded,
// it returns the error together with secrets that prevent all model calls.
func secretsIn(opts *SessionOptions, cwd string) (agent.Secrets, error) {
	if opts.Secrets == nil {
		return nil, nil
	}
	set, err := opts.Secrets(cwd)
	if err != nil {
		return unknownSecrets{err}, err
	}
	return set, nil
}

// kindSecrets is the data.kind for a request that was not sent because the secrets could not be loaded.
const kindSecrets providers.ErrorKind = "secrets"

// unknownSecrets stands for secrets whose configuration cannot be read.
type unknownSecrets struct{ err error }

// Model returns a model that fails.
func (u unknownSecrets) Model(m providers.Model) providers.Model { return silentModel{m, u.err} }

// Hide returns the empty string, because any text may contain a secret.
func (unknownSecrets) Hide(string) string { return "" }

func (unknownSecrets) Restore(text string) string             { return text }
func (unknownSecrets) RestoreInput(input jsonx.Raw) jsonx.Raw { return input }
func (unknownSecrets) Explain(string) string                  { return "" }

type silentModel struct {
	providers.Model
	err error
}

// Stream returns an error.
func (m silentModel) Stream(context.Context, *providers.Request) iter.Seq2[providers.Event, error] {
	info := m.Info()
	return func(yield func(providers.Event, error) bool) {
		yield(nil, &providers.Error{
			Kind: kindSecrets, Provider: info.Provider, Model: info.ID, Err: m.err,
			Message: "nothing was sent because the secrets to hide cannot be loaded: " + m.err.Error(),
		})
	}
}
