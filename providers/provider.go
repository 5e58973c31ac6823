package providers

import (
	"errors"
	"time"
)

// Errors of redirecting and disabling a provider.
var (
	// ErrUnknownProvider reports that no provider has the name.
	ErrUnknownProvider = errors.New("unknown provider")
	// ErrUnsupportedAPI reports that the provider cannot be reached by the API.
	ErrUnsupportedAPI = errors.New("unsupported API type")
	// ErrInvalidProvider reports a base URL or a header that cannot be used. The error's text contains no header values.
	ErrInvalidProvider = errors.New("invalid provider configuration")
	// ErrRequiredProvider reports that the provider cannot be disabled, because it is the one that always works.
	ErrRequiredProvider = errors.New("the provider is required and cannot be disabled")
)

// ProviderState describes where a provider's requests go. It holds no secrets.
type ProviderState struct {
	ID string
	// Supported lists the API types, in ACP's terms, that the provider can be redirected to; empty for none.
	Supported []string
	// Required reports that the provider cannot be disabled.
	Required bool
	// Current is nil for a disabled provider.
	Current *ProviderRoute
}

// ProviderRoute says how a provider is reached.
type ProviderRoute struct {
	// APIType is ACP's term for the API: "anthropic", "openai", "azure", "vertex", "bedrock", or "_" and the API's own name.
	APIType string
	// BaseURL has no user, no password and no query.
	BaseURL string
}

// Account describes a credential without its secret.
type Account struct {
	// Label is for people, such as "Anthropic API key".
	Label    string
	Provider string
	// Source names where the credential comes from: "--api-key", "auth.json", "keyring", "environment NAME", "models.yml" or
	// "editor".
	Source string
	// Active reports that requests use the credential. It is false if another credential of the provider takes precedence, or
	// if the provider is disabled.
	Active bool
}

// Quota reports the use of one limit of an account, as its provider states it.
type Quota struct {
	// Name names the limit, such as "5h" or "input tokens".
	Name string
	// Used is the part that is used, from 0 to 1.
	Used float64
	// Limit and Remaining are in the unit of the limit; Limit is zero if the provider reports only a part.
	Limit, Remaining float64
	// ResetAt is the time from which the limit is whole again, and Window the length of the window; both are zero if unknown.
	ResetAt time.Time
	Window  time.Duration
}
