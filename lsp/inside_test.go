package lsp_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/proc"
	"github.com/gajae-code/gjc/lsp"
)

// A server in a sandbox belongs to one session and gets no process ID that it cannot see; the others stay shared. A client of a shared
// server is replaced by the server.
func TestInside(t *testing.T) {
	for _, tt := range []struct {
		name            string
		outside, apart  bool
		sandbox         bool
		shared, visible bool
	}{
		{"in a box", false, true, true, false, false},
		{"below Landlock", false, false, true, false, true},
		{"runs no code", true, true, true, true, true},
		{"no sandbox", false, false, false, true, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k := newKitchen(t, script{Publish: "versioned"})
			direct := *k.spec
			direct.Args = []string{"--pid=$PID"}
			k.spec.Args, k.spec.Outside, k.spec.Direct = []string{"client"}, tt.outside, &direct
			path := k.write("a.txt", "one\n")
			started := 0
			inside := func(o *lsp.WorkspaceOptions) {
				o.Inside = func() lsp.StartFunc {
					if !tt.sandbox {
						return nil
					}
					return func(ctx context.Context, children *proc.Group, o *proc.Options) (*proc.Process, bool, error) {
						started++
						p, err := children.Start(ctx, o)
						return p, tt.apart, err
					}
				}
			}
			one, two := k.session(inside), k.session(inside)
			s := one.server(t, path)
			if shared := two.server(t, path) == s; shared != tt.shared {
				t.Errorf("shared: %v", shared)
			}
			var params jsonx.Raw
			if err := s.Call(in(t), "test/last", map[string]string{"method": "initialize"}, &params); err != nil {
				t.Fatal(err)
			}
			pid := "null"
			if tt.visible {
				pid = fmt.Sprint(os.Getpid())
			}
			if got := string(jsonx.Lookup(params, "processId")); got != pid {
				t.Errorf("the process ID is %s, want %s", got, pid)
			}
			var args jsonx.Raw
			if err := s.Call(in(t), "test/args", nil, &args); err != nil {
				t.Fatal(err)
			}
			want := `["client"]`
			if !tt.shared {
				want = `["--pid=1"]`
			}
			if string(args) != want || (started == 1) == tt.shared || s.Status().Inside == tt.shared {
				t.Errorf("arguments %s, started inside %d times, inside: %v", args, started, s.Status().Inside)
			}
		})
	}
}

// If the sandbox cannot start a server, the error says why.
func TestInside_Fails(t *testing.T) {
	k := newKitchen(t, script{})
	lacks := errors.New("there is no sandbox here")
	e := k.session(func(o *lsp.WorkspaceOptions) {
		o.Inside = func() lsp.StartFunc {
			return func(context.Context, *proc.Group, *proc.Options) (*proc.Process, bool, error) {
				return nil, false, lacks
			}
		}
	})
	if err := e.server(t, k.write("a.txt", "")).Call(in(t), "test/args", nil, nil); !errors.Is(err, lacks) {
		t.Errorf("%v", err)
	}
}
