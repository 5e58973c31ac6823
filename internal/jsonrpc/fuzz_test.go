package jsonrpc

import (
	"encoding/json"
	"math/big"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/testenv"
)

// FuzzID checks that an ID survives a round trip, and that a number keeps its spelling and its value.
func FuzzID(f *testing.F) {
	for _, s := range []string{`1`, `1.0`, `"1"`, `null`, `-0`, `1e2`, `9007199254740993`, `1e400`, `"\u0000"`, `true`, `{}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !jsonx.Valid([]byte(text)) {
			return
		}
		var id ID
		err := id.UnmarshalJSON([]byte(strings.TrimSpace(text)))
		switch jsonx.Raw(strings.TrimSpace(text)).Kind() {
		case 'n', '"', '0':
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
		default:
			if err == nil {
				t.Fatalf("%s is no id", text)
			}
			return
		}
		if !id.isValid() {
			t.Fatalf("%s: not valid", text)
		}
		out := id.append(nil)
		var again ID
		if err := again.UnmarshalJSON(out); err != nil || again.key() != id.key() {
			t.Fatalf("%s: came back as %s (%v)", text, out, err)
		}
		if jsonx.Raw(out).Kind() == '0' {
			if string(out) != strings.TrimSpace(text) {
				t.Fatalf("number %s was written as %s", text, out)
			}
			if id.kind == idNumber {
				want, ok := new(big.Rat).SetString(strings.TrimSpace(text))
				if !ok || want.Cmp(new(big.Rat).SetInt64(id.num)) != 0 {
					t.Fatalf("%s became %d", text, id.num)
				}
			}
		}
	})
}

// FuzzDecodeMessage checks that no input causes a panic, and that encoding/json reads every accepted message in the same way.
func FuzzDecodeMessage(f *testing.F) {
	for _, s := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"a","params":{}}`, `{"jsonrpc":"2.0","id":1,"result":null}`,
		`{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}}`, `[]`, `{"jsonrpc":"2.0","\u006dethod":"a"}`,
		`{"jsonrpc":"2.0","method":"a","Method":"b"}`, `{"jsonrpc":"2.0","method":"a","method":"b"}`, "{}\n{}", `1`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) == 0 {
			return
		}
		req, resp, bad := decodeMessage(data)
		n := 0
		for _, set := range []bool{req != nil, resp != nil, bad != nil} {
			if set {
				n++
			}
		}
		if n != 1 {
			t.Fatalf("%q: %v %v %v", data, req, resp, bad)
		}
		if req == nil {
			return
		}
		var m map[string]json.RawMessage
		if err := json.Unmarshal(data, &m); err != nil {
			if jsonx.Valid(data) {
				return // encoding/json refuses some invalid UTF-8 names that we replace
			}
			t.Fatalf("%q was taken but is not JSON", data)
		}
		var method string
		if err := json.Unmarshal(m["method"], &method); err != nil || method != req.Method {
			t.Fatalf("%q: method %q, want %q", data, req.Method, method)
		}
	})
}

// FuzzOutline checks that the outline read from the two ends of a message never has another ID or another kind of message.
func FuzzOutline(f *testing.F) {
	for _, s := range []string{
		`{"jsonrpc":"2.0","id":1,"result":{"id":2}}`, `{"result":"\",\"id\":2}","id":"a\\"}`, `{"_":[{"id":3}],"id":12,"error":{"id":4}}`,
		`{"jsonrpc":"2.0","method":"a","params":{"result":1,"id":2},"id":null}`, `{"id":-1.5e3,"result":true,"x":"{\"id\":1,"}`,
	} {
		f.Add([]byte(s), uint(20), uint(10))
	}
	f.Fuzz(func(t *testing.T, data []byte, head, tail uint) {
		if len(data) == 0 {
			return
		}
		head, tail = head%uint(len(data)+1), tail%uint(len(data)+1)
		o := outlineOf(data[:head], data[uint(len(data))-tail:])
		req, resp, _ := decodeMessage(data)
		switch {
		case req != nil:
			if o.answer || o.id.isValid() && !o.torn && o.id.key() != req.ID.key() {
				t.Fatalf("%q is taken for %+v by %d and %d bytes", data, o, head, tail)
			}
		case resp != nil && resp.broken == nil:
			if o.id.isValid() && !o.torn && o.id.key() != resp.id.key() || o.request && jsonx.Lookup(data, "params") == nil {
				t.Fatalf("%q is taken for %+v by %d and %d bytes", data, o, head, tail)
			}
		}
	})
}

// Hot path: decoding an inbound request and encoding it again costs a bounded number of allocations.
func TestAllocations(t *testing.T) {
	if testenv.Race {
		t.Skip("the race detector allocates too")
	}
	in := []byte(`{"jsonrpc":"2.0","id":17,"method":"session/prompt","params":{"sessionId":"abc","prompt":[{"type":"text","text":"hello"}]}}`)
	decode := testing.AllocsPerRun(100, func() {
		if req, _, bad := decodeMessage(in); bad != nil || req.Method != "session/prompt" {
			t.Fatal(bad)
		}
	})
	if decode > 4 {
		t.Errorf("decoding a request allocates %v times, the budget is 4", decode)
	}
	buf := make([]byte, 0, 1024)
	params := map[string]string{"a": "b"}
	encode := testing.AllocsPerRun(100, func() {
		var err error
		if buf, err = appendRequest(buf[:0], ID{}, "session/update", params); err != nil {
			t.Fatal(err)
		}
	})
	if encode > 6 {
		t.Errorf("encoding a notification allocates %v times, the budget is 6", encode)
	}
	t.Logf("decode %v, encode %v allocations", decode, encode)
}
