package dialect

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/internal/jsonx"
)

func TestStrict(t *testing.T) {
	const closed = `"additionalProperties":false`
	for _, test := range []struct {
		name, schema string
		want         string // "" for one that cannot be strict
		nulls        bool
	}{
		{
			"all required", `{"type":"object","properties":{"z":{"type":"string","description":"d"},"a":{"type":"integer"}},"required":["a","z"]}`,
			`{"type":"object","properties":{"z":{"type":"string","description":"d"},"a":{"type":"integer"}},"required":["z","a"],` + closed + `}`, false,
		},
		{
			"optional members", `{"type":"object","properties":{"a":{"type":"string"},"e":{"enum":["x","y"]},"l":{"type":"array","items":{"type":"number"}},"o":{"type":"object","properties":{"b":{"const":true}},"required":["b"]}}}`,
			`{"type":"object","properties":{"a":{"type":["string","null"]},"e":{"type":["string","null"],"enum":["x","y",null]},` +
				`"l":{"type":["array","null"],"items":{"type":"number"}},` +
				`"o":{"anyOf":[{"type":"object","properties":{"b":{"type":"boolean","enum":[true]}},"required":["b"],` + closed + `},{"type":"null"}]}},` +
				`"required":["a","e","l","o"],` + closed + `}`, true,
		},
		{
			"optional, but null anyway", `{"type":"object","properties":{"a":{"type":["string","null"]},"b":{"type":"string","nullable":true},"c":{"anyOf":[{"type":"null"},{"type":"string"}]}}}`,
			`{"type":"object","properties":{"a":{"type":["string","null"]},"b":{"type":["string","null"]},"c":{"anyOf":[{"type":"null"},{"type":"string"}]}},"required":["a","b","c"],` + closed + `}`, false,
		},
		{
			"what only narrows", `{"$schema":"x","title":"t","type":"object","properties":{"a":{"type":"string","minLength":1,"format":"uri","pattern":"^a$","default":"a"},"n":{"type":"integer","minimum":1,"format":"int32"}},"required":["a","n"],"examples":[1]}`,
			`{"type":"object","properties":{"a":{"type":"string","pattern":"^a$"},"n":{"type":"integer","minimum":1}},"required":["a","n"],` + closed + `}`, false,
		},
		{"looks ahead", `{"type":"object","properties":{"a":{"type":"string","pattern":"(?=a)"}},"required":["a"]}`, `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],` + closed + `}`, false},
		{
			"references", `{"type":"object","properties":{"a":{"$ref":"#/definitions/N","description":"d"},"b":{"$ref":"#/definitions/N"}},"required":["a"],"definitions":{"N":{"type":"object","properties":{"next":{"$ref":"#/definitions/N"}},"required":["next"]}}}`,
			`{"type":"object","properties":{"a":{"$ref":"#/$defs/N"},"b":{"anyOf":[{"$ref":"#/$defs/N"},{"type":"null"}]}},"required":["a","b"],` + closed +
				`,"$defs":{"N":{"type":"object","properties":{"next":{"$ref":"#/$defs/N"}},"required":["next"],` + closed + `}}}`, true,
		},
		{
			"a reference at the root", `{"$ref":"#/$defs/R","$defs":{"R":{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}}}`,
			`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],` + closed +
				`,"$defs":{"R":{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],` + closed + `}}}`, false,
		},
		{
			"a single allOf", `{"type":"object","properties":{"a":{"description":"d","allOf":[{"type":"string","description":"e"}]}},"required":["a"]}`,
			`{"type":"object","properties":{"a":{"type":"string","description":"d"}},"required":["a"],` + closed + `}`, false,
		},
		{
			"alternatives", `{"type":"object","properties":{"a":{"description":"d","anyOf":[{"type":"string"},{"type":"object","properties":{"b":{"type":"string"}},"required":["b"]}]}},"required":[]}`,
			`{"type":"object","properties":{"a":{"description":"d","anyOf":[{"type":"string"},{"type":"object","properties":{"b":{"type":"string"}},"required":["b"],` + closed + `},{"type":"null"}]}},"required":["a"],` + closed + `}`, true,
		},
		{"no properties", `{"type":"object","properties":{}}`, `{"type":"object","properties":{},"required":[],` + closed + `}`, false},

		{"an open root", `{"type":"object"}`, "", false},
		{"an open object", `{"type":"object","properties":{"a":{"type":"object"}},"required":["a"]}`, "", false},
		{"a map", `{"type":"object","properties":{"a":{"type":"object","additionalProperties":{"type":"string"}}},"required":["a"]}`, "", false},
		{"open on purpose", `{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":true}`, "", false},
		{"patterns of names", `{"type":"object","properties":{},"patternProperties":{"a":{}}}`, "", false},
		{"one of", `{"type":"object","properties":{"a":{"oneOf":[{"type":"string"}]}}}`, "", false},
		{"two allOf", `{"type":"object","properties":{"a":{"allOf":[{"type":"string"},{"minLength":1}]}}}`, "", false},
		{"conditions", `{"type":"object","properties":{"a":{"type":"string"}},"if":{}}`, "", false},
		{"alternatives at the root", `{"type":"object","properties":{},"anyOf":[{"type":"object","properties":{}}]}`, "", false},
		{"anything", `{"type":"object","properties":{"a":{}}}`, "", false},
		{"true", `{"type":"object","properties":{"a":true}}`, "", false},
		{"a list of anything", `{"type":"object","properties":{"a":{"type":"array"}}}`, "", false},
		{"a lost reference", `{"type":"object","properties":{"a":{"$ref":"#/$defs/N"}}}`, "", false},
		{"a reference elsewhere", `{"type":"object","properties":{"a":{"$ref":"https://example.com/s"}}}`, "", false},
		{"required and unknown", `{"type":"object","properties":{},"required":["a"]}`, "", false},
		{"a list", `{"type":"array","items":{"type":"string"}}`, "", false},
		{"no JSON", `{"type":`, "", false},
		{"too deep", strings.Repeat(`{"type":"object","properties":{"a":`, 12) + `{"type":"string"}` + strings.Repeat(`}}`, 12), "", false},
		{"too deep in alternatives", `{"type":"object","properties":{"a":` + strings.Repeat(`{"anyOf":[`, 5) + `{"type":"string"}` + strings.Repeat(`]}`, 5) + `}}`, "", false},
	} {
		got, nulls, ok := new(StrictSchemas).Of(jsonx.Raw(test.schema))
		if diff := cmp.Diff(test.want, string(got)); diff != "" || ok != (test.want != "") || nulls != test.nulls {
			t.Errorf("%s: ok %t, nulls %t (-want +got):\n%s", test.name, ok, nulls, diff)
		}
	}
}

