package dialect

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/internal/jsonx"
)

func TestGemini(t *testing.T) {
	const anything = `{"anyOf":[{"type":"string"},{"type":"number"},{"type":"boolean"},{"type":"object"}]}`
	for _, test := range []struct{ name, in, want string }{
		{"nothing", ``, `{"type":"object"}`},
		{"true", `true`, `{"type":"object"}`},
		{"an empty object", `{"type":"object","properties":{},"additionalProperties":false}`, `{"type":"object"}`},
		{
			"what is dropped",
			`{"$schema":"x","$id":"y","title":"T","type":"object","properties":{"a":{"type":"string","default":"d","examples":["e"],"title":"A","format":"uri","contentEncoding":"base64"}},"patternProperties":{"^x":{}},"additionalProperties":{"type":"string"},"not":{}}`,
			`{"type":"object","properties":{"a":{"type":"string"}}}`,
		},
		{
			"order and required",
			`{"required":["b","gone","b"],"properties":{"b":{"type":"integer","format":"int32"},"a":{"type":"string","format":"date-time"}},"type":"object","description":"D"}`,
			`{"type":"object","description":"D","properties":{"b":{"type":"integer","format":"int32"},"a":{"type":"string","format":"date-time"}},"required":["b"]}`,
		},
		{
			"null",
			`{"type":"object","properties":{"a":{"type":["string","null"],"description":"d"},"b":{"anyOf":[{"type":"integer"},{"type":"null"}],"description":"d"},"c":{"type":["null"]},"d":{"enum":["x",null]}}}`,
			`{"type":"object","properties":{"a":{"type":"string","description":"d","nullable":true},"b":{"type":"integer","description":"d","nullable":true},"c":{"type":"string","nullable":true},"d":{"type":"string","nullable":true,"enum":["x"]}}}`,
		},
		{
			"several types", `{"type":"object","properties":{"a":{"type":["string","integer","null"],"description":"d","minLength":1,"minimum":2}}}`,
			`{"type":"object","properties":{"a":{"anyOf":[{"type":"string","description":"d","nullable":true,"minLength":1},{"type":"integer","description":"d","nullable":true,"minimum":2}]}}}`,
		},
		{
			"enums",
			`{"type":"object","properties":{"a":{"const":"x"},"b":{"type":"integer","enum":[1,2],"description":"How many."},"c":{"enum":["","y","y"]},"d":{"const":true},"e":{"enum":[1,"z"]}}}`,
			`{"type":"object","properties":{"a":{"type":"string","enum":["x"]},"b":{"type":"integer","description":"How many. One of: 1, 2"},"c":{"type":"string","enum":["y"]},` +
				`"d":{"type":"boolean","description":"One of: true"},"e":{"anyOf":[{"type":"integer"},{"type":"string","enum":["z"]}]}}}`,
		},
		{
			"alternatives",
			`{"type":"object","properties":{"a":{"oneOf":[{"type":"string"},{"type":"array","items":{"type":"string"}}],"description":"d"},"b":{"type":"object","properties":{"x":{"type":"string"}},"anyOf":[{"required":["x"]}]}}}`,
			`{"type":"object","properties":{"a":{"anyOf":[{"type":"string","description":"d"},{"type":"array","description":"d","items":{"type":"string"}}]},"b":{"type":"object","properties":{"x":{"type":"string"}}}}}`,
		},
		{
			"all of one, and of two",
			`{"type":"object","properties":{"a":{"allOf":[{"type":"string","description":"of it"}],"description":"own"},"b":{"allOf":[{"type":"object","properties":{"x":{"type":"string"}},"required":["x"]},{"properties":{"y":{"type":"string"}},"required":["y"]}]}}}`,
			`{"type":"object","properties":{"a":{"type":"string","description":"own"},"b":{"type":"object","properties":{"x":{"type":"string"},"y":{"type":"string"}},"required":["x","y"]}}}`,
		},
		{
			"references", `{"type":"object","properties":{"a":{"$ref":"#/$defs/A~1","description":"own"},"b":{"$ref":"https://else/where"}},"$defs":{"A/":{"$ref":"#/definitions/B"}},"definitions":{"B":{"type":"number","maximum":1.5}}}`,
			`{"type":"object","properties":{"a":{"type":"number","description":"own","maximum":1.5},"b":` + anything + `}}`,
		},
		{
			"a reference to itself", `{"type":"object","properties":{"next":{"$ref":"#"},"all":{"type":"array","items":{"$ref":"#/$defs/N"}}},"$defs":{"N":{"type":"object","properties":{"kids":{"type":"array","items":{"$ref":"#/$defs/N"}}}}}}`,
			`{"type":"object","properties":{"next":{"type":"object","properties":{"next":{"type":"object"},"all":{"type":"array","items":{"type":"object","properties":{"kids":{"type":"array","items":{"type":"object"}}}}}}},` +
				`"all":{"type":"array","items":{"type":"object","properties":{"kids":{"type":"array","items":{"type":"object"}}}}}}}`,
		},
		{"arrays", `{"type":"object","properties":{"a":{"type":"array","minItems":1,"maxItems":-2},"b":{"prefixItems":[{"type":"string"},{"type":"number"}]}}}`, `{"type":"object","properties":{"a":{"type":"array","items":` + anything + `,"minItems":1},"b":{"type":"array","items":{"type":"string"}}}}`},
		{"anything", `{"type":"object","properties":{"a":true,"b":{"description":"d"}}}`, `{"type":"object","properties":{"a":` + anything + `,"b":` + strings.ReplaceAll(anything, `"}`, `","description":"d"}`) + `}}`},
		{"alternatives at the top", `{"anyOf":[{"properties":{"a":{"type":"string"},"k":{"type":"string"}},"required":["a","k"]},{"properties":{"b":{"type":"string"},"k":{"type":"string"}},"required":["b","k"]}]}`, `{"type":"object","properties":{"a":{"type":"string"},"k":{"type":"string"},"b":{"type":"string"}},"required":["k"]}`},
		{"types in capitals", `{"type":"OBJECT","properties":{"a":{"type":"STRING"}}}`, `{"type":"object","properties":{"a":{"type":"string"}}}`},
	} {
		got := makeGemini(jsonx.Raw(test.in))
		if string(got) != test.want {
			t.Errorf("%s:\ngot  %s\nwant %s", test.name, got, test.want)
		}
		if again := makeGemini(got); string(again) != string(got) {
			t.Errorf("%s: again it is\n%s", test.name, again)
		}
	}
}

