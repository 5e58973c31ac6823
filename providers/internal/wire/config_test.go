package wire

import (
	"errors"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/providers"
)

func TestBaseURL(t *testing.T) {
	const otherwise = "https://public.test/v1"
	for base, want := range map[string]string{
		"": otherwise, "http://h:1/x?y=z": "http://h:1/x?y=z", "HTTPS://u:p@h": "https://u:p@h",
		"me:hushhush@host/v1": "", "http://me:hush hush@h": "", "http://me:hushhush@": "", "ftp://me:hushhush@host": "", "host/v1": "", "http://%zz": "", "localhost:1": "",
	} {
		u, err := BaseURL(&providers.Config{BaseURL: base, Info: providers.ModelInfo{Provider: "p", ID: "m"}}, otherwise)
		if want != "" {
			if err != nil || u.String() != want {
				t.Errorf("%q: %v, %v", base, u, err)
			}
			continue
		}
		if e, ok := errors.AsType[*providers.Error](err); !ok || e.Kind != providers.KindInvalid || e.Provider != "p" || e.Model != "m" || e.Err != nil || strings.Contains(err.Error(), "hush") {
			t.Errorf("%q: %v, %v", base, u, err)
		}
	}
}

func TestHeader(t *testing.T) {
	for _, test := range []struct {
		cfg       providers.Config
		name      string
		auth, key string
	}{
		{providers.Config{}, "X-Key", "", ""},
		{providers.Config{APIKey: "k"}, "", "Bearer k", ""},
		{providers.Config{APIKey: "k"}, "X-Key", "", "k"},
		{providers.Config{APIKey: "k", AuthHeader: true}, "X-Key", "Bearer k", ""},
		{providers.Config{APIKey: "k", Headers: map[string]string{"x-key": "other"}}, "X-Key", "", "other"},
		{providers.Config{APIKey: "k", Headers: map[string]string{"authorization": "other"}}, "", "other", ""},
	} {
		if h := Header(&test.cfg, test.name); h.Get("Authorization") != test.auth || h.Get("X-Key") != test.key {
			t.Errorf("%+v: %v", test, h)
		}
	}
}
