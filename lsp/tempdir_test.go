package lsp_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/internal/proc"
	"github.com/gajae-code/gjc/lsp"
)

// TestServer_TempDir checks that each process has its own directory for temporary files, which is removed after its end: after exit,
// a kill, a crash or a failed start.
func TestServer_TempDir(t *testing.T) {
	for name, tt := range map[string]struct {
		script script
		end    func(s *server)
	}{
		"writes on exit": {script{Litter: true}, func(s *server) { s.Rest(in(s.t)) }},
		"hangs":          {script{Litter: true, Stubborn: true}, func(s *server) { s.Rest(in(s.t)) }},
		"hangs in shutdown": {script{Litter: true, Stubborn: true, HangOn: "shutdown"}, func(s *server) {
			_ = s.Close(context.Background()) // the end of the test reports the error
		}},
		"crashes": {script{Litter: true}, func(s *server) {
			if err := s.Call(in(s.t), "test/crash", nil, nil); err == nil {
				s.t.Error("the server did not crash")
			}
			s.Rest(in(s.t))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			temp := t.TempDir()
			s := start(t, tt.script, func(o *lsp.ServerOptions) { o.Env = proc.Environ(o.Env, "TMPDIR="+temp, "TMP="+temp, "TEMP="+temp) })
			own := ask[string](s, "test/tempdir", nil)
			if filepath.Dir(own) != temp || !strings.HasPrefix(filepath.Base(own), "gjc-lsp-") {
				t.Errorf("the server's temporary files are in %s, want its own directory in %s", own, temp)
			}
			if _, err := os.Stat(filepath.Join(own, "start.d", "start")); err != nil {
				t.Error(err)
			}
			tt.end(s)
			if left, err := filepath.Glob(filepath.Join(temp, "*", "*")); err != nil || len(left) > 0 {
				t.Errorf("left: %v, %v", left, err)
			}
			if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
				t.Errorf("left: %v, %v", left, err)
			}
			if name == "hangs in shutdown" {
				return
			}
			// The next process has another directory.
			if next := ask[string](s, "test/tempdir", nil); next == own || filepath.Dir(next) != temp {
				t.Errorf("the second process has %s, the first had %s", next, own)
			}
		})
	}
}

// TestServer_TempDirOfFailedStart checks that a server that cannot be started leaves no directory.
func TestServer_TempDirOfFailedStart(t *testing.T) {
	for name, change := range map[string]func(o *lsp.ServerOptions){
		"no program": func(o *lsp.ServerOptions) { o.Spec.Path = filepath.Join(o.Root, "missing") },
		"crash":      func(*lsp.ServerOptions) {},
	} {
		t.Run(name, func(t *testing.T) {
			temp := t.TempDir()
			s := start(t, script{Litter: true, CrashOn: "initialize"}, func(o *lsp.ServerOptions) {
				o.Env, o.Backoff = proc.Environ(o.Env, "TMPDIR="+temp, "TMP="+temp, "TEMP="+temp), nil
				change(o)
			})
			if err := s.Start(in(t)); err == nil {
				t.Error("it started")
			}
			if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
				t.Errorf("left: %v, %v", left, err)
			}
		})
	}
}
