package mcp

import (
	"cmp"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// minSecret is the minimum length of a value that is removed from texts: removing each "1" would make them unreadable.
const minSecret = 6

// redactor removes secrets from texts: values of the environment and of headers, and the query and user parts of a URL.
type redactor struct {
	mu      sync.Mutex // guards secrets
	secrets []string
	replace atomic.Pointer[strings.Replacer] // nil for no secrets
}

func newRedactor(s *Server) *redactor {
	var secrets []string
	add := func(value string) { secrets = append(secrets, value) }
	for _, value := range s.Secrets {
		add(value)
	}
	if s.Stdio != nil {
		for _, entry := range s.Stdio.Env {
			_, value, _ := strings.Cut(entry, "=")
			add(value)
		}
	}
	if s.HTTP != nil {
		secrets = append(secrets, headerSecrets(s.HTTP.Headers)...)
		if u, err := url.Parse(s.HTTP.URL); err == nil {
			add(u.RawQuery)
			for _, values := range u.Query() {
				for _, v := range values {
					add(v)
				}
			}
			if password, ok := u.User.Password(); ok {
				add(password)
			}
		}
	}
	r := new(redactor)
	r.add(secrets)
	return r
}

// headerSecrets returns the values of headers, and the tokens in them.
func headerSecrets(headers []Header) (all []string) {
	for _, h := range headers {
		all = append(all, h.Value)
		if _, token, ok := strings.Cut(h.Value, " "); ok { // "Bearer" and its token
			all = append(all, token)
		}
	}
	return all
}

// maxSecrets bounds the secrets of one server: a helper may print another token for each connection.
const maxSecrets = 1000

// add adds secrets. It ignores short ones.
func (r *redactor) add(secrets []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before := len(r.secrets)
	for _, s := range secrets {
		if len(s) >= minSecret && !slices.Contains(r.secrets, s) {
			r.secrets = append(r.secrets, s)
		}
	}
	if len(r.secrets) == before {
		return
	}
	r.secrets = r.secrets[max(0, len(r.secrets)-maxSecrets):]
	// The longest first: a secret may contain a shorter one.
	sorted := slices.Clone(r.secrets)
	slices.SortFunc(sorted, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	pairs := make([]string, 0, 2*len(sorted))
	for _, secret := range sorted {
		pairs = append(pairs, secret, "[hidden]")
	}
	r.replace.Store(strings.NewReplacer(pairs...))
}

func (r *redactor) text(s string) string {
	if replace := r.replace.Load(); replace != nil {
		return replace.Replace(s)
	}
	return s
}

// redacted is an error without secrets in its text. It unwraps to the original error, for errors.Is.
type redacted struct {
	text string
	err  error
}

func (e *redacted) Error() string { return e.text }
func (e *redacted) Unwrap() error { return e.err }

func (r *redactor) error(err error) error {
	if err == nil || r.replace.Load() == nil {
		return err
	}
	text := r.text(err.Error())
	if text == err.Error() {
		return err
	}
	return &redacted{text, err}
}
