package acp_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/testenv"
)

// The tests in this file compare the Go types with the official JSON Schema.

// rounds is large enough to cover every variant of every union.
const rounds = 20

type officialSchema struct {
	doc      map[string]any
	defs     map[string]any
	compiler *jsonschema.Compiler
}

func loadOfficial(t *testing.T) *officialSchema {
	t.Helper()
	dir := testenv.NeedsInterop(t)
	data, err := os.ReadFile(filepath.Join(dir, "node_modules", "@agentclientprotocol", "sdk", "schema", "v1", "schema.unstable.json"))
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	s := &officialSchema{doc: doc.(map[string]any), compiler: jsonschema.NewCompiler()}
	s.defs = s.doc["$defs"].(map[string]any)
	if err := s.compiler.AddResource("acp.json", doc); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *officialSchema) validate(t *testing.T, def string, data []byte) {
	t.Helper()
	sch, err := s.compiler.Compile("acp.json#/$defs/" + def)
	if err != nil {
		t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatalf("%v in %s", err, data)
	}
	if err := sch.Validate(value); err != nil {
		t.Errorf("does not fit %s: %v\n%s", def, err, data)
	}
}

// words holds a valid value for each enumerated Go type.
func (s *officialSchema) words() map[reflect.Type]string {
	words := map[reflect.Type]string{}
	for name, makeZero := range schemaTypes {
		for _, branch := range branches(s.defs[name].(map[string]any)) {
			if c, ok := branch["const"].(string); ok {
				words[reflect.TypeOf(makeZero()).Elem()] = c
				break
			}
		}
	}
	return words
}

func branches(n map[string]any) []map[string]any {
	var out []map[string]any
	for _, key := range []string{"oneOf", "anyOf"} {
		all, _ := n[key].([]any)
		for _, b := range all {
			out = append(out, b.(map[string]any))
		}
	}
	return out
}

func TestEveryDefinitionIsCovered(t *testing.T) {
	s := loadOfficial(t)
	byHand := []string{"RequestId", "ElicitationContentValue", "SessionConfigSelectOptions"}
	for name := range s.defs {
		if schemaTypes[name] == nil && schemaUnions[name] == nil && !skippedTypes[name] && !slices.Contains(byHand, name) {
			t.Errorf("%s has no Go type", name)
		}
	}
}

// The JSON of a value of every type fits its definition and decodes to the same value, with both JSON packages.
func TestFilledValuesFitTheSchema(t *testing.T) {
	s := loadOfficial(t)
	words := s.words()
	for name, makeZero := range schemaTypes {
		t.Run(name, func(t *testing.T) {
			seen := map[string]bool{}
			for round := range rounds {
				v := makeZero()
				fill(t, reflect.ValueOf(v).Elem(), round, words)
				data, err := jsonx.Marshal(v)
				if err != nil {
					t.Fatal(err)
				}
				if seen[string(data)] {
					continue
				}
				seen[string(data)] = true
				s.validate(t, name, data)
				checkDecode(t, v, makeZero, data)
			}
		})
	}
}

// checkDecode checks that both JSON packages decode data to v, and that encoding/json encodes it to the same data.
func checkDecode(t *testing.T, v any, makeZero func() any, data []byte) {
	t.Helper()
	got := makeZero()
	if err := jsonx.Unmarshal(data, got); err != nil {
		t.Fatalf("%v in %s", err, data)
	}
	if diff := cmp.Diff(v, got, cmp.Comparer(sameID)); diff != "" {
		t.Errorf("changed on the way:\n%s", diff)
	}
	std := makeZero()
	if err := json.Unmarshal(data, std); err != nil {
		t.Fatalf("encoding/json: %v in %s", err, data)
	}
	if diff := cmp.Diff(v, std, cmp.Comparer(sameID)); diff != "" {
		t.Errorf("encoding/json read it differently:\n%s", diff)
	}
	// Encode by value, to detect a method that is defined only on the pointer.
	written, err := json.Marshal(reflect.ValueOf(v).Elem().Interface())
	if err != nil {
		t.Fatal(err)
	}
	sameJSON(t, data, written)
}

func sameID(a, b acp.RequestID) bool { return a == b }

func sameJSON(t *testing.T, want, got []byte) {
	t.Helper()
	if diff := cmp.Diff(plain(t, want), plain(t, got)); diff != "" {
		t.Errorf("JSON differs (-want +got):\n%s", diff)
	}
}

func plain(t *testing.T, data []byte) any {
	t.Helper()
	var v any
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("%v in %s", err, data)
	}
	return v
}

// JSON generated from the definitions survives a round trip, with all members and with only the required ones. Encoding may add
// defaults.
func TestSchemaExamplesRoundTrip(t *testing.T) {
	s := loadOfficial(t)
	for name := range s.defs {
		if skippedTypes[name] {
			continue
		}
		t.Run(name, func(t *testing.T) {
			seen := map[string]bool{}
			for round := range rounds {
				full := s.example(name, round, true)
				if seen[string(full)] {
					continue
				}
				seen[string(full)] = true
				back := s.roundTrip(t, name, full)
				if diff := cmp.Diff(plain(t, full), untagged(plain(t, full), plain(t, back))); diff != "" {
					t.Errorf("JSON differs (-want +got):\n%s", diff)
				}
				least := s.example(name, round, false)
				back = s.roundTrip(t, name, least)
				s.validate(t, name, back)
				if missing := notIn(plain(t, least), plain(t, back)); missing != "" {
					t.Errorf("%s is lost from %s: %s", missing, least, back)
				}
			}
		})
	}
}

