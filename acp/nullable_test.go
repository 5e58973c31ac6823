package acp_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/internal/jsonx"
)

func TestOmittedNullAndValue(t *testing.T) {
	for in, want := range map[string]acp.SessionInfoUpdate{
		`{}`:                               {},
		`{"title":null}`:                   {Title: acp.Null[string]()},
		`{"title":""}`:                     {Title: acp.Value("")},
		`{"title":"a","updatedAt":null}`:   {Title: acp.Value("a"), UpdatedAt: acp.Null[string]()},
		`{"updatedAt":"2026-01-01T00:00"}`: {UpdatedAt: acp.Value("2026-01-01T00:00")},
	} {
		var got acp.SessionInfoUpdate
		if err := jsonx.Unmarshal([]byte(in), &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", in, diff)
		}
		back, err := jsonx.Marshal(got)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(untagged(plain(t, []byte(in)), plain(t, back)), plain(t, []byte(in))); diff != "" {
			t.Error(diff)
		}
	}
}

func TestRawTellsNullFromOmitted(t *testing.T) {
	for in, want := range map[string]string{
		`{"toolCallId":"t"}`:                 "",
		`{"toolCallId":"t","rawInput":null}`: "null",
		`{"toolCallId":"t","rawInput":0}`:    "0",
	} {
		var u acp.ToolCallUpdate
		if err := jsonx.Unmarshal([]byte(in), &u); err != nil || string(u.RawInput) != want || (u.RawInput == nil) != (want == "") {
			t.Errorf("%s: %q, %v", in, u.RawInput, err)
		}
	}
}

func TestNullable(t *testing.T) {
	var omitted acp.Nullable[int]
	null, zero := acp.Null[int](), acp.Value(0)
	if !omitted.IsZero() || omitted.IsNull() || null.IsZero() || !null.IsNull() || zero.IsZero() || zero.IsNull() {
		t.Error("the states are mixed up")
	}
	if v, ok := zero.Get(); v != 0 || !ok {
		t.Error("Get of a value")
	}
	if _, ok := null.Get(); ok {
		t.Error("Get of null")
	}
	if omitted.Or(5) != 5 || zero.Or(5) != 0 {
		t.Error("Or")
	}
	if omitted.Equal(null) || null.Equal(zero) || zero.Equal(acp.Value(1)) || !zero.Equal(acp.Value(0)) || !null.Equal(acp.Null[int]()) {
		t.Error("Equal")
	}
	// Nullable also works in a struct outside of package acp.
	type own struct {
		A acp.Nullable[int] `json:"a,omitzero"`
	}
	for _, in := range []string{`{}`, `{"a":null}`, `{"a":3}`} {
		var v, std own
		if err := jsonx.Unmarshal([]byte(in), &v); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(in), &std); err != nil {
			t.Fatal(err)
		}
		a, errA := jsonx.Marshal(v)
		b, errB := json.Marshal(std)
		if string(a) != in || errA != nil || errB != nil {
			t.Errorf("%s: %s, %v, %v", in, a, errA, errB)
		}
		sameJSON(t, a, b)
	}
	if err := jsonx.Unmarshal([]byte(`{"a":"x"}`), new(own)); err == nil || err.Error() != "/a: a string does not fit integer" {
		t.Errorf("got %v", err)
	}
}
