package anthropic

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/internal/cloud"
	"github.com/gajae-code/gjc/providers/internal/wire"
)

// Bedrock opens models at Amazon Bedrock. Credentials come from the environment and from the AWS CLI's files: the token in
// AWS_BEARER_TOKEN_BEDROCK, the keys in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a profile. A configured key is used as such
// a token.
type Bedrock cloud.AWS

// Open is the [providers.Factory] of Amazon Bedrock. It does no I/O; the first request reads region and credentials.
func (b Bedrock) Open(cfg providers.Config) (providers.Model, error) {
	account := cloud.AWS(b)
	base := new(url.URL)
	if cfg.BaseURL != "" {
		var err error
		if base, err = wire.BaseURL(&cfg, ""); err != nil {
			return nil, err
		}
	}
	if cfg.APIKey == "" && !cfg.NoAmbient {
		cfg.APIKey = account.Token()
	}
	cfg.Info.API = cmp.Or(cfg.Info.API, APIBedrock)
	cfg.HTTPClient = cloud.ServerSentEvents(wire.Guard(cfg.HTTPClient))
	m := &model{cfg: cfg, version: "bedrock-2023-05-31"}
	region := sync.OnceValue(func() string { return regionOf(base, account) })
	header := wire.Header(&cfg, "")
	sign := account.Signer("bedrock", region).Sign
	endpoint := sync.OnceValue(func() *wire.Endpoint {
		if base.Host == "" {
			base = &url.URL{Scheme: "https", Host: "bedrock-runtime." + region() + ".amazonaws.com"}
		}
		// The path escapes the colon of a model's version and the slashes of an ARN.
		model := strings.ReplaceAll(url.PathEscape(cfg.Model()), ":", "%3A")
		address := base.JoinPath("model", model, "invoke-with-response-stream").String()
		return wire.NewEndpoint(&m.cfg, address, header).Sign(func(req *http.Request, body []byte) error {
			req.Header.Set("Accept", cloud.EventStreamType)
			if cfg.NoAmbient || req.Header.Get("Authorization") != "" {
				return nil
			}
			return sign(req, body)
		})
	})
	m.send = func(ctx context.Context, body []byte) (*wire.Stream, error) {
		s, err := endpoint().Post(ctx, body)
		if e, ok := errors.AsType[*providers.Error](err); ok {
			// AWS quotes the canonical request in its error, which contains a session token.
			e.Message, _, _ = strings.Cut(e.Message, "The Canonical String")
			e.Message = strings.TrimSpace(e.Message)
		}
		return s, err
	}
	return m, nil
}

// Credentials describes, for the user, the credentials that are available without a configured key, or returns "". It reads files,
// runs nothing and does not use the network.
func (b Bedrock) Credentials() string { return cloud.AWS(b).Credentials() }

// regionOf returns the region in the base URL, which follows the service name, or else the account's region. The endpoint of a
// private network may precede the service name.
func regionOf(base *url.URL, account cloud.AWS) string {
	host := strings.ToLower(base.Hostname())
	for _, domain := range awsDomains {
		name, _ := strings.CutSuffix(host, domain)
		labels := strings.Split(name, ".")
		i := slices.IndexFunc(labels, func(l string) bool { return l == "bedrock-runtime" || l == "bedrock-runtime-fips" })
		if name != host && i >= 0 && i+1 < len(labels) && labels[i+1] != "" {
			return labels[i+1]
		}
	}
	return account.Region()
}

// awsDomains holds the domains of Amazon's servers.
var awsDomains = [...]string{".amazonaws.com", ".amazonaws.com.cn", ".api.aws"}
