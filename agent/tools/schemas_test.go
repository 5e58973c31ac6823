package tools_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/tools"
	"github.com/gajae-code/gjc/internal/testenv"
)

// The files with the schemas of tools are those of the Go types, and there is no other.
func TestSchemas(t *testing.T) {
	all := tools.All(settings())
	for _, mode := range []tools.EditMode{tools.EditPatch, tools.EditHashline, tools.EditReplace} {
		all = append(all, tools.All(&tools.Settings{Edit: tools.EditSettings{Mode: mode}})...)
	}
	known := make(map[string]bool)
	for _, tool := range all {
		input, want, ok, err := agent.Derive(tool)
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			t.Errorf("%s has no typed input", tool.Spec().Name)
			continue
		}
		path := filepath.Join("schemas", input.Name()+".json")
		known[path] = true
		if testenv.Update() {
			if err := os.WriteFile(path, want, 0o666); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) || !bytes.Equal(tool.Spec().Schema, want) {
			t.Errorf("%s differs from the schema of its Go type (%v); run go test ./agent/tools -update\ngot  %s\nwant %s", path, err, got, want)
		}
	}
	files, err := filepath.Glob("schemas/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		if known[path] {
			continue
		}
		if !testenv.Update() {
			t.Errorf("%s belongs to no tool", path)
		} else if err := os.Remove(path); err != nil {
			t.Error(err)
		}
	}
}
