package mcp

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
)

// check returns why an entry cannot be used. Its texts contain no values of headers or the environment.
func check(s *Server, opts *Options) error {
	if strings.TrimSpace(s.Name) == "" {
		return errors.New("the server has no name")
	}
	ways := 0
	for _, set := range []bool{s.Stdio != nil, s.HTTP != nil, s.Channel != nil} {
		if set {
			ways++
		}
	}
	switch {
	case ways == 0:
		return errors.New("the server has neither a command nor a URL")
	case ways > 1:
		return errors.New("the server has both a command and a URL; give it one of them")
	case s.Stdio != nil:
		return checkStdio(s.Stdio)
	case s.HTTP != nil:
		return checkHTTP(s.HTTP)
	case s.Channel.ID == "":
		return errors.New("the server has no ID on the editor's channel")
	case opts.Channel == nil:
		return errors.New("the editor has no channel for MCP")
	}
	return nil
}

func checkStdio(s *Stdio) error {
	switch {
	case strings.TrimSpace(s.Command) == "":
		return errors.New("the command is empty")
	case !filepath.IsAbs(s.Command) && strings.ContainsAny(s.Command, `/\`):
		return fmt.Errorf("the command %q is relative; give its absolute path or a program's bare name", s.Command)
	case hasNUL(append([]string{s.Command}, s.Args...)...):
		return errors.New("the command or an argument contains a NUL byte")
	}
	for i, entry := range s.Env {
		if name, _, ok := strings.Cut(entry, "="); !ok || name == "" || hasNUL(entry) {
			return fmt.Errorf("environment entry %d is not NAME=value", i+1)
		}
	}
	return nil
}

func hasNUL(texts ...string) bool { return strings.ContainsRune(strings.Join(texts, ""), 0) }

func checkHTTP(h *HTTP) error {
	u, err := url.Parse(h.URL)
	switch {
	case err != nil:
		return errors.New("the URL is invalid") // url.Error quotes the URL, which may contain a secret
	case u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("the URL must begin with http:// or https://, not with %q", u.Scheme)
	case u.Host == "":
		return errors.New("the URL has no host")
	}
	for i, header := range h.Headers {
		if !isHeaderName(header.Name) {
			return fmt.Errorf("invalid name of header %d", i+1)
		}
		if strings.ContainsAny(header.Value, "\r\n\x00") {
			return fmt.Errorf("the value of the header %s contains a line break", header.Name)
		}
	}
	return nil
}

func isHeaderName(s string) bool {
	for _, c := range []byte(s) {
		if c <= ' ' || c >= 0x7f || strings.IndexByte(`()<>@,;:\"/[]?={}`, c) >= 0 {
			return false
		}
	}
	return s != ""
}
