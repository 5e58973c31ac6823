package reconnect

import (
	"testing"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// A message whose ID is replaced is as before, but for the ID; and back again it is as it was.
func FuzzIDs(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"fs/read_text_file","params":{"id":1}}`, `{"id":"\u0061","method":"x"}`, `{ "method" : "y" , "id" : 1.5 }`,
		`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":"x"}}`, `{"id":[],"method":"x"}`, `{"id":1}`, `[]`, "{\"id\":\"\xff\",\"method\":\"m\"}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		s := &ids{}
		s.renew()
		renamed := s.fromAgent(append([]byte(nil), line...))
		var before, after map[string]any
		if jsonx.Unmarshal(line, &before) != nil {
			if string(renamed) != string(line) {
				t.Errorf("%q has become %q", line, renamed)
			}
			return
		}
		if err := jsonx.Unmarshal(renamed, &after); err != nil || len(before) != len(after) {
			t.Fatalf("%q has become %q: %v", line, renamed, err)
		}
		m, method, id, _ := parse(renamed)
		if method == "" || id == "" {
			return
		}
		answer := s.fromEditor([]byte(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":{}}`))
		var back struct {
			ID any `json:"id"`
		}
		if answer == nil || jsonx.Unmarshal(answer, &back) != nil {
			t.Fatalf("the answer to %q is %q", renamed, answer)
		}
		if s.fromEditor([]byte(`{"jsonrpc":"2.0","id":`+string(m.ID)+`,"result":{}}`)) != nil {
			t.Errorf("a second answer to %q passes", renamed)
		}
	})
}
