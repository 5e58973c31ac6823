package headless

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/internal/jsonx"
)

// Schema makes the agent give its answer as JSON that fits a JSON Schema: as structured output, or with a tool.
type Schema struct {
	resolved *jsonschema.Resolved
	// input is the schema of what the model gives, which must be an object; member is that of the answer, empty if it is the whole.
	input  jsonx.Raw
	member string
	// byTool is set when the model is to use the tool.
	byTool atomic.Bool

	mu     sync.Mutex // guards the fields below
	answer jsonx.Raw  // nil until there is one
	wrong  int        // answers that did not fit, and turns without one
	last   error      // why the last one did not fit
	// failed is called when there are no corrections left.
	failed func()
}

const (
	answerTool = "answer"
	// maxCorrections bounds how often the model may correct its answer.
	maxCorrections = 3
	// maxSchema bounds a schema, in bytes.
	maxSchema = 1 << 20
)

// errSchema is why a run without a fitting answer ends.
var errSchema = errors.New("the answer does not fit the schema")

// ReadSchema reads a schema. Its references must be local.
func ReadSchema(path string) (*Schema, error) {
	f, err := openFile(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	data, err := io.ReadAll(io.LimitReader(f, maxSchema+1))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	if len(data) > maxSchema {
		return nil, fmt.Errorf("%s has more than %d MiB", path, maxSchema>>20)
	}
	s, err := newSchema(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

func newSchema(data []byte) (*Schema, error) {
	parsed := new(jsonschema.Schema)
	if err := jsonx.Unmarshal(data, parsed); err != nil {
		return nil, fmt.Errorf("it is no JSON Schema: %w", err)
	}
	resolved, err := parsed.Resolve(nil)
	if err != nil {
		return nil, fmt.Errorf("it is no JSON Schema that can be checked: %w", err)
	}
	var doc any
	if err := jsonx.Unmarshal(data, &doc); err != nil {
		return nil, err
	}
	if err := (&loopFinder{doc, make(map[string]loopState)}).check("", doc, 0); err != nil {
		return nil, err
	}
	s := &Schema{resolved: resolved, input: data}
	if parsed.Type == "object" {
		return s, nil
	}
	// The input of a tool is an object. Definitions stay where references find them.
	s.member = "answer"
	defs, definitions := parsed.Defs, parsed.Definitions
	parsed.Defs, parsed.Definitions = nil, nil
	s.input, err = jsonx.Marshal(&jsonschema.Schema{
		Type: "object", Properties: map[string]*jsonschema.Schema{s.member: parsed}, Required: []string{s.member}, Defs: defs, Definitions: definitions,
	})
	return s, err
}

// Tool returns the tool by which a model without structured output gives its answer.
func (s *Schema) Tool() agent.Tool { return schemaTool{s} }

// request asks for the answer, after the prompt.
const request = "When you are done, give your answer with the tool " + answerTool + ". Only that counts."

// again asks for the answer after a turn without one. It reports false if there are no corrections left.
func (s *Schema) again() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.answer != nil || s.wrong >= maxCorrections {
		return false
	}
	s.wrong++
	return true
}

// result returns the answer, or why there is none.
func (s *Schema) result() (jsonx.Raw, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.answer != nil:
		return s.answer, nil
	case s.last != nil:
		return nil, fmt.Errorf("%w: %w", errSchema, s.last)
	default:
		return nil, fmt.Errorf("%w: the model gave none with the tool %s", errSchema, answerTool)
	}
}

// check checks an answer, and returns why it does not fit and the number of corrections that are left.
func (s *Schema) check(input jsonx.Raw) (left int, err error) {
	answer := input
	if s.member != "" {
		answer = jsonx.Lookup(input, s.member)
	}
	var value any
	if err = jsonx.Unmarshal(answer, &value); err == nil {
		err = s.resolved.Validate(value)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.wrong > maxCorrections { // the run is being ended, which later calls of the same answer may precede
		return 0, fmt.Errorf("%w: %w", errSchema, s.last)
	}
	if err == nil {
		s.answer, s.last = answer, nil
		return 0, nil
	}
	s.answer, s.last = nil, err
	if s.wrong++; s.wrong > maxCorrections {
		s.failed()
	}
	return maxCorrections - s.wrong + 1, fmt.Errorf("%w: %w", errSchema, err)
}

// take checks an answer that was given with the tool. An error is for the model.
func (s *Schema) take(input jsonx.Raw) error {
	switch left, err := s.check(input); {
	case err == nil:
		return nil
	case left == 0:
		return fmt.Errorf("%w; no corrections are left", err)
	default:
		return fmt.Errorf("%w; correct it and call %s again; %d corrections are left", err, answerTool, left)
	}
}

// schemaTool implements [agent.Tool].
type schemaTool struct{ *Schema }

// Spec implements [agent.Tool].
func (t schemaTool) Spec() *agent.ToolSpec {
	return &agent.ToolSpec{
		Name: answerTool, Kind: agent.KindOther, Schema: t.input, Exclusive: true,
		Available:   func(*agent.Values) bool { return t.byTool.Load() },
		Description: "Gives your answer to the user, as JSON. Call it once, when all other work is done; what you write as text is not read.",
	}
}

// Plan implements [agent.Tool].
func (schemaTool) Plan(context.Context, *agent.Call) (*agent.CallPlan, error) {
	return &agent.CallPlan{Title: "Answer"}, nil
}

// Run implements [agent.Tool].
func (t schemaTool) Run(_ context.Context, call *agent.Call) (*agent.Result, error) {
	if err := t.take(call.Input); err != nil {
		return nil, err
	}
	return &agent.Result{Text: "The answer was accepted. End now, without further text."}, nil
}
