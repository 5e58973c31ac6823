package dap_test

import (
	"path/filepath"
	"sync"
	"testing"

	godap "github.com/google/go-dap"

	"github.com/gajae-code/gjc/dap"
	"github.com/gajae-code/gjc/dap/daptest"
)

// TestVariables_SharedScopes simulates older versions of lldb-dap, which use the same references for the scopes of all frames:
// they mean the frame of the last scopes request. Concurrent calls must return the variables of the right frame.
func TestVariables_SharedScopes(t *testing.T) {
	d := newDebugger(t, dap.Options{})
	a, spec := daptest.Process(t)
	spec.Kind = "lldb-dap"
	p := daptest.NewProgram(a, source(t), daptest.All())
	names := map[int]string{1: "ours", 2: "theirs"}
	at := 0 // handlers run one at a time
	p.Handle("scopes", func(r *daptest.Request) {
		var args godap.ScopesArguments
		r.Decode(&args)
		at = args.FrameId
		r.Respond(godap.ScopesResponseBody{Scopes: []godap.Scope{{Name: "Locals", VariablesReference: 1}}})
	})
	p.Handle("variables", func(r *daptest.Request) {
		r.Respond(godap.VariablesResponseBody{Variables: []godap.Variable{{Name: names[at], Value: "1"}}})
	})
	p.Handle("setVariable", func(r *daptest.Request) {
		var args godap.SetVariableArguments
		r.Decode(&args)
		if args.Name != names[at] {
			r.Refuse("no " + args.Name)
			return
		}
		r.Respond(map[string]any{"result": args.Value, "type": "int"}) // instead of value
	})
	s, err := d.Start(within(t), &dap.Start{Adapter: spec, Request: "launch", Dir: filepath.Dir(p.Path)})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Wait(within(t)); err != nil {
		t.Fatal(err)
	}
	frames, _, err := s.StackTrace(within(t), 0, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	var refs []int
	for _, f := range frames {
		scopes, err := s.Scopes(within(t), f.ID)
		if err != nil {
			t.Fatal(err)
		}
		refs = append(refs, scopes[0].Ref)
	}
	if refs[0] == refs[1] {
		t.Fatalf("two scopes have one reference, %d", refs[0])
	}
	var all sync.WaitGroup
	for i := range 20 {
		frame := i % 2
		all.Go(func() {
			list, _, err := s.Variables(within(t), refs[frame], dap.Page{})
			if want := names[frame+1]; err != nil || len(list) != 1 || list[0].Name != want {
				t.Errorf("variables of frame %d: %+v, %v; want %s", frame, list, err, want)
			}
		})
	}
	all.Wait()
	for frame, ref := range refs {
		if v, err := s.SetVariable(within(t), ref, names[frame+1], "7"); err != nil || v.Value != "7" {
			t.Errorf("setting a variable of frame %d: %+v, %v", frame, v, err)
		}
	}
}
