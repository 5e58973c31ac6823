package gateway

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers/registry"
)

// maxKeysFile bounds the file with the keys, in bytes.
const maxKeysFile = 1 << 20

// minKey is the least length of a key: a shorter one could not be kept out of answers.
const minKey = 8

// Keys are the keys of the operator, by provider. They are safe for concurrent use.
type Keys struct {
	path string
	now  atomic.Pointer[map[string]*upstream]
}

// entry is a provider in the file. An entry of auth.json with one key is one, too.
type entry struct {
	Type    string `json:"type"`
	Key     string `json:"key"`
	API     string `json:"api"`
	BaseURL string `json:"baseUrl"`
}

// upstream is the server of a provider, and the operator's key for it.
type upstream struct {
	provider string
	address  string // the base URL as the engines know it
	base     *url.URL
	key      string
	routes   []route
}

// OpenKeys reads a file with the operator's keys. Only its owner may be able to read it, and the owner runs the server.
func OpenKeys(path string) (*Keys, error) {
	k := &Keys{path: path}
	return k, k.Reload()
}

// Reload reads the file again. If it is wrong, the last keys stay. No error quotes the file.
func (k *Keys) Reload() error {
	data, err := readPrivate(k.path)
	if err != nil {
		return fmt.Errorf("--provider-keys: %w", err)
	}
	all, err := parseKeys(data)
	if err != nil {
		return fmt.Errorf("--provider-keys: %s: %w", k.path, err)
	}
	k.now.Store(&all)
	return nil
}

// get returns the upstream of a provider, or nil.
func (k *Keys) get(provider string) *upstream { return (*k.now.Load())[provider] }

// addresses returns the base URLs of all providers.
func (k *Keys) addresses() map[string]string {
	all := make(map[string]string)
	for name, u := range *k.now.Load() {
		all[name] = u.address
	}
	return all
}

// readPrivate reads a file that only the user of this process can read. It checks the file that it reads, whatever the path names later.
func readPrivate(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // only read
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	if err := private(info); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	data, err := io.ReadAll(io.LimitReader(file, maxKeysFile+1))
	if err == nil && len(data) > maxKeysFile {
		err = fmt.Errorf("%s is larger than %d MiB", path, maxKeysFile>>20)
	}
	return data, err
}

// parseKeys parses the file.
func parseKeys(data []byte) (map[string]*upstream, error) {
	var entries map[string]entry
	if err := jsonx.Unmarshal(data, &entries, jsonx.Strict()); err != nil {
		text := `it must be JSON such as {"anthropic": {"key": "…"}}` // the error itself may quote a key
		if e, ok := errors.AsType[*jsonx.DecodeError](err); ok && e.Pointer != "" {
			text += "; " + e.Pointer + " is wrong"
		}
		return nil, errors.New(text)
	}
	if len(entries) == 0 {
		return nil, errors.New("it has no keys")
	}
	all := make(map[string]*upstream)
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		u, err := newUpstream(name, entries[name])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all[name] = u
	}
	return all, nil
}

func newUpstream(name string, e entry) (*upstream, error) {
	switch {
	case name == "" || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`/\%?#"`, r) }):
		return nil, errors.New("it is not the name of a provider")
	case e.Type != "" && e.Type != "api_key":
		return nil, fmt.Errorf("type is %q; write the key itself: the server asks no keyring and signs in nowhere", e.Type)
	case len(e.Key) < minKey:
		return nil, fmt.Errorf("key is missing, or has fewer than %d characters", minKey)
	case strings.ContainsFunc(e.Key, func(r rune) bool { return r <= ' ' || r > '~' }):
		return nil, errors.New("key is one word of ASCII")
	}
	api, address := registry.PublicAddress(name)
	api, address = cmp.Or(e.API, api), cmp.Or(e.BaseURL, address)
	switch {
	case api == "":
		return nil, errors.New("it is not a provider that gjc knows; add api and baseUrl, as in models.yml")
	case address == "":
		return nil, errors.New("baseUrl is missing")
	}
	base, err := url.Parse(address)
	if err != nil || base.Host == "" || base.User != nil || base.Fragment != "" || base.Opaque != "" {
		return nil, errors.New("baseUrl is not an address such as https://api.example.com/v1, without a password")
	}
	if base.Scheme != "https" && (base.Scheme != "http" || !isLoopback(base.Hostname())) {
		return nil, errors.New("baseUrl must begin with https://, or the key could be read on its way")
	}
	routes := routesOf(api)
	if routes == nil {
		return nil, fmt.Errorf("the API %q needs more than a key, or is unknown; users can have accounts of their own for it", api)
	}
	u := &upstream{provider: name, address: address, base: base, key: e.Key, routes: routes}
	if api == "ollama-chat" { // its requests are not below such an address
		bare := *base
		bare.Path, bare.RawPath = strings.TrimSuffix(strings.TrimSuffix(strings.TrimRight(base.Path, "/"), "/v1"), "/api"), ""
		u.base = &bare
	}
	return u, nil
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback() || host == "localhost"
}
