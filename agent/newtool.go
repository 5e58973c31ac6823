package agent

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/gajae-code/gjc/internal/bug"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/text"
	"github.com/gajae-code/gjc/providers"
)

// ToolFuncs is a tool whose input decodes into In, a struct with json and jsonschema tags. Members without
// omitempty or omitzero are required.
type ToolFuncs[In any] struct {
	Name        string
	Description string
	Kind        ToolKind
	Exclusive   bool
	Available   func(*Values) bool
	Program     string
	For         func(*providers.ModelInfo) bool
	// Schema returns the schema of In as [Derive] would, from a file: deriving it delays the first answer of a session. If Schema is
	// nil or returns nil, the schema is derived.
	Schema func() jsonx.Raw
	// Plan is as in [Tool]; nil for a call without effects and a plain title.
	Plan func(ctx context.Context, call *Call, in *In) (*CallPlan, error)
	// Run is as in [Tool]. Required.
	Run func(ctx context.Context, call *Call, in *In) (*Result, error)
}

// NewTool returns a tool made of typed functions. Its schema is read or derived when it is first requested.
func NewTool[In any](f ToolFuncs[In]) Tool {
	return &typedTool[In]{funcs: f, spec: sync.OnceValue(func() *ToolSpec {
		var raw jsonx.Raw
		if f.Schema != nil {
			raw = f.Schema()
		}
		if len(raw) == 0 {
			var err error
			if raw, err = derive[In](); err != nil {
				bug.Reportf("the schema of tool %s: %v", f.Name, err)
			}
		}
		return &ToolSpec{
			Name: f.Name, Description: f.Description, Kind: f.Kind, Schema: raw,
			Exclusive: f.Exclusive, Available: f.Available, Program: f.Program, For: f.For,
		}
	})}
}

// Derive derives the schema of a tool's input from its Go type. It reports false for a tool that [NewTool] has not made.
func Derive(t Tool) (input reflect.Type, schema jsonx.Raw, ok bool, err error) {
	d, ok := t.(interface {
		derive() (reflect.Type, jsonx.Raw, error)
	})
	if !ok {
		return nil, nil, false, nil
	}
	input, schema, err = d.derive()
	return input, schema, true, err
}

func (t *typedTool[In]) derive() (reflect.Type, jsonx.Raw, error) {
	raw, err := derive[In]()
	return reflect.TypeFor[In](), raw, err
}

func derive[In any]() (jsonx.Raw, error) {
	schema, err := jsonschema.For[In](nil)
	if err != nil {
		return nil, err
	}
	dropNull(schema)
	return jsonx.Marshal(schema)
}

// dropNull removes "null" from a schema's types. It represents Go's nil, which models need not know, and some providers
// accept only one type.
func dropNull(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if len(s.Types) == 2 && s.Types[0] == "null" {
		s.Type, s.Types = s.Types[1], nil
	}
	for _, p := range s.Properties {
		dropNull(p)
	}
	dropNull(s.Items)
	dropNull(s.AdditionalProperties)
}

type typedTool[In any] struct {
	funcs ToolFuncs[In]
	spec  func() *ToolSpec
}

func (t *typedTool[In]) Spec() *ToolSpec { return t.spec() }

func (t *typedTool[In]) Plan(ctx context.Context, call *Call) (*CallPlan, error) {
	in, err := t.decode(call)
	if err != nil {
		return nil, bounded(err)
	}
	if t.funcs.Plan == nil {
		return new(CallPlan), nil
	}
	plan, err := t.funcs.Plan(ctx, call, in)
	return plan, bounded(err)
}

func (t *typedTool[In]) Run(ctx context.Context, call *Call) (*Result, error) {
	in, err := t.decode(call)
	if err != nil {
		return nil, bounded(err)
	}
	res, err := t.funcs.Run(ctx, call, in)
	return res, bounded(err)
}

// maxErrorText is the maximum length of a tool's error, in bytes: it may quote an input of megabytes.
const maxErrorText = 32 << 10

// boundedError is an error with a shortened text.
type boundedError struct {
	error
	text string
}

func (e *boundedError) Error() string { return e.text }
func (e *boundedError) Unwrap() error { return e.error }

func bounded(err error) error {
	if err == nil {
		return nil
	}
	message := err.Error()
	if len(message) <= maxErrorText {
		return err
	}
	return &boundedError{err, text.Middle(message, maxErrorText)}
}

// ErrBadInput is wrapped by every error about a tool call's input.
var ErrBadInput = errors.New("invalid tool input")

func (t *typedTool[In]) decode(call *Call) (*In, error) {
	if in, ok := call.Decoded.(*In); ok {
		return in, nil
	}
	in := new(In)
	raw := call.Input
	if len(raw) == 0 {
		raw = jsonx.Raw("{}")
	}
	if err := jsonx.Unmarshal(raw, in, jsonx.Strict()); err != nil {
		return nil, fmt.Errorf("%w for %s: %w (it takes %s)", ErrBadInput, t.funcs.Name, err, memberNames(reflect.TypeFor[In]()))
	}
	var absent []string
	for _, name := range requiredMembers(reflect.TypeFor[In]()) {
		if !hasMember(raw, name) {
			absent = append(absent, name)
		}
	}
	if len(absent) > 0 {
		return nil, fmt.Errorf("%w for %s: %s missing (it takes %s)", ErrBadInput, t.funcs.Name,
			strings.Join(absent, ", "), memberNames(reflect.TypeFor[In]()))
	}
	call.Decoded = in
	return in, nil
}

func hasMember(raw jsonx.Raw, name string) bool {
	found := false
	err := jsonx.ReadObject(raw, func(n []byte, v jsonx.Raw) error {
		found = found || string(n) == name && !jsonx.IsNull(v)
		return nil
	})
	return err == nil && found
}

// memberNames returns the names of the JSON members of t, those of embedded structs included.
func memberNames(t reflect.Type) string {
	var names []string
	for _, f := range reflect.VisibleFields(t) {
		if !f.Anonymous {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// requiredMembers returns the names of the JSON members of t that cannot be omitted.
func requiredMembers(t reflect.Type) []string {
	var names []string
	for _, f := range reflect.VisibleFields(t) {
		if name, options, _ := strings.Cut(f.Tag.Get("json"), ","); !f.Anonymous && !strings.Contains(options, "omit") {
			names = append(names, name)
		}
	}
	return names
}
