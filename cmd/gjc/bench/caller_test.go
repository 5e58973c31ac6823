package bench

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/acptest"
)

// caller makes the offline model call tools in one session, and measures the prompts.
type caller struct {
	*agent
	session acp.SessionID
	ended   *acp.ToolCallUpdate // the last completed call
}

// newCaller starts a gjc with a session in work. The programs in bin come first on its PATH. gjc ends with the benchmark.
func newCaller(b *testing.B, work, bin string) *caller {
	b.Helper()
	c := new(caller)
	c.agent = start(b, b.TempDir(), options{
		EditorOptions: acptest.EditorOptions{Updated: func(n *acp.SessionNotification) {
			if u, ok := n.Update.(*acp.ToolCallUpdate); ok {
				if _, has := u.Content.Get(); has {
					c.ended = u
				}
			}
		}},
		env: []string{"PATH=" + bin + string(os.PathListSeparator) + os.Getenv("PATH")},
	})
	b.Cleanup(c.end)
	c.work = work
	c.session = c.open()
	return c
}

// call measures one prompt, whose call must end with a text that contains want.
func (c *caller) call(prompt, want string) time.Duration {
	c.b.Helper()
	took := c.prompt(c.session, prompt)
	if text := textOf(c.ended); !strings.Contains(text, want) {
		c.b.Fatalf("%s: no %q in %.500s", prompt, want, text)
	}
	return took
}

// textOf returns the text of a completed call.
func textOf(u *acp.ToolCallUpdate) string {
	var text strings.Builder
	if u == nil {
		return ""
	}
	content, _ := u.Content.Get()
	for _, c := range content {
		if inner, ok := c.(*acp.Content); ok {
			if t, ok := inner.Content.(*acp.TextContent); ok {
				text.WriteString(t.Text)
			}
		}
	}
	return text.String()
}
