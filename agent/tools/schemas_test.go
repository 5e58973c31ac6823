package tools_test

import (
	"bytes"
	"os"
	"path"
	"path/filepath"
	"testing"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/tools"
	"github.com/gajae-code/gjc/agent/tools/files"
	"github.com/gajae-code/gjc/agent/tools/toolstest"
	"github.com/gajae-code/gjc/internal/testenv"
)

// Each package of tools has a file with the schema of each input type, and no other schema.
func TestSchemas(t *testing.T) {
	all := tools.All(toolstest.Settings())
	for _, mode := range []files.EditMode{files.EditPatch, files.EditHashline, files.EditReplace} {
		all = append(all, tools.All(&tools.Settings{Edit: files.EditSettings{Mode: mode}})...)
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
		dir := path.Base(input.PkgPath())
		if dir == "agent" { // the input of todo_write, which the session parses too
			dir = "talk"
		}
		path := filepath.Join(dir, "schemas", input.Name()+".json")
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
	files, err := filepath.Glob("*/schemas/*")
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
