package acp_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/testenv"
)

func chunk() *acp.SessionNotification {
	return &acp.SessionNotification{
		SessionID: "01999a7f-9d0e-7cc3-8d1c-2b4f3a5e6d70",
		Update: &acp.AgentMessageChunk{
			MessageID: "m-17", Content: &acp.TextContent{Text: "The function returns \"early\" when x < 0.\n"},
		},
	}
}

// The most frequent message stays within its allocation budget.
func TestChunkAllocations(t *testing.T) {
	if testenv.Race {
		t.Skip("the race detector adds allocations")
	}
	const budget = 4
	n := chunk()
	buf := make([]byte, 0, 1024)
	got := testing.AllocsPerRun(200, func() {
		var err error
		if buf, err = jsonx.Append(buf[:0], n); err != nil {
			t.Fatal(err)
		}
	})
	if got > budget {
		t.Errorf("%v allocations to encode a chunk, the budget is %d", got, budget)
	}
}

func BenchmarkEncodeChunk(b *testing.B) {
	n := chunk()
	buf := make([]byte, 0, 1024)
	b.ReportAllocs()
	for b.Loop() {
		var err error
		if buf, err = jsonx.Append(buf[:0], n); err != nil {
			b.Fatal(err)
		}
	}
	b.SetBytes(int64(len(buf)))
}

func BenchmarkDecodeChunk(b *testing.B) {
	data, err := jsonx.Marshal(chunk())
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		var n acp.SessionNotification
		if err := jsonx.Unmarshal(data, &n); err != nil {
			b.Fatal(err)
		}
	}
}

// No input crashes the decoder, and every value that it accepts survives a round trip.
func FuzzSessionNotification(f *testing.F) {
	for _, test := range golden {
		if data, err := jsonx.Marshal(test.value); err == nil {
			f.Add(data)
			f.Add([]byte(`{"sessionId":"s","update":` + string(data) + `}`))
		}
	}
	for _, update := range []string{
		`{"sessionUpdate":"plan","entries":[{"content":"c","priority":"high","status":"pending"}]}`,
		`{"sessionUpdate":"subagent_update","sessionId":"x","state":{"state":"idle","stopReason":"error","error":{"code":-1,"message":"m"}}}`,
		`{"sessionUpdate":"config_option_update","configOptions":[{"id":"a","name":"b","type":"select","currentValue":"v","options":[{"group":"g","name":"n","options":[]}]}]}`,
		`{"sessionUpdate":"session_info_update","title":null,"_meta":{"a":{"b":[1e5]}}}`,
		`{"sessionUpdate":"usage_update","used":1.0,"size":18446744073709551615,"cost":{"amount":0.1,"currency":"USD"}}`,
		"{\"sessionUpdate\":\"\xff\",\"\xfe\":\"\xfd\"}",
		`{"sessionUpdate":"agent_message_chunk","content":{"type":"resource","resource":{"uri":"a","blob":""}}}`,
	} {
		f.Add([]byte(`{"sessionId":"s","update":` + update + `}`))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var first acp.SessionNotification
		if jsonx.Unmarshal(data, &first) != nil {
			return
		}
		written, err := jsonx.Marshal(&first)
		if err != nil {
			t.Fatalf("%v: %#v from %q", err, first, data)
		}
		var second acp.SessionNotification
		if err := jsonx.Unmarshal(written, &second); err != nil {
			t.Fatalf("%v: %q from %q", err, written, data)
		}
		again, err := jsonx.Marshal(&second)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(written), string(again)); diff != "" {
			t.Errorf("not stable for %q: %s", data, diff)
		}
	})
}
