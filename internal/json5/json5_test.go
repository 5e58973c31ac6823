package json5_test

import (
	"strings"
	"testing"

	"github.com/gajae-code/gjc/internal/json5"
	"github.com/gajae-code/gjc/internal/jsonx"
)

func TestToJSON(t *testing.T) {
	for text, want := range map[string]string{
		`{name: 'Ada', active: true}`:                            `{"name":"Ada","active":true}`,
		" {z: 1, a: 2, 'b c': 'it\\'s', $_é1: \"say 'x'\"} ":     `{"z":1,"a":2,"b c":"it's","$_é1":"say 'x'"}`,
		"// first\n{a: [1, 2,], /* {b: 1} */ c: {},}\n//":        `{"a":[1,2],"c":{}}`,
		"/**/{/*a*/a/*:*/:/*,*/1/**/,/**/}//\r":                  `{"a":1}`,
		`[.5, 5., +1, -2, 1e3, 5.e-1, -.5E+2, 0, -0, 12.50]`:     `[0.5,5.0,1,-2,1e3,5.0e-1,-0.5E+2,0,-0,12.50]`,
		`[0x10, -0XfF, 9223372036854775807, 0x7fffffffffffffff]`: `[16,-255,9223372036854775807,9223372036854775807]`,
		`'\b\f\n\r\t\v\0\x41\u00e9\'\"\q\\\/'`:                   `"\b\f\n\r\t\u000b\u0000Aé'\"q\\/"`,
		`"\ud83d\ude00 \ud83d \ude00\ud83d\u0041"`:               "\"😀 \uFFFD \uFFFD\uFFFDA\"",
		"'a\\\nb\\\r\nc\\\rd\\\u2028e'":                          `"abcde"`,
		"\uFEFF\u00A0\v{\u2028a\u3000:null}":                     `{"a":null}`,
		"'a\xff\xffb'":                                           "\"a\uFFFD\uFFFDb\"",
		`{\u0061b: 1, a\u200c: 2}`:                               "{\"ab\":1,\"a\u200C\":2}",
		`{null: 1, true: 2}`:                                     `{"null":1,"true":2}`,
		`{"": [[]]}`:                                             `{"":[[]]}`,
		`{__proto__: {a: 1}}`:                                    `{"__proto__":{"a":1}}`,
	} {
		got, err := json5.ToJSON(text)
		if err != nil || string(got) != want {
			t.Errorf("%q: %s, %v; want %s", text, got, err, want)
		}
		if !jsonx.Valid(got) {
			t.Errorf("%q: %s is no JSON", text, got)
		}
	}
}

func TestToJSON_Fails(t *testing.T) {
	for text, want := range map[string]string{
		``:                             "line 1: unexpected end; want a value",
		"\n\n{a: 'x":                   "line 3: unterminated string",
		`{a: 'x\`:                      "unterminated string",
		"{a: 'x\ny'}":                  `a line break; write \n`,
		`{a: 1`:                        "unexpected end; want }",
		`{a: 1,`:                       "unexpected end; want }",
		`{`:                            "unexpected end; want }",
		`[1`:                           "unexpected end; want ]",
		`{a}`:                          `no colon after the name "a"`,
		`{a 1}`:                        `no colon after the name "a"`,
		`{1a: 1}`:                      "unexpected '1'; want a name",
		`{,}`:                          "unexpected ','; want a name",
		`{a: 1,, b: 2}`:                "unexpected ','; want a name",
		`{a: 1 b: 2}`:                  "unexpected 'b'; want , or }",
		`{a: 1, 'a': 2}`:               `repeated name "a"`,
		`{\x61: 1}`:                    `may contain only \u escapes`,
		`{\u0020: 1}`:                  `; want a name`,
		`{\u00g0: 1}`:                  "4 hexadecimal digits",
		`[1,,2]`:                       "unexpected ','; want a value",
		`[,]`:                          "unexpected ','; want a value",
		`{a: Ada}`:                     `"Ada" is not a value; quote strings`,
		`{a: 2024-01-02}`:              `"2024-01-02" is not a value`,
		`{a: undefined}`:               `"undefined" is not a value`,
		`[01]`:                         `"01" is not a value`,
		`[.]`:                          `"." is not a value`,
		`[+]`:                          `"+" is not a value`,
		`[--1]`:                        `"--1" is not a value`,
		`[.e1]`:                        `".e1" is not a value`,
		`[0x]`:                         `"0x" is not a value`,
		`[0x-1]`:                       `"0x-1" is not a value`,
		`[0x_1]`:                       `"0x_1" is not a value`,
		`[-Infinity]`:                  "Infinity is out of range for a number",
		`NaN`:                          "NaN is out of range for a number",
		`'\x4'`:                        "2 hexadecimal digits",
		`'\u12`:                        "4 hexadecimal digits",
		`'\1'`:                         `unknown escape \1`,
		`'\01'`:                        `unknown escape \0`,
		`{} x`:                         "'x' follows the value",
		`{} /*`:                        "unterminated comment",
		`/`:                            "unexpected '/'; want a value",
		"[\n1,\n/* \n */ !]":           "line 4: unexpected '!'; want a value",
		strings.Repeat("[", 1_000_000): "nested more than 1000 levels",
		"[0x" + strings.Repeat("f", 1_000_000) + "]": "is not a value",
	} {
		got, err := json5.ToJSON(text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %.40s, %v; want %s", text, got, err, want)
		}
		if err != nil && len(err.Error()) > 300 {
			t.Errorf("%.40q: an error of %d bytes", text, len(err.Error()))
		}
	}
}

// FuzzToJSON checks that valid JSON keeps its value, and that the result is JSON that a second conversion does not change.
func FuzzToJSON(f *testing.F) {
	for _, s := range []string{`{a: 'b', "c": [1, .5, 0x1F, null,], /* d */}`, `"\ud83d\ude00\v"`, `[-0.0e+1, "\u2028", {"": {}}]`, "{$: '\\\n'}//"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		out, err := json5.ToJSON(text)
		if err != nil {
			if jsonx.Valid(jsonx.Raw(text)) && strings.Count(text, "[")+strings.Count(text, "{") < 1000 {
				t.Fatalf("%q is JSON: %v", text, err)
			}
			return
		}
		if !jsonx.Valid(out) {
			t.Fatalf("%q: %q is no JSON", text, out)
		}
		again, err := json5.ToJSON(string(out))
		if err != nil || string(again) != string(out) {
			t.Fatalf("%q: %q, then %q, %v", text, out, again, err)
		}
		if raw := jsonx.Raw(text); jsonx.Valid(raw) {
			want := raw.Clone()
			if err := want.Compact(); err != nil {
				t.Fatal(err)
			}
			var a, b any
			if err := jsonx.Unmarshal(want, &a); err != nil {
				return // a number that is too large for Go, say
			}
			if err := jsonx.Unmarshal(out, &b); err != nil {
				t.Fatal(err)
			}
			x, _ := jsonx.Marshal(a)
			y, _ := jsonx.Marshal(b)
			if string(x) != string(y) {
				t.Fatalf("%q: %s became %s", text, x, y)
			}
		}
	})
}
