package providers

import (
	"crypto/tls"
	"errors"
	"fmt"
	"strings"
	"time"
)

// ErrorKind classifies errors by what a caller can do: retry, sign in, shorten the conversation, or report the error.
type ErrorKind string

// The kinds. Editors receive the strings as data.kind.
const (
	// KindAuth: the key is missing, wrong or expired.
	KindAuth ErrorKind = "auth"
	// KindRateLimit: too many requests.
	KindRateLimit ErrorKind = "rate_limit"
	// KindQuota: the account's credit or plan is used up.
	KindQuota ErrorKind = "quota"
	// KindOverloaded: the provider has no capacity at the moment.
	KindOverloaded ErrorKind = "overloaded"
	// KindServer: the provider failed.
	KindServer ErrorKind = "server"
	// KindNetwork: the provider could not be reached, or the connection broke.
	KindNetwork ErrorKind = "network"
	// KindTimeout: nothing arrived for too long.
	KindTimeout ErrorKind = "timeout"
	// KindContextOverflow: the conversation does not fit into the model's context window.
	KindContextOverflow ErrorKind = "context_overflow"
	// KindInvalid: the provider rejected the request as malformed.
	KindInvalid ErrorKind = "invalid_request"
	// KindOutput: the API cannot express the schema of [Request.Output], or the model does not accept any. Nothing was sent.
	KindOutput ErrorKind = "output_schema"
	// KindModel: the model does not exist, or the key may not use it.
	KindModel ErrorKind = "model"
	// KindProtocol: the provider's response violates its API.
	KindProtocol ErrorKind = "protocol"
)

// An Error is a failed model call. Its text is for the user and contains no secrets.
type Error struct {
	Kind     ErrorKind
	Provider string
	Model    string
	// Status is the HTTP status; zero if there was no response.
	Status int
	// Message describes the failure, in the provider's words if it gave any.
	Message string
	// RetryAfter is the wait that the provider asks for; zero if it does not say.
	RetryAfter time.Duration
	// ResetsAt is the time at which a limit resets; zero if the provider does not say.
	ResetsAt time.Time
	// KeySource is the source of a refused key, as in [Account]; empty if unknown.
	KeySource string
	// RequestID is the provider's id of the call; empty if it gave none.
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

// Unavailable reports whether the model cannot serve any request for now, so that another model may replace it.
func (e *Error) Unavailable() bool {
	switch e.Kind {
	case KindOverloaded, KindServer, KindNetwork, KindTimeout, KindQuota, KindRateLimit:
		return true
	default:
		return false
	}
}

// Retryable reports whether the same request may succeed later without any change. An untrusted certificate stays untrusted.
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

// A NotFoundError reports that a name matches no model, or more than one.
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
