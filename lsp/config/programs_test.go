package config_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/gajae-code/gjc/internal/trust"
)

// TestCatalog_Program checks that a project's own program is found only with trust, and that the one on PATH precedes it.
func TestCatalog_Program(t *testing.T) {
	m, c := pathMachine(t, "~/bin")
	put := func(path string) {
		t.Helper()
		path = m.path(path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		c.Changed(nil)
	}
	is := func(what, want string) {
		t.Helper()
		got, err := c.Program(t.Context(), "helper")
		if want != "" {
			want = m.path(want)
		}
		if got != want || (want == "") != errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %q, %v; want %q", what, got, err, want)
		}
	}
	is("nowhere", "")
	put("node_modules/.bin/helper")
	is("not trusted", "")
	sub := &trust.Subject{Path: m.root, Programs: []string{"node_modules/.bin/helper"}}
	if err := c.Answer(t.Context(), sub, trust.Trusted, false); err != nil {
		t.Fatal(err)
	}
	is("trusted", "node_modules/.bin/helper")
	put("~/bin/helper")
	is("on PATH", "~/bin/helper")
	if _, err := c.Program(t.Context(), "node_modules/.bin/helper"); err == nil {
		t.Error("a path is no name")
	}
}
