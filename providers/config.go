package providers

import (
	"net/http"
	"time"
)

// A Config holds everything that a [Factory] needs to open a model, so that the Factory need not read the environment or files.
type Config struct {
	// Info describes the model; required.
	Info ModelInfo
	// WireModel is the model's name in requests, such as that of a deployment. If empty, Info.ID.
	WireModel string
	// BaseURL is the address of the API. If empty, the API's public address.
	BaseURL string
	// APIKey is sent in the way the API requires; empty for a server that needs no key.
	APIKey string
	// NoAmbient prevents requests from using the credentials that an API finds by itself (those of a cloud, in the environment
	// and in files), because an editor has redirected the requests. Without a key or a header they carry no credentials.
	NoAmbient bool
	// AuthHeader sends the key as "Authorization: Bearer", even if the API has a header of its own for it.
	AuthHeader bool
	// Headers are added to every request.
	Headers map[string]string
	// Compat says how the server differs from its API; Transform changes every request.
	Compat    Compat
	Transform RequestTransform
	// NoStrictTools omits the field strict of tools, for servers that reject it.
	NoStrictTools bool
	// CacheRetention sets how long the provider keeps the cache. If empty, the API's client chooses.
	CacheRetention CacheRetention
	// Received, if not nil, receives the status and header of each response.
	Received func(status int, header http.Header)
	// HTTPClient sends the requests. If nil, the model makes one with [NewHTTPClient].
	HTTPClient *http.Client
	// FirstByteTimeout bounds the time until a response begins. If zero, [DefaultFirstByteTimeout].
	FirstByteTimeout time.Duration
	// StallTimeout bounds the silence of a stream. If zero, [DefaultStallTimeout].
	StallTimeout time.Duration
}

// Model returns the model's name in requests.
func (c *Config) Model() string {
	if c.WireModel != "" {
		return c.WireModel
	}
	return c.Info.ID
}

// The timeouts of a request.
const (
	// DefaultFirstByteTimeout is long because a local model reads a long prompt before it answers.
	DefaultFirstByteTimeout = 10 * time.Minute
	// DefaultStallTimeout is the longest silence of a stream.
	DefaultStallTimeout = 120 * time.Second
)

// A Factory opens models of one API. It does no I/O.
type Factory func(Config) (Model, error)