// A few nested references can expand to more than fits into memory.
func TestGemini_References(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"type":"object","properties":{"a":{"$ref":"#/$defs/d0"}},"$defs":{`)
	for i := range 40 {
		next := `{"$ref":"#/$defs/d` + string(rune('0'+i+1)) + `"}`
		b.WriteString(`"d` + string(rune('0'+i)) + `":{"type":"object","properties":{"x":` + next + `,"y":` + next + `}},`)
	}
	b.WriteString(`"end":{}}}`)
	got := makeGemini(jsonx.Raw(strings.ReplaceAll(b.String(), `\`, `b`)))
	if !jsonx.Valid(got) || len(got) > 1<<20 || len(got) < 1000 {
		t.Errorf("%d bytes: %.200s", len(got), got)
	}
}

var geminiKeywords = []string{
	"type", "format", "description", "nullable", "enum", "properties", "required", "items", "anyOf", "minProperties", "maxProperties",
	"minItems", "maxItems", "minLength", "maxLength", "pattern", "minimum", "maximum",
}

// checkGemini reports what Gemini would reject.
func checkGemini(t *testing.T, schema jsonx.Raw) {
	t.Helper()
	members := 0
	for name, value := range jsonx.Members(schema) {
		members++
		switch {
		case !slices.Contains(geminiKeywords, name):
			t.Errorf("keyword %q in %s", name, schema)
		case name == "properties":
			for _, property := range jsonx.Members(value) {
				checkGemini(t, property)
			}
		case name == "items":
			checkGemini(t, value)
		case name == "anyOf":
			for _, branch := range list(value) {
				checkGemini(t, branch)
			}
		}
	}
	anyOf, kind := jsonx.Lookup(schema, "anyOf"), jsonx.Lookup(schema, "type")
	if (anyOf == nil) == (kind == nil) || anyOf != nil && members != 1 {
		t.Errorf("want either a type or only alternatives: %s", schema)
	}
	if string(kind) == `"array"` && jsonx.Lookup(schema, "items") == nil {
		t.Errorf("an array of nothing: %s", schema)
	}
}

func FuzzGemini(f *testing.F) {
	f.Add(`{"type":"object","properties":{"a":{"$ref":"#"},"b":{"anyOf":[{"type":"null"},{"enum":[1,null]}]}}}`)
	f.Add(`{"allOf":[{"$ref":"#/a"}],"a":{"type":["array","string"],"items":[{},true]},"oneOf":[{"const":{}}]}`)
	f.Add(`{"properties":{"a":{"anyOf":[{"type":"integer","enum":[1],"description":"One of: 2"}],"description":"One of: 3"}}}`)
	f.Fuzz(func(t *testing.T, schema string) {
		got := makeGemini(jsonx.Raw(schema))
		if !jsonx.Valid(got) {
			t.Fatalf("%s becomes %s", schema, got)
		}
		checkGemini(t, got)
		if again := makeGemini(got); string(again) != string(got) {
			t.Fatalf("%s\nbecomes %s\nbecomes %s", schema, got, again)
		}
	})
}

// A schema is converted once, and the cache is bounded.
func TestGeminiSchemas(t *testing.T) {
	var s GeminiSchemas
	first := jsonx.Raw(`{"type":"object","properties":{"p":{"$ref":"#/$defs/D"}},"$defs":{"D":{"type":"string"}}}`)
	if a, b := s.Of(first), s.Of(slices.Clone(first)); string(a) != string(makeGemini(first)) || &a[0] != &b[0] {
		t.Errorf("%s and %s", a, b)
	}
	for i := range 2500 {
		s.Of(jsonx.Raw(fmt.Sprintf(`{"type":"object","properties":{"p%d":{"type":"string"}}}`, i)))
	}
	if len(s.made.made) > 1000 {
		t.Errorf("%d schemas are kept", len(s.made.made))
	}
}