// untagged removes the discriminator that a variant of a union writes as a separate value, if its definition has none.
func untagged(want, got any) any {
	w, _ := want.(map[string]any)
	g, _ := got.(map[string]any)
	for _, tag := range []string{"type", "sessionUpdate", "state", "mode", "action", "outcome"} {
		if _, has := w[tag]; !has {
			delete(g, tag)
		}
	}
	return got
}

func (s *officialSchema) roundTrip(t *testing.T, name string, data []byte) []byte {
	t.Helper()
	s.validate(t, name, data) // validates the example itself
	v, err := decodeNamed(name, data)
	if err != nil {
		t.Fatalf("%v in %s", err, data)
	}
	back, err := jsonx.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return back
}

func decodeNamed(name string, data []byte) (any, error) {
	if decode := schemaUnions[name]; decode != nil {
		return decode(data)
	}
	switch name {
	case "RequestId":
		v := new(acp.RequestID)
		return v, jsonx.Unmarshal(data, v)
	case "ElicitationContentValue":
		return acp.DecodeElicitationContentValue(data)
	case "SessionConfigSelectOptions":
		return acp.DecodeSessionConfigSelectOptions(data)
	}
	v := schemaTypes[name]()
	return v, jsonx.Unmarshal(data, v)
}

// notIn returns a member of want that is missing from got or has another value there.
func notIn(want, got any) string {
	w, ok := want.(map[string]any)
	if !ok {
		if cmp.Equal(want, got) {
			return ""
		}
		return fmt.Sprintf("%v (is %v)", want, got)
	}
	g, _ := got.(map[string]any)
	for name, value := range w {
		if g == nil || g[name] == nil && value != nil {
			return name
		}
		if inner := notIn(value, g[name]); inner != "" {
			return name + "/" + inner
		}
	}
	return ""
}

func (s *officialSchema) example(name string, round int, full bool) []byte {
	data, err := json.Marshal(s.exampleOf(s.defs[name].(map[string]any), round, full))
	if err != nil {
		panic(err)
	}
	return data
}

// exampleOf returns a value that fits n. round selects the branch of a union.
func (s *officialSchema) exampleOf(n map[string]any, round int, full bool) any {
	if ref, ok := n["$ref"].(string); ok {
		return s.exampleOf(s.defs[strings.TrimPrefix(ref, "#/$defs/")].(map[string]any), round, full)
	}
	if c, ok := n["const"]; ok {
		return c
	}
	out := map[string]any{}
	var scalar any // may be null
	isScalar := false
	merge := func(v any) {
		if m, ok := v.(map[string]any); ok {
			maps.Copy(out, m)
			return
		}
		scalar, isScalar = v, true
	}
	if typ := typeOf(n); typ != "" && typ != "object" {
		return s.scalarExample(n, typ, round, full)
	}
	properties, _ := n["properties"].(map[string]any)
	required, _ := n["required"].([]any)
	for name, p := range properties {
		if full || slices.Contains(required, any(name)) {
			out[name] = s.exampleOf(p.(map[string]any), round, full)
		}
	}
	all, _ := n["allOf"].([]any)
	for _, part := range all {
		merge(s.exampleOf(part.(map[string]any), round, full))
	}
	if choices := branches(n); len(choices) > 0 {
		choices = slices.DeleteFunc(slices.Clone(choices), func(b map[string]any) bool { return typeOf(b) == "null" && b["title"] == nil })
		choice := choices[round%len(choices)]
		merge(s.exampleOf(choice, round, full))
		if choice["title"] == "none" {
			delete(out, "stopReason") // null and absent are equivalent there
		}
		_, isStop := properties["stopReason"] // IdleStateUpdate keeps only the stop reason
		if choice["title"] == "other" && choice["not"] != nil && !isStop {
			out["unheardOf"] = map[string]any{"kept": []any{true, nil}}
		}
	}
	if extra, ok := n["additionalProperties"].(map[string]any); ok && len(properties) == 0 {
		out["key"] = s.exampleOf(extra, round, full)
	} else if n["additionalProperties"] == true && len(properties) == 0 {
		out["any"] = json.Number("1")
	}
	switch {
	case isScalar:
		return scalar
	case typeOf(n) == "" && len(properties) == 0 && len(all) == 0 && len(branches(n)) == 0:
		return []any{json.Number("1"), "any value"}
	}
	return out
}

// typeOf returns the only type of n except null, or null if there is no other.
func typeOf(n map[string]any) string {
	switch typ := n["type"].(type) {
	case string:
		return typ
	case []any:
		return typ[0].(string)
	}
	return ""
}

func (s *officialSchema) scalarExample(n map[string]any, typ string, round int, full bool) any {
	switch typ {
	case "string":
		return "text é"
	case "integer":
		return json.Number("5")
	case "number":
		return json.Number("0.75")
	case "boolean":
		return true
	case "array":
		items, _ := n["items"].(map[string]any)
		return []any{s.exampleOf(items, round, full), s.exampleOf(items, round+1, full)}
	}
	return nil
}
