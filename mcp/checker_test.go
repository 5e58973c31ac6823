package mcp_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/mcp"
)

func decoded(t testing.TB, text string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%.100s: %v", text, err)
	}
	return v
}

// doubling is a schema that is applied 2^n times.
func doubling(n int, keyword string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `{"type":"object","$ref":"#/$defs/d0","$defs":{"d%d":{"type":"object"}`, n)
	for i := range n {
		fmt.Fprintf(&b, `,"d%d":{%q:[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%[3]d"}]}`, i, keyword, i+1)
	}
	return b.String() + "}}"
}

func nested(n int, open, inner, end string) string {
	return strings.Repeat(open, n) + inner + strings.Repeat(end, n)
}

func TestChecker(t *testing.T) {
	const tree = `{"type":"object","properties":{"v":{"type":"integer"},"kids":{"type":"array","items":{"$ref":"#"}}}}`
	const branching = `{"type":"object","anyOf":[{"properties":{"a":{"$ref":"#"}}},{"properties":{"a":{"$ref":"#"}}},{"properties":{"a":{"$ref":"#"}}}]}`
	for _, c := range []struct {
		name, schema, value string
		unchecked           error
		fits                bool
	}{
		{name: "fits", schema: `{"type":"object","required":["a"],"properties":{"a":{"type":"string"}}}`, value: `{"a":"x"}`, fits: true},
		{name: "misses", schema: `{"type":"object","required":["a"]}`, value: `{}`},
		{name: "wrong type", schema: `{"type":"object","properties":{"a":{"type":"string"}}}`, value: `{"a":1}`},
		{name: "a tree", schema: tree, value: `{"kids":[{"kids":[{"v":1}]}]}`, fits: true},
		{name: "a tree that misses", schema: tree, value: `{"kids":[{"kids":[{"v":"x"}]}]}`},
		{name: "a definition", schema: `{"type":"object","properties":{"a":{"$ref":"#/$defs/a~1b"}},"$defs":{"a/b":{"type":"string"}}}`, value: `{"a":1}`},
		{name: "a pattern", schema: `{"type":"object","properties":{"a":{"type":"string","pattern":"^\\d{4}-\\d{2}$"}}}`, value: `{"a":"x"}`},

		{name: "allOf itself", schema: `{"type":"object","allOf":[{"$ref":"#"}]}`, unchecked: mcp.ErrSchemaLoops},
		{name: "itself", schema: `{"type":"object","$ref":"#"}`, unchecked: mcp.ErrSchemaLoops},
		{name: "a property itself", schema: `{"type":"object","properties":{"x":{"$ref":"#/properties/x"}}}`, unchecked: mcp.ErrSchemaLoops},
		{name: "if itself", schema: `{"type":"object","if":{"not":{"$ref":"#"}}}`, unchecked: mcp.ErrSchemaLoops},
		{name: "dependent itself", schema: `{"type":"object","dependentSchemas":{"a":{"$ref":"#"}}}`, unchecked: mcp.ErrSchemaLoops},
		{name: "a circle", schema: `{"type":"object","$ref":"#/$defs/a","$defs":{"a":{"oneOf":[{"$ref":"#/$defs/b"}]},"b":{"then":{"$ref":"#/$defs/a"}}}}`, unchecked: mcp.ErrSchemaLoops},
		{name: "a long chain", schema: doubling(700, "oneOf"), unchecked: mcp.ErrSchemaHeavy},
		{name: "exponential allOf", schema: doubling(40, "allOf"), unchecked: mcp.ErrSchemaHeavy},
		{name: "exponential anyOf", schema: doubling(40, "anyOf"), unchecked: mcp.ErrSchemaHeavy},
		{name: "deep", schema: nested(3000, `{"type":"object","properties":{"a":`, `{}`, `}}`), unchecked: mcp.ErrSchemaHeavy},
		{name: "deep not", schema: nested(3000, `{"not":`, `{}`, `}`), unchecked: mcp.ErrSchemaHeavy},
		{name: "a heavy pattern", schema: `{"type":"object","properties":{"a":{"pattern":"((a{30}){30}b){1,1}` + strings.Repeat(`[a-z]{900}`, 40) + `"}}}`, unchecked: mcp.ErrSchemaHeavy},
		{name: "a dynamic reference", schema: `{"type":"object","$dynamicAnchor":"n","allOf":[{"$dynamicRef":"#n"}]}`, unchecked: mcp.ErrSchemaOdd},
		{name: "another document", schema: `{"type":"object","$ref":"https://schema.invalid/x"}`, unchecked: mcp.ErrSchemaOdd},
		{name: "another version", schema: `{"$schema":"http://json-schema.org/draft-04/schema#","type":"object"}`, unchecked: mcp.ErrSchemaOdd},
		{name: "keywords in capitals", schema: `{"type":"object","ALLOF":[{"$REF":"#"}],"AllOf":[{"$Ref":"#"}]}`, value: `{}`, fits: true},

		{name: "branches by the depth", schema: branching, value: nested(40, `{"a":`, `{"a":5}`, `}`), fits: true},
		{name: "branches a little", schema: branching, value: `{"a":{"a":5}}`},
		{name: "a deep value", schema: `{"type":"object","required":["x"]}`, value: nested(900, `{"a":`, `{}`, `}`), fits: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			var value any
			if c.value != "" {
				value = decoded(t, c.value)
			}
			unchecked, err := mcp.CheckSchema(decoded(t, c.schema), value, len(c.value))
			if !errors.Is(unchecked, c.unchecked) {
				t.Errorf("unchecked: %v, want %v", unchecked, c.unchecked)
			}
			if c.unchecked == nil && (err == nil) != c.fits {
				t.Errorf("err = %v", err)
			}
		})
	}
}

