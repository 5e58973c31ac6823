package dialect

import (
	"regexp"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/providers"
)

func TestToolID(t *testing.T) {
	valid := regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
	seen := map[string]string{}
	for _, id := range []string{
		"toolu_01A-b", "call_1|fc_2", "call_1/fc_2", "call_1_fc_2", "", " ", "ü", strings.Repeat("x", 65), strings.Repeat("x", 64) + "y", strings.Repeat("x", 300),
	} {
		got := ToolID(id, 64)
		if !valid.MatchString(got) {
			t.Errorf("ToolID(%q) = %q", id, got)
		}
		if other, taken := seen[got]; taken {
			t.Errorf("%q and %q both become %q", id, other, got)
		}
		seen[got] = id
		if again := ToolID(got, 64); again != got {
			t.Errorf("ToolID(%q) = %q, which becomes %q", id, got, again)
		}
	}
	if got := ToolID("toolu_01A-b", 64); got != "toolu_01A-b" {
		t.Errorf("a good id becomes %q", got)
	}
}

func TestToolInput(t *testing.T) {
	for raw, want := range map[string]string{
		`{"a": 1}`: `{"a": 1}`, `{"a":`: `{}`, `[1]`: `{}`, ``: `{}`, `null`: `{}`, "{\"a\":\"\xff\"}": "{\"a\":\"\uFFFD\"}",
	} {
		if got := string(ToolInput([]byte(raw))); got != want {
			t.Errorf("ToolInput(%q) = %q, want %q", raw, got, want)
		}
	}
}

func TestMistralToolID(t *testing.T) {
	valid := regexp.MustCompile(`^[A-Za-z0-9]{9}$`)
	for _, id := range []string{"", "a", "abcdef_12", "call_1|fc_2", "ABCdef123"} {
		if got := MistralToolID(id); !valid.MatchString(got) || got != MistralToolID(got) {
			t.Errorf("MistralToolID(%q) = %q", id, got)
		}
	}
	if MistralToolID("ABCdef123") != "ABCdef123" || MistralToolID("x") == MistralToolID("y") {
		t.Error("ids are not kept apart")
	}
}

// A provider whose API has changed between two turns must not get signatures of the other API.
func TestOwn(t *testing.T) {
	info := providers.ModelInfo{Provider: "p", ID: "m", API: "openai-responses"}
	for _, tt := range []struct {
		msg  providers.Message
		want bool
	}{
		{providers.Message{Provider: "p", Model: "m", API: "openai-responses"}, true},
		{providers.Message{Provider: "p", Model: "m"}, true},
		{providers.Message{Provider: "p", Model: "m", API: "openai-completions"}, false},
		{providers.Message{Provider: "p", Model: "n", API: "openai-responses"}, false},
		{providers.Message{Provider: "q", Model: "m", API: "openai-responses"}, false},
	} {
		if got := Own(&info, &tt.msg); got != tt.want {
			t.Errorf("%+v is its own: %v", tt.msg, got)
		}
	}
}
