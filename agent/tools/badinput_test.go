package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/tools"
	"github.com/gajae-code/gjc/agent/tools/files"
	"github.com/gajae-code/gjc/agent/tools/toolstest"
)

// allTools returns the tools for all settings.
func allTools() []agent.Tool {
	all := tools.All(toolstest.Settings())
	for _, mode := range []files.EditMode{files.EditPatch, files.EditHashline} {
		for _, tool := range tools.All(&tools.Settings{Edit: files.EditSettings{Mode: mode}}) {
			if tool.Spec().Name == "edit" {
				all = append(all, tool)
			}
		}
	}
	return all
}

// badTime bounds how long a tool may take to reject an input on a busy machine.
const badTime = 30 * time.Second

// Every tool rejects input that its schema does not accept, names itself, and does nothing: no argument, null, other types, extra
// members.
func TestBadInput_EveryTool(t *testing.T) {
	for _, tool := range allTools() {
		spec := tool.Spec()
		var schema jsonschema.Schema
		if err := json.Unmarshal(spec.Schema, &schema); err != nil {
			t.Fatal(err)
		}
		good := goodInput(&schema)
		bad := map[string]any{"a list": []any{}, "a string": "x", "a number": 1}
		with := func(name string, value any) map[string]any {
			in := make(map[string]any)
			maps.Copy(in, good)
			in[name] = value
			return in
		}
		bad["a member more"] = with("gjc_unknown", 1)
		for _, name := range schema.Required {
			in := with(name, nil)
			bad[name+" is null"] = in
			in = with(name, nil)
			delete(in, name)
			bad[name+" is missing"] = in
		}
		for name, p := range schema.Properties {
			bad[name+" is of another type"] = with(name, other(p))
			bad[name+" is a list of lists"] = with(name, []any{[]any{[]any{}}})
		}
		t.Run(spec.Name, func(t *testing.T) {
			for what, in := range bad {
				w := toolstest.NewWorld(t, map[string]string{"a.txt": "a\n"})
				w.Terminal = &toolstest.Terminal{}
				raw, err := json.Marshal(in)
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithTimeout(t.Context(), badTime)
				_, _, err = toolstest.Do(ctx, tool, w.Call(t, spec.Name, string(raw)))
				if !errors.Is(err, agent.ErrBadInput) {
					t.Errorf("%s: %.200s: %v", what, raw, err)
				} else if !strings.Contains(err.Error(), spec.Name) {
					t.Errorf("%s: it does not say which tool: %v", what, err)
				}
				if ctx.Err() != nil {
					t.Errorf("%s: it took longer than %s", what, badTime)
				}
				cancel()
				if got := w.Disk(t, "a.txt"); got != "a\n" {
					t.Errorf("%s: a.txt is %q", what, got)
				}
			}
		})
	}
}

// Megabytes of arguments take bounded time, and the answer is bounded, too.
func TestBadInput_Enormous(t *testing.T) {
	huge := strings.Repeat("a/", 4<<20)
	for _, tool := range allTools() {
		spec := tool.Spec()
		var schema jsonschema.Schema
		if err := json.Unmarshal(spec.Schema, &schema); err != nil {
			t.Fatal(err)
		}
		t.Run(spec.Name, func(t *testing.T) {
			for name, p := range schema.Properties {
				in := goodInput(&schema)
				switch {
				case p.Type == "string":
					in[name] = huge
				case p.Type == "array" && p.Items != nil && p.Items.Type == "string":
					in[name] = []any{huge}
				default:
					continue
				}
				w := toolstest.NewWorld(t, map[string]string{"a.txt": "a\n"})
				w.Terminal = &toolstest.Terminal{}
				ctx, cancel := context.WithTimeout(t.Context(), badTime)
				_, res, err := toolstest.Do(ctx, tool, w.Call(t, spec.Name, in))
				if ctx.Err() != nil {
					t.Errorf("%s: it took longer than %s", name, badTime)
				}
				cancel()
				if err != nil && len(err.Error()) > maxAnswer || res != nil && len(res.Text) > maxAnswer {
					t.Errorf("%s: the answer is enormous too", name)
				}
			}
		})
	}
}

// maxAnswer bounds the answer of a tool, in bytes: output and notes.
const maxAnswer = 80 << 10

// goodInput returns an input that a schema accepts.
func goodInput(s *jsonschema.Schema) map[string]any {
	in := make(map[string]any)
	for _, name := range s.Required {
		in[name] = goodValue(s.Properties[name])
	}
	return in
}

func goodValue(s *jsonschema.Schema) any {
	if len(s.Enum) > 0 {
		return s.Enum[0]
	}
	switch s.Type {
	case "string":
		return "a.txt"
	case "boolean":
		return true
	case "integer", "number":
		return 1
	case "array":
		if s.Items == nil {
			return []any{}
		}
		return []any{goodValue(s.Items)}
	default:
		return goodInput(s)
	}
}

// other returns a value that a schema does not accept.
func other(s *jsonschema.Schema) any {
	if s.Type == "string" {
		return 12
	}
	return "twelve"
}
