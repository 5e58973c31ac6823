package anthropic

import (
	"cmp"
	"errors"

	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/internal/cloud"
	"github.com/gajae-code/gjc/providers/internal/wire"
)

// Vertex opens models at Vertex AI with application default credentials, the project in GOOGLE_CLOUD_PROJECT and the location
// in GOOGLE_CLOUD_LOCATION. A configured key is an access token.
type Vertex cloud.Vertex

// Open is the [providers.Factory] of Vertex AI. It does no I/O; the first request reads the credentials.
func (v Vertex) Open(cfg providers.Config) (providers.Model, error) {
	account := cloud.Vertex(v)
	u, err := wire.BaseURL(&cfg, account.BaseURL())
	if err != nil {
		return nil, err
	}
	if u, err = account.URL(u, "anthropic", cfg.Model(), "streamRawPredict", false); err != nil {
		e, _ := errors.AsType[*providers.Error](err)
		return nil, wire.Errorf(&cfg, e.Kind, "%s", e.Message)
	}
	cfg.Info.API = cmp.Or(cfg.Info.API, APIVertex)
	cfg.HTTPClient = wire.Guard(cfg.HTTPClient)
	m := &model{cfg: cfg, version: "vertex-2023-10-16", streams: true}
	endpoint := wire.NewEndpoint(&m.cfg, u.String(), wire.Header(&cfg, ""))
	if cfg.APIKey == "" && !cfg.NoAmbient {
		endpoint = endpoint.Sign(account.Tokens(cfg.HTTPClient).Sign)
	}
	m.send = endpoint.Post
	return m, nil
}

// Credentials describes, for the user, the credentials that are available without a configured key, or returns "". It reads files
// and does not use the network.
func (v Vertex) Credentials() string { return cloud.Vertex(v).Credentials() }
