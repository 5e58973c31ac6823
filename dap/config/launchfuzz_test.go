package config

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/dap"
	"github.com/gajae-code/gjc/internal/configfile"
)

// FuzzConfiguration checks that parsing any launch.json ends, and that the result can be encoded.
func FuzzConfiguration(f *testing.F) {
	for _, text := range []string{
		`{"version": "0.2.0", "configurations": [{"name": "x", "type": "python", "request": "launch", "a": "${workspaceFolder}/${env:X}${input:i}", "envFile": "none", "linux": {"a": [1]},}],
"inputs": [{"id": "i", "type": "promptString", "password": true}, {"id": "p", "type": "pickString", "options": ["a", {"label": "b", "value": "c"}]}]} // end`,
		`{"configurations": [{"name": "x", "type": "cppdbg", "request": "launch", "MIMode": "lldb", "environment": [{"name": 1}], "setupCommands": [{}], "args": "'", "debugServer": 1.5, "stopAtEntry": true}]}`,
		`{"configurations": [{"name": "x", "type": "rdbg", "request": "launch", "script": "${file}", "command": "", "useBundler": true, "env": {"A": null}}]}`,
		`{"configurations": [{"name": "x", "type": "go", "request": "attach", "port": "1", "mode": 5}], "inputs": 5, "compounds": [{"name": "c", "configurations": ["x", {"name": 1}]}]}`,
	} {
		f.Add([]byte(text))
	}
	root := f.TempDir()
	f.Fuzz(func(t *testing.T, text []byte) {
		file := &configfile.File{Path: "launch.json", Data: text}
		entries := parseLaunch(file, root, "linux")
		for _, p := range file.Problems {
			rest, ok := strings.CutPrefix(p, "launch.json:")
			if !ok || rest == "" || rest[0] < '1' || rest[0] > '9' {
				t.Errorf("problem without a line: %q", p)
			}
		}
		for i := range entries {
			if entries[i].Why != "" {
				continue
			}
			r := &resolver{
				Resolve: Resolve{File: filepath.Join(root, "a.go"), PID: 5, Ask: func(context.Context, Input) (string, error) { return "${file}", nil }},
				goos:    "linux", root: root, roots: []string{root}, home: root, inputs: entries[i].inputs, answers: make(map[string]string),
			}
			made, err := r.configuration(t.Context(), &entries[i])
			if err != nil {
				continue
			}
			for _, kind := range []string{"dlv", "debugpy", "rdbg", "lldb-dap", "js-debug-adapter", ""} {
				p, err := PrepareConfiguration(&dap.Spec{Name: kind, Kind: kind}, made)
				if err != nil {
					continue
				}
				if _, err := json.Marshal(p.Arguments); err != nil {
					t.Error(err)
				}
				if p.Request != "launch" && p.Request != "attach" {
					t.Errorf("the request is %q", p.Request)
				}
			}
		}
	})
}
