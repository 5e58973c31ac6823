package wire

import (
	"cmp"
	"net/http"
	"net/url"

	"github.com/gajae-code/gjc/providers"
)

// BaseURL returns the base URL of cfg, or otherwise if cfg has none. Its error does not quote an invalid URL, which may contain
// a password.
func BaseURL(cfg *providers.Config, otherwise string) (*url.URL, error) {
	u, err := url.Parse(cmp.Or(cfg.BaseURL, otherwise))
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, Errorf(cfg, providers.KindInvalid, "the base URL is not a URL with http or https, such as https://api.example.com/v1")
	}
	return u, nil
}

// Header returns the headers that every request of cfg carries: the key and the headers of cfg, which take precedence. The key is
// in the header keyName, or in Authorization if keyName is empty or cfg requests that.
func Header(cfg *providers.Config, keyName string) http.Header {
	header := http.Header{}
	switch {
	case cfg.APIKey == "":
	case keyName == "" || cfg.AuthHeader:
		header.Set("Authorization", "Bearer "+cfg.APIKey)
	default:
		header.Set(keyName, cfg.APIKey)
	}
	for name, value := range cfg.Headers {
		header.Set(name, value)
	}
	return header
}
