package hub

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// The log returns what was added, from any place and any number, and drops its beginning if it is too large.
func TestLog(t *testing.T) {
	for _, limit := range []int{1 << 30, 20_000} {
		l := newLog(limit, 100, new(packer))
		l.reset(100)
		var want []entry
		seq := int64(100)
		for i := range 3000 {
			if i >= 50 { // the first are a replay
				seq++
			}
			e := entry{seq, jsonx.Raw(fmt.Sprintf(`{"n":%d,"text":%q}`, i, bytes.Repeat([]byte{'x'}, rand.IntN(300))))}
			want = append(want, e)
			l.add(e.seq, e.params)
		}
		if l.complete != (limit == 1<<30) || l.complete && l.first != 0 || l.size > limit {
			t.Fatalf("limit %d: complete %t, first %d, %d bytes", limit, l.complete, l.first, l.size)
		}
		read := func(place int) (got []entry) {
			for {
				entries, next, err := l.read(place)
				if err != nil {
					t.Fatal(err)
				}
				if len(entries) == 0 {
					return got
				}
				got, place = append(got, entries...), next
			}
		}
		for range 20 {
			place := l.first + rand.IntN(l.next-l.first+1)
			if d := cmp.Diff(want[place:], read(place), cmp.AllowUnexported(entry{}), cmp.Transformer("text", func(r jsonx.Raw) string { return string(r) }), equateEmpty()); d != "" {
				t.Fatalf("from %d (-want +got):\n%s", place, d)
			}
			after := l.floor + rand.Int64N(seq-l.floor+1)
			at, err := l.after(after)
			if err != nil {
				t.Fatal(err)
			}
			if got := read(at); int64(len(got)) != seq-after || len(got) > 0 && got[0].seq != after+1 {
				t.Fatalf("after %d: %d entries, want %d", after, len(got), seq-after)
			}
		}
		if l.first > 0 {
			if _, _, err := l.read(l.first - 1); err == nil {
				t.Error("a dropped entry can be read")
			}
		}
	}
}

func equateEmpty() cmp.Option {
	return cmp.Comparer(func(a, b []entry) bool {
		if len(a) != len(b) {
			return false
		}
		for i := range a {
			if a[i].seq != b[i].seq || !bytes.Equal(a[i].params, b[i].params) {
				return false
			}
		}
		return true
	})
}

func TestSetMember(t *testing.T) {
	for _, test := range []struct{ in, want string }{
		{`{}`, `{"a":1}`},
		{` { } `, `{"a":1}`},
		{`{"b":2}`, `{"a":1,"b":2}`},
		{`{"a":0}`, `{"a":1}`},
		{`{"b":2,"a":{"a":1}, "c":3}`, `{"a":1,"b":2,"c":3}`},
		{`null`, `{"a":1}`},
		{`7`, `{"a":1}`},
		{``, `{"a":1}`},
	} {
		if got := setMember(jsonx.Raw(test.in), "a", jsonx.Raw("1")); string(got) != test.want && !sameValue(got, jsonx.Raw(test.want)) {
			t.Errorf("%s: %s, want %s", test.in, got, test.want)
		}
	}
}

func sameValue(a, b jsonx.Raw) bool {
	var x, y any
	return jsonx.Unmarshal(a, &x) == nil && jsonx.Unmarshal(b, &y) == nil && cmp.Equal(x, y)
}

// FuzzMessage reads messages: what is accepted is what a decoder of the whole message reads, and stays so when it is written again.
func FuzzMessage(f *testing.F) {
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"s","prompt":[],"_meta":{"gjc/attach":{"after":3}}}}`,
		`{"id":"x","result":{"sessionId":"s"}}`, `{"id":null,"error":{"code":1}}`, `{"method":"a","params":[1]}`, `{"m\u0065thod":"a","id":"\ud800"}`, `[]`, `{"id":1,"id":2}`,
	} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		m, err := parse(line)
		if err != nil {
			return
		}
		if !jsonx.Valid(line) {
			t.Fatalf("accepted %q", line)
		}
		_ = askKey(m.id)
		f := parseFeatures(m.params)
		l := new(link)
		_, _ = l.parseAttachment(m.params)
		for _, kind := range []string{"plan_update", "plan_removed", "notice", "config_option_update", "tool_call", "agent_message_chunk"} {
			if fit := f.fit(kind, m.params); fit != nil && len(m.params) > 0 && !jsonx.Valid(fit) {
				t.Fatalf("%s: %q became %q", kind, m.params, fit)
			}
		}
		if m.method == "" {
			out := answer(m.id, m.result, m.err)
			again, err := parse(out)
			if err != nil || callKey(again.id) != callKey(m.id) {
				t.Fatalf("%q became %q: %v", line, out, err)
			}
			return
		}
		params := setMeta(m.params, seqKey, jsonx.Raw("7"))
		out := request(m.id, m.method, params)
		again, err := parse(out)
		if err != nil || again.method != m.method || again.session != m.session || string(meta(again.params, seqKey)) != "7" {
			t.Fatalf("%q became %q: %v", line, out, err)
		}
	})
}
