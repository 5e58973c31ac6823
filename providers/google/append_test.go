package google

import (
	"testing"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// The hand-written encoder produces the same output as encoding the types.
func TestAppendContents(t *testing.T) {
	text, empty := "a\n\"b\" <é>\xff\u2028", ""
	list := []content{
		{Role: "user", Parts: []part{{Text: &text}, {InlineData: &blob{"image/png", []byte{0, 1, 2, 250}}}, {Text: &empty}}},
		{Role: "model", Parts: []part{
			{Text: &text, Thought: true, ThoughtSignature: "s\\1"},
			{FunctionCall: &functionCall{ID: "1", Name: "read", Args: jsonx.Raw(`{"a":[1,"x"]}`)}, ThoughtSignature: "s2"},
			{FunctionCall: &functionCall{Name: "list"}},
		}},
		{Role: "user", Parts: []part{
			{FunctionResponse: &functionResponse{ID: "1", Name: "read", Response: result{Output: &text}, Parts: []part{{InlineData: &blob{"image/webp", []byte("x")}}}}},
			{FunctionResponse: &functionResponse{Name: "list", Response: result{Error: &empty}}},
			{FunctionResponse: &functionResponse{Name: "none"}},
		}},
		{Parts: []part{}},
	}
	want, err := jsonx.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	if got := appendContents(nil, list); string(got) != string(want) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := appendContents([]byte("x"), nil); string(got) != "x[]" {
		t.Errorf("of nothing: %s", got)
	}
}
