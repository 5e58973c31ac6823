package mcp

import (
	"cmp"
	"net/url"
	"slices"
	"strings"
)

// minSecret is the minimum length of a value that is removed from texts: removing each "1" would make them unreadable.
const minSecret = 6

// redactor removes secrets from texts: values of the environment and of headers, and the query and user parts of a URL.
type redactor struct{ replace *strings.Replacer }

func newRedactor(s *Server) *redactor {
	var secrets []string
	add := func(value string) {
		if len(value) >= minSecret {
			secrets = append(secrets, value)
		}
	}
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
		for _, h := range s.HTTP.Headers {
			add(h.Value)
			if _, token, ok := strings.Cut(h.Value, " "); ok { // "Bearer" and its token
				add(token)
			}
		}
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
	if len(secrets) == 0 {
		return &redactor{}
	}
	// The longest first: a secret may contain a shorter one.
	slices.SortFunc(secrets, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	pairs := make([]string, 0, 2*len(secrets))
	for _, secret := range slices.Compact(secrets) {
		pairs = append(pairs, secret, "[hidden]")
	}
	return &redactor{replace: strings.NewReplacer(pairs...)}
}

func (r *redactor) text(s string) string {
	if r.replace == nil {
		return s
	}
	return r.replace.Replace(s)
}

// redacted is an error without secrets in its text. It unwraps to the original error, for errors.Is.
type redacted struct {
	text string
	err  error
}

func (e *redacted) Error() string { return e.text }
func (e *redacted) Unwrap() error { return e.err }

func (r *redactor) error(err error) error {
	if err == nil || r.replace == nil {
		return err
	}
	text := r.text(err.Error())
	if text == err.Error() {
		return err
	}
	return &redacted{text, err}
}
