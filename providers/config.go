package providers

import (
	"net/http"
	"time"
)

// Config is what it takes to open one model. Nothing else is read: no environment, no file.
type Config struct {
	// Info describes the model; required.
	Info ModelInfo
	// WireModel is what requests call the model, such as the name of a deployment. If empty, Info.ID.
	WireModel string
	// BaseURL is where the API lives. If empty, the API's public address.
	BaseURL string
	// APIKey is sent as the API wants it; empty for a server that asks for none.
	APIKey string
	// NoAmbient keeps the credentials that an API finds by itself (those of a cloud, in the environment and in files) out of
	// requests: they go where an editor has sent them, and that is another place than the user's. Without a key or a header
	// of the configuration a request goes without credentials.
	NoAmbient bool
	// AuthHeader sends the key as "Authorization: Bearer" to an API that has a header of its own for it.
	AuthHeader bool
	// Headers are added to every request.
	Headers map[string]string
	// Compat says where the server differs from its API, Transform what is changed in every request.
	Compat    Compat
	Transform RequestTransform
	// NoStrictTools leaves out the promise that inputs keep to their schemas, for servers that refuse the word.
	NoStrictTools bool
	// CacheRetention is for what is cached of requests. If empty, what is best for the API.
	CacheRetention CacheRetention
	// HTTPClient sends the requests. If nil, the model makes one with [NewHTTPClient].
	HTTPClient *http.Client
	// FirstByteTimeout ends a request whose answer does not begin in that time. If zero, [DefaultFirstByteTimeout].
	FirstByteTimeout time.Duration
	// StallTimeout ends a stream in which nothing came for so long. If zero, [DefaultStallTimeout].
	StallTimeout time.Duration
}

// Model returns what requests call the model.
func (c *Config) Model() string {
	if c.WireModel != "" {
		return c.WireModel
	}
	return c.Info.ID
}

// The timeouts of a request.
const (
	// DefaultFirstByteTimeout is long because a local model reads a long prompt before it says anything.
	DefaultFirstByteTimeout = 10 * time.Minute
	// DefaultStallTimeout is how long a stream may be silent.
	DefaultStallTimeout = 120 * time.Second
)

// A Factory opens models of one API. It does no I/O.
type Factory func(Config) (Model, error)
