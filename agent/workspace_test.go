package agent

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/internal/boundary"
)

// ownTemp is a terminal with a directory for temporary files.
type ownTemp struct {
	Terminal
	exists bool
}

func (o *ownTemp) TempDir() (string, error) {
	o.exists = true
	return "/tmp/own", nil
}

func (o *ownTemp) Lingers(context.Context) bool { return false }

func (o *ownTemp) ExistingTempDir() string {
	if !o.exists {
		return ""
	}
	return "/tmp/own"
}

// tempLinks are files with links.
type tempLinks struct{ FS }

func (tempLinks) RealPath(path string) string {
	if rest, ok := strings.CutPrefix(path, "/work"); ok {
		return "/tmp/real" + rest
	}
	return filepath.Clean(path)
}

func (tempLinks) Stat(context.Context, string) (fs.FileInfo, error) { return nil, fs.ErrNotExist }

func TestWorkspace_Temporary(t *testing.T) {
	found := func(kind string, err error) func() (string, error) {
		return func() (string, error) { return kind, err }
	}
	for _, tt := range []struct {
		use      boundary.Use
		find     func() (string, error)
		in, want string
		shown    string
	}{
		{boundary.Auto, found("bubblewrap", nil), "/tmp/gjc-none", "/tmp/own/gjc-none", "/tmp/gjc-none"},
		{boundary.Require, found("bubblewrap", nil), "/tmp/a/../gjc-none", "/tmp/own/gjc-none", "/tmp/gjc-none"},
		{boundary.Auto, found("bubblewrap", nil), "/tmp", "/tmp/own", "/tmp"},
		{boundary.Auto, found("bubblewrap", nil), "../tmp/gjc-none", "/tmp/own/gjc-none", "/tmp/gjc-none"},
		{boundary.Auto, found("bubblewrap", nil), "/tmp/own/gjc-none", "/tmp/own/gjc-none", "/tmp/gjc-none"},
		{boundary.Auto, found("bubblewrap", nil), "/tmp/project/x", "/tmp/project/x", "/tmp/project/x"},
		{boundary.Auto, found("bubblewrap", nil), "/tmp/link/x", "/tmp/own/link/x", "/tmp/link/x"},
		{boundary.Auto, found("bubblewrap", nil), "/tmp/real/x", "/tmp/real/x", "/tmp/real/x"},
		{boundary.Auto, found("bubblewrap", nil), "/tmp/shared/x", "/tmp/shared/x", "/tmp/shared/x"},
		{boundary.Auto, found("bubblewrap", nil), "/tmpx", "/tmpx", "/tmpx"},
		{boundary.Auto, found("landlock", nil), "/tmp/gjc-none", "/tmp/gjc-none", "/tmp/gjc-none"},
		{boundary.Auto, found("", errors.New("none")), "/tmp/gjc-none", "/tmp/gjc-none", "/tmp/gjc-none"},
		{boundary.Off, found("bubblewrap", nil), "/tmp/gjc-none", "/tmp/gjc-none", "/tmp/gjc-none"},
	} {
		o := Options{Environment: Environment{Workspace: Workspace{Cwd: "/work", Additional: []string{"/tmp/project"}}, FS: tempLinks{}, Terminal: new(ownTemp)}}
		o.Policy.Boundary = boundary.Settings{Use: tt.use, Find: tt.find, Write: []string{"/tmp/shared"}}
		o.Workspace.resolve(o.FS)
		o.setTemporary()
		got := o.Workspace.Resolve(tt.in)
		if got != tt.want {
			t.Errorf("%s %s: got %s, want %s", tt.use, tt.in, got, tt.want)
		}
		if again := o.Workspace.Resolve(got); again != got {
			t.Errorf("%s: resolved again it is %s", got, again)
		}
		if shown := o.Workspace.Display(got); shown != tt.shown {
			t.Errorf("%s: shown as %s, want %s", got, shown, tt.shown)
		}
		s := &Session{opts: o}
		inside := strings.HasPrefix(got, "/tmp/own") || strings.HasPrefix(got, "/tmp/project")
		if outside := s.paths().Outside(got); outside == inside {
			t.Errorf("%s: outside is %v", got, outside)
		}
	}
}
