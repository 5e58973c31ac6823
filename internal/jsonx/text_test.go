package jsonx_test

import (
	"testing"

	"github.com/gajae-code/gjc/internal/jsonx"
)

func TestText(t *testing.T) {
	for raw, want := range map[string]string{
		`""`: "", `"a b"`: "a b", `"\n\"\\"`: "\n\"\\", `"\u00e9\ud83c\udf0d"`: "é🌍", `"é🌍"`: "é🌍", `"</script>"`: "</script>",
	} {
		if got, ok := jsonx.Text(jsonx.Raw(raw)); !ok || got != want {
			t.Errorf("Text(%s) = %q, %t", raw, got, ok)
		}
	}
	for _, raw := range []string{``, `"`, `a`, `"a`, `a"`, `null`, `1`, `["a"]`, "\"a\nb\"", "\"\xff\"", `"a"b"`, `"\x"`, `"\"`} {
		if got, ok := jsonx.Text(jsonx.Raw(raw)); ok {
			t.Errorf("Text(%s) = %q", raw, got)
		}
	}
}

func TestEachMember(t *testing.T) {
	var got string
	jsonx.EachMember(jsonx.Raw(` {"a" : [1, {"x": "}"}] , "b\n": "c,", "": null, "stop": 1, "never": 2 } `), func(name []byte, value jsonx.Raw) bool {
		got += string(name) + "=" + string(value) + ";"
		return string(name) != "stop"
	})
	if want := "a=[1, {\"x\": \"}\"}];b\n=\"c,\";=null;stop=1;"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// FuzzText compares Text with the decoder.
func FuzzText(f *testing.F) {
	f.Add([]byte(`"a\u0041\n"`))
	f.Add([]byte("\"\xff\""))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, ok := jsonx.Text(data)
		if !ok {
			return
		}
		var want string
		if err := jsonx.Unmarshal(data, &want); err != nil || got != want {
			t.Errorf("Text(%q) = %q, the decoder says %q, %v", data, got, want, err)
		}
	})
}

func TestSole(t *testing.T) {
	for raw, want := range map[string]string{
		`[1]`: "1", ` [ {"a":[1,2]} ] `: `{"a":[1,2]}`, `["]"]`: `"]"`, `[[]]`: "[]", `[[1,2]]`: "[1,2]",
		`[]`: "", `[ ]`: "", `[1,2]`: "", `[{},{}]`: "", `{}`: "", `1`: "", `null`: "", ``: "",
	} {
		if got := jsonx.Sole(jsonx.Raw(raw)); string(got) != want {
			t.Errorf("%s: %s", raw, got)
		}
	}
}
