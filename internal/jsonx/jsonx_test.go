package jsonx_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/internal/jsonx"
)

type params struct {
	Cwd   string            `json:"cwd"`
	Roots []string          `json:"roots"`
	Env   map[string]string `json:"env"`
	Inner struct {
		Line int `json:"line"`
	} `json:"inner"`
}

func TestNamesMatchExactly(t *testing.T) {
	var p params
	if err := jsonx.Unmarshal([]byte(`{"CWD":"/a","Cwd":"/b","inner":{"LINE":3}}`), &p); err != nil {
		t.Fatal(err)
	}
	if p.Cwd != "" || p.Inner.Line != 0 {
		t.Errorf("names in another case were taken: %+v", p)
	}
}

func TestDecodeErrors(t *testing.T) {
	for _, test := range []struct {
		name, in string
		want     string
		pointer  string
		syntax   bool
	}{
		{"wrong type", `{"cwd":1}`, "/cwd: a number does not fit string", "/cwd", false},
		{"wrong type deep", `{"inner":{"line":"x"}}`, "/inner/line: a string does not fit integer", "/inner/line", false},
		{"wrong item", `{"roots":["a",false]}`, "/roots/1: a boolean does not fit string", "/roots/1", false},
		{"wrong whole", `[]`, "an array does not fit object", "", false},
		{"duplicate", `{"cwd":"a","cwd":"b"}`, "/cwd: duplicate member", "/cwd", false},
		{"duplicate by escape", `{"cwd":"a","\u0063wd":"b"}`, "/cwd: duplicate member", "/cwd", false},
		{"cut off", `{"cwd":"a`, "/cwd: the JSON ends unexpectedly (byte 9)", "/cwd", true},
		{"not JSON", `{"cwd":nope}`, "/cwd: not valid JSON (byte 8)", "/cwd", true},
		{"two values", `{} {}`, "not valid JSON (byte 3)", "", true},
		{"nothing", ``, "", "", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := jsonx.Unmarshal([]byte(test.in), new(params))
			de, ok := errors.AsType[*jsonx.DecodeError](err)
			if !ok {
				t.Fatalf("got %v (%T), want a DecodeError", err, err)
			}
			if test.want != "" && de.Error() != test.want {
				t.Errorf("error %q, want %q", de, test.want)
			}
			if de.Pointer != test.pointer || de.Syntax != test.syntax {
				t.Errorf("pointer %q syntax %t, want %q %t", de.Pointer, de.Syntax, test.pointer, test.syntax)
			}
		})
	}
}

func TestOutput(t *testing.T) {
	for _, test := range []struct {
		name string
		in   any
		want string
	}{
		{"nil slice and map", params{Cwd: "/"}, `{"cwd":"/","roots":[],"env":{},"inner":{"line":0}}`},
		{"one line, markup as it is", "a\nb<&>\u2028", "\"a\\nb<&>\u2028\""},
		{"sorted", map[string]int{"b": 1, "a": 2}, `{"a":2,"b":1}`},
		{"raw is compacted", jsonx.Raw("{\n \"a\" : [1 ,2]\n}"), `{"a":[1,2]}`},
		{"bad UTF-8", "a\xffb", "\"a\ufffdb\""},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := jsonx.Marshal(test.in)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
			appended, err := jsonx.Append([]byte("x "), test.in)
			if err != nil || string(appended) != "x "+test.want {
				t.Errorf("Append: %s, %v", appended, err)
			}
		})
	}
}

