package providers

import (
	"crypto/tls"
	"errors"
	"fmt"
	"strings"
	"time"
)

// ErrorKind is what a caller decides by: try again, sign in, shorten the conversation, or tell the user.
type ErrorKind string

// The kinds. The strings go to the editor as data.kind.
const (
	// KindAuth: the key is missing, wrong or expired.
	KindAuth ErrorKind = "auth"
	// KindRateLimit: too many requests for now.
	KindRateLimit ErrorKind = "rate_limit"
	// KindQuota: the account's credit or plan is used up.
	KindQuota ErrorKind = "quota"
	// KindOverloaded: the provider has no capacity for the moment.
	KindOverloaded ErrorKind = "overloaded"
	// KindServer: the provider failed.
	KindServer ErrorKind = "server"
	// KindNetwork: the provider could not be reached, or the connection broke.
	KindNetwork ErrorKind = "network"
	// KindTimeout: nothing came for too long.
	KindTimeout ErrorKind = "timeout"
	// KindContextOverflow: the conversation does not fit the model's window.
	KindContextOverflow ErrorKind = "context_overflow"
	// KindInvalid: the provider refused the request as malformed.
	KindInvalid ErrorKind = "invalid_request"
	// KindModel: there is no such model, or this key may not use it.
	KindModel ErrorKind = "model"
	// KindProtocol: the provider answered what its API does not allow.
	KindProtocol ErrorKind = "protocol"
)

// An Error is a failed model call, classified. Its text is for the user and holds no secret.
type Error struct {
	Kind     ErrorKind
	Provider string
	Model    string
	// Status is the HTTP status; zero where there was none.
	Status int
	// Message is what went wrong, in the provider's words where it had any.
	Message string
	// RetryAfter is how long the provider asks to wait; zero where it does not say.
	RetryAfter time.Duration
	// ResetsAt is when a limit ends; zero where the provider does not say.
	ResetsAt time.Time
	// KeySource is the source of a refused key, as in [Account]; empty if unknown.
	KeySource string
	// RequestID is the provider's name for the call; empty where it gave none.
	RequestID string
	Err       error
}

func (e *Error) Error() string {
	s := e.Provider
	if e.Model != "" {
		s += "/" + e.Model
	}
	s += ": " + e.Message
	if e.Status != 0 {
		s += fmt.Sprintf(" (HTTP %d)", e.Status)
	}
	return s
}

func (e *Error) Unwrap() error { return e.Err }

// Unavailable reports whether the error says that the model cannot be had for now, whoever asks it and whatever: another one
// may stand in.
func (e *Error) Unavailable() bool {
	switch e.Kind {
	case KindOverloaded, KindServer, KindNetwork, KindTimeout, KindQuota, KindRateLimit:
		return true
	default:
		return false
	}
}

// Retryable reports whether the same request may succeed later without anybody doing anything. A certificate that is not
// trusted will not be later either.
func (e *Error) Retryable() bool {
	if _, ok := errors.AsType[*tls.CertificateVerificationError](e.Err); ok {
		return false
	}
	switch e.Kind {
	case KindRateLimit, KindOverloaded, KindServer, KindNetwork, KindTimeout, KindProtocol:
		return true
	default:
		return false
	}
}

// A NotFoundError says that no model, or more than one, has a name.
type NotFoundError struct {
	Ref string
	// Near lists references of at most five models with similar names.
	Near []string
	// Ambiguous reports that the name matches all of Near.
	Ambiguous bool
}

func (e *NotFoundError) Error() string {
	switch {
	case e.Ambiguous:
		return fmt.Sprintf("%q matches several models; use one of: %s", e.Ref, strings.Join(e.Near, ", "))
	case len(e.Near) > 0:
		return fmt.Sprintf("unknown model %q; did you mean %s?", e.Ref, strings.Join(e.Near, ", "))
	}
	return fmt.Sprintf("unknown model %q; run gjc models to list the models", e.Ref)
}
