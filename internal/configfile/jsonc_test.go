package configfile

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseJSONC(t *testing.T) {
	for _, tt := range []struct{ name, text, want, fault string }{
		{"comments", "// a\n{ /* b\n */ \"x\": 1, // c\n\"y\": [1, 2,], }\n// d", `{"x":1,"y":[1,2]}`, ""},
		{"in strings", `{"a": "// no", "b": "/* no */", "c": "\"//", "d": ",}"}`, `{"a":"// no","b":"/* no */","c":"\"//","d":",}"}`, ""},
		{"a comment after the comma", "{\"a\": [1, // last\n]}", `{"a":[1]}`, ""},
		{"a byte order mark", "\ufeff{}", `{}`, ""},
		{"empty", "// nothing\n", "", ""},
		{"no end of a comment", "{\n/* x", "", "line 2: unterminated comment"},
		{"two commas", "{\"a\": [1,,\n]}", "", "the file is not JSON"},
		{"a comma alone", "[\n,]", "", "line 2: the file is not JSON"},
		{"lines", "{\n// one\n/* two\nthree */\n\"a\": }", "", "line 5: the file is not JSON"},
		{"twice", "{\"a\": 1,\n\"a\": 2}", "", "duplicate member"},
		{"an open string", "{\"a\": \"// x\n\", // y\n}", "", "the file is not JSON"},
		{"half a comment", "{\"a\": 1 / 2}", "", "line 1: the file is not JSON"},
	} {
		n, err := ParseJSONC([]byte(tt.text))
		if tt.fault != "" {
			if err == nil || !strings.Contains(err.Error(), tt.fault) {
				t.Errorf("%s: error %v, want %s", tt.name, err, tt.fault)
			}
			continue
		}
		if got := string(n.JSON()); err != nil || got != tt.want {
			t.Errorf("%s: %s, %v, want %s", tt.name, got, err, tt.want)
		}
	}
	n, err := ParseJSONC([]byte("{ // x\n\n/* y\n*/ \"a\": [\n{\"b\": 1}]}"))
	if err != nil || n.Members[0].Line != 4 || n.Member("a").List[0].Line != 5 {
		t.Errorf("lines of %+v, %v", n, err)
	}
}

// Valid JSON is unchanged, and comments and trailing commas are replaced only with space.
func FuzzParseJSONC(f *testing.F) {
	f.Add([]byte("{\"a\": [1, /* x */ 2,], // y\n}"))
	f.Add([]byte(`{"a": "\\", "b": "//"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		plain, err := plainJSON(data)
		if err == nil && (len(plain) != len(data) || bytes.Count(plain, []byte("\n")) != bytes.Count(data, []byte("\n"))) {
			t.Errorf("%q became %q", data, plain)
		}
		want, strict := ParseJSON(data)
		got, err := ParseJSONC(data)
		if strict == nil {
			if diff := cmp.Diff(string(want.JSON()), string(got.JSON())); err != nil || diff != "" {
				t.Errorf("%v %s", err, diff)
			}
		}
		if got != nil {
			got.Any()
		}
	})
}

func TestNode_Any(t *testing.T) {
	n, err := ParseYAML([]byte("a: [1, 2.5, yes, true, ~, -3]\nb: {c: x}\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"a": []any{int64(1), 2.5, "yes", true, nil, int64(-3)}, "b": map[string]any{"c": "x"}}
	if diff := cmp.Diff(want, n.Any()); diff != "" {
		t.Error(diff)
	}
	if got := (*Node)(nil).Any(); got != nil {
		t.Errorf("no node is %v", got)
	}
	if _, err := ParseJSON([]byte("[1e999]")); err == nil {
		t.Error("a number that is too large is read")
	}
}

func TestNode_Over(t *testing.T) {
	parse := func(text string) *Node {
		n, err := ParseJSON([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	lower, upper := parse(`{"a": {"x": 1, "y": [1]}, "b": 1}`), parse(`{"a": {"y": [2], "z": 3}, "c": null}`)
	if got := string(upper.Over(lower).JSON()); got != `{"a":{"x":1,"y":[2],"z":3},"b":1,"c":null}` {
		t.Error(got)
	}
	if got := string(lower.JSON()); got != `{"a":{"x":1,"y":[1]},"b":1}` {
		t.Errorf("the lower one is %s", got)
	}
}

func TestMerge(t *testing.T) {
	entry := func(name, field, text string) Entry {
		return Entry{Name: name, Line: 3, Fields: map[string]Value{field: {Node: &Node{Kind: Text, Text: text}, At: "x:3"}}}
	}
	defaults := []Entry{entry("a", "f", "1"), entry("b", "f", "2")}
	defs := Merge(defaults, []*File{{Path: "one", Entries: []Entry{entry("b", "f", "3"), entry("c", "g", "4")}}, {Path: "two", Entries: []Entry{entry("b", "g", "5")}}})
	if len(defs) != 3 || defs[1].Text("f") != "3" || defs[1].Text("g") != "5" || defs[1].At != "two:3" || !defs[2].Custom || defs[1].Custom || defs[0].Text("nothing") != "" {
		t.Errorf("%+v", defs)
	}
	if !defs[1].From(&File{Path: "one"}) || defs[0].From(&File{Path: "one"}) || len(defs[2].Lacking("f", "g")) != 1 {
		t.Errorf("%+v", defs[1])
	}
	if defaults[1].Fields["f"].Text != "2" || len(defaults[1].Fields) != 1 {
		t.Error("the defaults were changed")
	}
}