func TestAppendKeepsDstOnError(t *testing.T) {
	dst := []byte("kept")
	got, err := jsonx.Append(dst, func() {})
	if err == nil || string(got) != "kept" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestInvalidUTF8IsReplaced(t *testing.T) {
	var p params
	if err := jsonx.Unmarshal([]byte("{\"cwd\":\"a\xffb\",\"env\":{\"\xfe\":\"\"}}"), &p); err != nil {
		t.Fatal(err)
	}
	if p.Cwd != "a\ufffdb" {
		t.Errorf("got %q", p.Cwd)
	}
	if !jsonx.Valid([]byte("\"\xff\"")) || jsonx.Valid([]byte(`{"a":}`)) || jsonx.Valid([]byte(`1 2`)) {
		t.Error("Valid is wrong")
	}
}

func TestAppendString(t *testing.T) {
	if got := string(jsonx.AppendString([]byte("x"), "a\"\n\xff")); got != "x\"a\\\"\\n\ufffd\"" {
		t.Errorf("got %s", got)
	}
}

func TestUnmarshalFunc(t *testing.T) {
	type shape interface{ area() int }
	opts := jsonx.WithUnmarshalers(jsonx.UnmarshalFunc(func(data []byte) (shape, error) {
		if string(data) == `"bad"` {
			return nil, errors.New("no such shape")
		}
		return square(len(data)), nil
	}))
	var v struct {
		Shapes []shape `json:"shapes"`
	}
	if err := jsonx.Unmarshal([]byte(`{"shapes":[12,"ab"]}`), &v, opts); err != nil {
		t.Fatal(err)
	}
	if len(v.Shapes) != 2 || v.Shapes[1].area() != 4 {
		t.Errorf("got %v", v.Shapes)
	}
	err := jsonx.Unmarshal([]byte(`{"shapes":[12,"bad"]}`), &v, opts)
	if err == nil || err.Error() != "/shapes/1: no such shape" {
		t.Errorf("got %v", err)
	}
}

type square int

func (s square) area() int { return int(s) }

func TestMembers(t *testing.T) {
	const in = ` { "a" : 1 , "b\n" : { "a" : "}\"]" } ,"c":[ [1,{"x":[]}] , "]" ],"d":true,"e":"\\", "f" : -1.5e3 } `
	got := map[string]string{}
	var order []string
	for name, value := range jsonx.Members(jsonx.Raw(in)) {
		got[name] = string(value)
		order = append(order, name)
	}
	want := map[string]string{
		"a": "1", "b\n": `{ "a" : "}\"]" }`, "c": `[ [1,{"x":[]}] , "]" ]`, "d": "true", "e": `"\\"`, "f": "-1.5e3",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if strings.Join(order, "") != "ab\ncdef" {
		t.Errorf("order %q", order)
	}
	if v := jsonx.Lookup(jsonx.Raw(in), "c"); string(v) != want["c"] {
		t.Errorf("Lookup: %s", v)
	}
	if v := jsonx.Lookup(jsonx.Raw(`{"\u0061":7}`), "a"); string(v) != "7" {
		t.Errorf("Lookup of an escaped name: %s", v)
	}
	for _, none := range []string{`{}`, `[1]`, `"a"`, `null`, ``, `{"b":{"a":1}}`} {
		if v := jsonx.Lookup(jsonx.Raw(none), "a"); v != nil {
			t.Errorf("Lookup in %s: %s", none, v)
		}
	}
}

// FuzzMembers compares the walk with a real decoder, and checks that it accepts arbitrary input.
func FuzzMembers(f *testing.F) {
	for _, s := range []string{`{"a":1}`, `{"a":{"b":[]},"c":"\""}`, ` { } `, `{"a"`, `{"a":}`, `{"a":1,}`, "{\"\xff\":0}"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got := map[string]string{}
		for name, value := range jsonx.Members(data) {
			got[name] = string(value)
		}
		var want map[string]jsonx.Raw
		if jsonx.Unmarshal(data, &want) != nil || want == nil {
			return
		}
		if len(got) != len(want) {
			t.Fatalf("%d members of %q, want %d", len(got), data, len(want))
		}
		for name, value := range want {
			if got[name] != string(value) {
				t.Errorf("member %q is %q, want %q", name, got[name], value)
			}
		}
	})
}

func TestWithin(t *testing.T) {
	inner := jsonx.Unmarshal([]byte(`{"cwd":1}`), new(params))
	if got := jsonx.Within("/params", inner).Error(); got != "/params/cwd: a number does not fit string" {
		t.Errorf("got %q", got)
	}
	cause := errors.New("cause")
	if got := jsonx.Within("/x", cause); got.Error() != "/x: cause" || !errors.Is(got, cause) {
		t.Errorf("got %v", got)
	}
	if inner.Error() != "/cwd: a number does not fit string" {
		t.Errorf("Within changed its argument: %v", inner)
	}
}

// outer implements the method with encoding/json's signature, and inner the one that receives the decoder.
type outer struct{ V params }

func (o *outer) UnmarshalJSON(data []byte) error { return jsonx.Unmarshal(data, &o.V) }

type inner struct{}

func (*inner) UnmarshalJSONFrom(dec *jsonx.Decoder) error {
	if err := dec.SkipValue(); err != nil {
		return err
	}
	return jsonx.Invalid(dec, "is never right")
}

func TestPointersThroughCustomUnmarshalers(t *testing.T) {
	var o struct {
		List []outer `json:"list"`
	}
	err := jsonx.Unmarshal([]byte(`{"list":[{},{"inner":{"line":"x"}}]}`), &o)
	if err == nil || err.Error() != "/list/1/inner/line: a string does not fit integer" {
		t.Errorf("got %v", err)
	}
	var i struct {
		List []inner `json:"list"`
	}
	err = jsonx.Unmarshal([]byte(`{"list":[{}]}`), &i)
	if err == nil || err.Error() != "/list/0: is never right" {
		t.Errorf("got %v", err)
	}
}

func TestIsNull(t *testing.T) {
	for raw, want := range map[string]bool{"": true, "null": true, " null": true, "0": false, "{}": false, `"null"`: false} {
		if jsonx.IsNull(jsonx.Raw(raw)) != want {
			t.Errorf("IsNull(%q) is not %t", raw, want)
		}
	}
}
