package google

import (
	"cmp"
	"errors"

	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/internal/cloud"
	"github.com/gajae-code/gjc/providers/internal/wire"
)

// Vertex opens models at Vertex AI with the key in GOOGLE_CLOUD_API_KEY, or with application default credentials, the project
// in GOOGLE_CLOUD_PROJECT and the location in GOOGLE_CLOUD_LOCATION.
type Vertex cloud.Vertex

// Open is the [providers.Factory] of Vertex AI. It does no I/O; the first request reads the credentials.
func (v Vertex) Open(cfg providers.Config) (providers.Model, error) {
	account := cloud.Vertex(v)
	if cfg.APIKey == "" && !cfg.NoAmbient {
		cfg.APIKey = account.Key()
	}
	express := cfg.APIKey != "" && !cfg.AuthHeader
	u, err := wire.BaseURL(&cfg, account.BaseURL())
	if err != nil {
		return nil, err
	}
	if u, err = account.URL(u, "google", cfg.Model(), method, express); err != nil {
		e, _ := errors.AsType[*providers.Error](err)
		return nil, wire.Errorf(&cfg, e.Kind, "%s", e.Message)
	}
	cfg.Info.API = cmp.Or(cfg.Info.API, APIVertex)
	if cfg.APIKey != "" || cfg.NoAmbient {
		return open(cfg, u, nil), nil
	}
	cfg.HTTPClient = wire.Guard(cfg.HTTPClient)
	return open(cfg, u, account.Tokens(cfg.HTTPClient).Sign), nil
}

// Credentials describes, for the user, the credentials that are available without a configured key, or returns "". It reads files
// and does not use the network.
func (v Vertex) Credentials() string {
	account := cloud.Vertex(v)
	if account.Key() != "" {
		return "the key in GOOGLE_CLOUD_API_KEY"
	}
	return account.Credentials()
}
