package providers_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
)

func TestBuilder_Signatures(t *testing.T) {
	var b providers.Builder
	b.SignThinking("s0")
	b.Add(providers.TextDelta{Text: "a"})
	b.Break()
	b.SignText("s1")
	b.Add(providers.TextDelta{Text: "b"})
	b.SignText("+")
	b.Add(providers.ToolCallStart{ID: "c1", Name: "read"})
	b.Add(providers.ToolCallStart{ID: "c2", Name: "list"})
	b.SignCall("c1", "s2")
	b.SignCall("c9", "nobody's")
	b.SignText("s3")
	b.Add(providers.ThinkingDelta{Text: "t"})
	b.ThinkingField("f")
	want := []providers.Part{
		providers.Thinking{Signature: "s0"},
		providers.Text{Text: "a"},
		providers.Text{Text: "b", Signature: "s1+"},
		providers.ToolCall{ID: "c1", Name: "read", Input: jsonx.Raw("{}"), Signature: "s2"},
		providers.ToolCall{ID: "c2", Name: "list", Input: jsonx.Raw("{}")},
		providers.Text{Signature: "s3"},
		providers.Thinking{Text: "t", Field: "f"},
	}
	if diff := cmp.Diff(want, b.Message().Parts); diff != "" {
		t.Errorf("parts (-want +got):\n%s", diff)
	}
}
