package providers

import (
	"net/http"
	"time"
)

// Config is what it takes to open one model. Nothing else is read: no environment, no file.
type Config struct {
	// Info describes the model; required.
	Info ModelInfo
	// BaseURL is where the API lives. If empty, the API's public address.
	BaseURL string
	// APIKey is sent as the API wants it; empty for a server that asks for none.
	APIKey string
	// Headers are added to every request.
	Headers map[string]string
	// HTTPClient sends the requests. If nil, the model makes one with [NewHTTPClient].
	HTTPClient *http.Client
	// StallTimeout ends a stream in which nothing came for so long. If zero, [DefaultStallTimeout].
	StallTimeout time.Duration
}

// DefaultStallTimeout is how long a stream may be silent.
const DefaultStallTimeout = 120 * time.Second

// A Factory opens models of one API. It does no I/O.
type Factory func(Config) (Model, error)
