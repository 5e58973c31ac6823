package acp_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/internal/jsonx"
)

// Every value in the schema is known. Any other value is kept, and Known returns false for it.
func TestEnums(t *testing.T) {
	s := loadOfficial(t)
	enums := 0
	for name, makeZero := range schemaTypes {
		if _, ok := makeZero().(interface{ Known() bool }); !ok {
			continue
		}
		enums++
		t.Run(name, func(t *testing.T) {
			values := 0
			for _, branch := range branches(s.defs[name].(map[string]any)) {
				c, ok := branch["const"]
				if !ok {
					continue
				}
				values++
				data, err := json.Marshal(c)
				if err != nil {
					t.Fatal(err)
				}
				checkEnum(t, makeZero(), data, true)
			}
			if values == 0 {
				t.Error("the schema has no values for it")
			}
			other := `"unheard_of"`
			if reflect.TypeOf(makeZero()).Elem().Kind() == reflect.Int {
				other = "12345"
			}
			checkEnum(t, makeZero(), []byte(other), false)
		})
	}
	if enums < 15 {
		t.Errorf("only %d enumerated types", enums)
	}
}

func checkEnum(t *testing.T, v any, data []byte, known bool) {
	t.Helper()
	if err := jsonx.Unmarshal(data, v); err != nil {
		t.Fatal(err)
	}
	if got := v.(interface{ Known() bool }).Known(); got != known {
		t.Errorf("%s: known is %t", data, got)
	}
	back, err := jsonx.Marshal(v)
	if err != nil || string(back) != string(data) {
		t.Errorf("%s came back as %s, %v", data, back, err)
	}
}

func TestErrorCodes(t *testing.T) {
	for code, want := range map[acp.ErrorCode]int{
		acp.ErrorCodeParseError: -32700, acp.ErrorCodeInvalidRequest: -32600, acp.ErrorCodeMethodNotFound: -32601,
		acp.ErrorCodeInvalidParams: -32602, acp.ErrorCodeInternalError: -32603, acp.ErrorCodeRequestCancelled: -32800,
		acp.ErrorCodeAuthenticationRequired: -32000, acp.ErrorCodeResourceNotFound: -32002,
	} {
		if int(code) != want {
			t.Errorf("%d, want %d", code, want)
		}
	}
}
