package google

import (
	"errors"

	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/internal/cloud"
	"github.com/gajae-code/gjc/providers/internal/wire"
)

// Vertex opens models on Vertex AI with what its environment says: the key in GOOGLE_CLOUD_API_KEY, or application default
// credentials; the project in GOOGLE_CLOUD_PROJECT, and the place in GOOGLE_CLOUD_LOCATION.
type Vertex struct {
	// Getenv reads the environment. If nil, it is empty.
	Getenv func(string) string
	// ReadFile reads the files of credentials. If nil, [os.ReadFile].
	ReadFile func(string) ([]byte, error)
	// Home is the home directory, where the credentials of gcloud are; empty for none.
	Home string
	// Metadata asks the server that machines of Google Cloud have for their credentials, if there are no others.
	Metadata bool
}

// Open is the [providers.Factory] of Vertex AI. It does no I/O; credentials are read for the first request.
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
	if cfg.Info.API == "" {
		cfg.Info.API = APIVertex
	}
	if cfg.APIKey != "" || cfg.NoAmbient {
		return open(cfg, u, nil), nil
	}
	cfg.HTTPClient = wire.Guard(cfg.HTTPClient)
	return open(cfg, u, account.Tokens(cfg.HTTPClient).Sign), nil
}

// Credentials says what credentials there are besides a configured key, for people; empty for none. It reads files and
// uses no network.
func (v Vertex) Credentials() string {
	account := cloud.Vertex(v)
	if account.Key() != "" {
		return "the key in GOOGLE_CLOUD_API_KEY"
	}
	return account.Credentials()
}