// TestTool_EndlessSchemas checks that schemas without end do not crash the process.
func TestTool_EndlessSchemas(t *testing.T) {
	tools := `[
		{"name":"in","inputSchema":{"type":"object","allOf":[{"$ref":"#"}]}},
		{"name":"prop","inputSchema":{"type":"object","properties":{"x":{"$ref":"#/properties/x"}}}},
		{"name":"out","inputSchema":{"type":"object"},"outputSchema":{"type":"object","$ref":"#"}},
		{"name":"years","inputSchema":` + doubling(40, "anyOf") + `},
		{"name":"header","inputSchema":{"type":"object","properties":{"x":{"type":"string","x-mcp-header":"X","properties":{"y":{"$ref":"#"}}}}}}
	]`
	eachPuppet(t, strings.ReplaceAll(tools, "\n", ""), func(t *testing.T, open func(testing.TB, mcp.Options) *watched) {
		set := open(t, mcp.Options{})
		for _, name := range []string{"in", "prop", "out", "years", "header"} {
			tool := set.tool("puppet", name)
			if err := tool.Validate(jsonx.Raw(`{"x":"y"}`)); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if got := set.says("puppet", name, `{"x":"y"}`); got != `{"n":1,"x":"y"}` {
				t.Errorf("%s says %q", name, got)
			}
		}
		for _, name := range []string{"in", "prop"} {
			if got := string(set.tool("puppet", name).Schema); got != `{"type":"object"}` {
				t.Errorf("a model is shown %s", got)
			}
		}
		if set.countNotices("the tool in", "input schema refers to itself", "the tool out", "output schema refers to itself", "too complex") != 1 {
			t.Errorf("told %q", set.noticeTexts())
		}
	})
}

// FuzzChecker searches for schemas and values whose check takes too long.
func FuzzChecker(f *testing.F) {
	f.Add(`{"type":"object","allOf":[{"$ref":"#"}]}`, `{}`)
	f.Add(`{"type":"object","properties":{"a":{"$ref":"#"},"b":{"type":"array","items":{"$ref":"#/properties/a"}}}}`, `{"a":{"b":[{}]}}`)
	f.Add(`{"anyOf":[{"$ref":"#/$defs/a"},{"not":{}}],"$defs":{"a":{"patternProperties":{"^x+$":{"enum":[1,"a"]}}}}}`, `{"xx":1}`)
	f.Add(`{"$schema":"http://json-schema.org/draft-07/schema#","items":[{"const":1}],"additionalItems":false}`, `[1,2]`)
	f.Add(doubling(12, "anyOf"), `{"a":[1,2,{"b":null}]}`)
	f.Add(`{"unevaluatedProperties":{"$ref":"#"},"dependentSchemas":{"a":{"if":true,"then":{"minProperties":1}}}}`, `{"a":{"a":{}}}`)
	f.Fuzz(func(t *testing.T, schema, value string) {
		var s, v any
		if json.Unmarshal([]byte(schema), &s) != nil || json.Unmarshal([]byte(value), &v) != nil {
			return
		}
		_, _ = mcp.CheckSchema(s, v, len(value))
		_, _ = mcp.ModelSchema(s)
	})
}
