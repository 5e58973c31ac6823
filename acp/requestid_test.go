package acp_test

import (
	"encoding/json"
	"testing"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/internal/jsonx"
)

func TestRequestID(t *testing.T) {
	for in, want := range map[string]acp.RequestID{
		"null": {}, "0": acp.NumberRequestID(0), "-7": acp.NumberRequestID(-7), `""`: acp.StringRequestID(""),
		`"7"`: acp.StringRequestID("7"), "9223372036854775807": acp.NumberRequestID(9223372036854775807),
	} {
		var got, std acp.RequestID
		if err := jsonx.Unmarshal([]byte(in), &got); err != nil || got != want {
			t.Errorf("%s: %v, %v", in, got, err)
		}
		if err := json.Unmarshal([]byte(in), &std); err != nil || std != want {
			t.Errorf("encoding/json: %s: %v, %v", in, std, err)
		}
		if got.String() != in || got.IsNull() != (in == "null") {
			t.Errorf("%s: String %s, IsNull %t", in, got, got.IsNull())
		}
		if back, err := jsonx.Marshal(got); err != nil || string(back) != in {
			t.Errorf("%s came back as %s, %v", in, back, err)
		}
	}
	for _, in := range []string{"1.5", "true", "{}", "[1]", "9223372036854775808", "1e400"} {
		if err := jsonx.Unmarshal([]byte(in), new(acp.RequestID)); err == nil {
			t.Errorf("%s is taken", in)
		}
	}
	if acp.NumberRequestID(1) == acp.StringRequestID("1") {
		t.Error("1 and \"1\" are the same")
	}
	if acp.NumberRequestID(3).Value() != any(int64(3)) || acp.StringRequestID("s").Value() != any("s") || (acp.RequestID{}).Value() != nil {
		t.Error("Value")
	}
}