func TestStrictSchemas_ManyOfThem(t *testing.T) {
	var s StrictSchemas
	for i := range 2500 {
		schema := fmt.Sprintf(`{"type":"object","properties":{"p%d":{"type":"string"}},"required":["p%d"]}`, i, i)
		if _, _, ok := s.Of(jsonx.Raw(schema)); !ok {
			t.Fatal(schema)
		}
	}
	if len(s.made.made) > 1000 {
		t.Errorf("%d schemas are kept", len(s.made.made))
	}
}

func FuzzStrict(f *testing.F) {
	for _, seed := range []string{
		`{"type":"object","properties":{"a":{"type":"string"},"b":{"$ref":"#/$defs/N"}},"$defs":{"N":{"type":["array","null"],"items":{"const":1}}}}`,
		`{"type":"object","properties":{"a":{"anyOf":[{"type":"object","properties":{},"nullable":true,"additionalProperties":false}]}}}`,
		`{"$ref":"#/definitions/R","definitions":{"R":{"properties":{"x":{"allOf":[{"enum":[1,"a",null]}],"description":"d"}}}}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, schema []byte) {
		once, _, ok := makeStrict(schema)
		if !ok {
			if once != nil {
				t.Errorf("%s: %s with false", schema, once)
			}
			return
		}
		if !jsonx.Valid(once) || jsonx.IsNull(jsonx.Lookup(once, "properties")) {
			t.Fatalf("%s\nbecomes %s", schema, once)
		}
		twice, nulls, ok := makeStrict(once)
		if !ok || nulls || string(twice) != string(once) {
			t.Fatalf("%s\nbecomes   %s\nand again %s (%t, nulls %t)", schema, once, twice, ok, nulls)
		}
	})
}

// schemaOfATool is about as large as the schemas of gjc's own tools.
const schemaOfATool = `{"type":"object","properties":{"path":{"type":"string","description":"The file to change, as the editor names it."},` +
	`"edits":{"type":"array","items":{"type":"object","properties":{"old":{"type":"string","description":"What stands there now."},` +
	`"new":{"type":"string","description":"What shall stand there."},"all":{"type":"boolean"}},"required":["old","new"]}},` +
	`"mode":{"enum":["a","b","c"]},"limit":{"type":"integer","minimum":1}},"required":["path","edits"]}`

func BenchmarkStrict(b *testing.B) {
	for b.Loop() {
		makeStrict(jsonx.Raw(schemaOfATool))
	}
}

func BenchmarkStrictSchemas(b *testing.B) {
	var s StrictSchemas
	for b.Loop() {
		s.Of(jsonx.Raw(schemaOfATool))
	}
}

func TestClaudeSchema(t *testing.T) {
	const closed = `"additionalProperties":false`
	many := func(n int, property string) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf(`"p%d":%s`, i, property))
		}
		return `{"type":"object","properties":{` + strings.Join(all, ",") + `}}`
	}
	for _, test := range []struct {
		name, schema string
		want         string // "" for one without a form
	}{
		{
			"optional properties stay optional", `{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"object","properties":{"n":{"type":"integer"}}}},"required":["z"]}`,
			`{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"object","properties":{"n":{"type":"integer"}},"required":[],` + closed + `}},"required":["z"],` + closed + `}`,
		},
		{
			"restrictions that the API lacks", `{"type":"object","properties":{"n":{"type":"number","minimum":1,"multipleOf":2},"s":{"type":"string","pattern":"^a$","format":"date"},"l":{"type":"array","minItems":1,"items":{"enum":[1,2]}},"m":{"type":"array","minItems":2,"maxItems":3,"items":{"type":"null"}}},"required":["n","s","l","m"]}`,
			`{"type":"object","properties":{"n":{"type":"number"},"s":{"type":"string","format":"date"},"l":{"type":"array","minItems":1,"items":{"type":"number","enum":[1,2]}},"m":{"type":"array","items":{"type":"null"}}},"required":["n","s","l","m"],` + closed + `}`,
		},
		{
			"a definition used twice", `{"type":"object","properties":{"a":{"$ref":"#/$defs/n"},"b":{"$ref":"#/$defs/m"}},"$defs":{"n":{"type":"array","items":{"$ref":"#/$defs/m"}},"m":{"type":"integer"}}}`,
			`{"type":"object","properties":{"a":{"$ref":"#/$defs/n"},"b":{"$ref":"#/$defs/m"}},"required":[],` + closed + `,"$defs":{"n":{"type":"array","items":{"$ref":"#/$defs/m"}},"m":{"type":"integer"}}}`,
		},
		{"a tree", `{"type":"object","properties":{"all":{"type":"array","items":{"$ref":"#"}}}}`, ""},
		{"a tree of definitions", `{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"type":"array","items":{"$ref":"#/$defs/b"}},"b":{"type":"array","items":{"$ref":"#/$defs/a"}}}}`, ""},
		{"a map", `{"type":"object","additionalProperties":{"type":"string"}}`, ""},
		{"exclusive alternatives", `{"type":"object","properties":{"a":{"oneOf":[{"type":"string"}]}}}`, ""},
		{"too many optional properties", many(25, `{"type":"string"}`), ""},
		{"too many unions", many(17, `{"type":["string","null"]}`), ""},
		{"no schema", `true`, ""},
	} {
		got, ok := ClaudeSchema(jsonx.Raw(test.schema))
		if diff := cmp.Diff(test.want, string(got)); diff != "" || ok != (test.want != "") {
			t.Errorf("%s: %t (-want +got):\n%s", test.name, ok, diff)
		}
	}
	if _, ok := ClaudeSchema(jsonx.Raw(many(16, `{"type":["string","null"]}`))); !ok {
		t.Error("sixteen unions are too many")
	}
}
