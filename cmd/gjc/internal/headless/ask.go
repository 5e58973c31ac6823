package headless

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/internal/trust"
)

// Asker asks the user on a terminal.
type Asker struct {
	In  io.Reader
	Out io.Writer

	begin sync.Once
	lines chan string // what the user types; closed at the end of In
}

// read begins to read lines. One reader serves all questions: it may read ahead, and one that waits cannot be stopped.
func (t *Asker) read() {
	t.lines = make(chan string)
	go func() { // ends with In, or with the process
		defer close(t.lines)
		for in := bufio.NewScanner(t.In); in.Scan(); {
			t.lines <- strings.ToLower(strings.TrimSpace(in.Text()))
		}
	}()
}

// OpenTerminal opens the terminal of this process for reading. The caller must close it.
func OpenTerminal() (*os.File, error) { return os.Open(terminalDevice) }

// keys has the words that choose an option.
var keys = map[acp.PermissionOptionKind]string{
	acp.PermissionOptionKindAllowOnce: "y", acp.PermissionOptionKindAllowAlways: "a", acp.PermissionOptionKindRejectOnce: "n", acp.PermissionOptionKindRejectAlways: "never",
}

// Approve asks one question. It is for [Options.Approve].
func (t *Asker) Approve(ctx context.Context, p *acp.RequestPermissionRequest) (acp.PermissionOptionID, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s\n", trust.Printable(p.ToolCall.Title.Or("")))
	parts, _ := p.ToolCall.Content.Get()
	for _, part := range parts {
		if c, ok := part.(*acp.Content); ok {
			if text, ok := c.Content.(*acp.TextContent); ok {
				fmt.Fprintf(&b, "%s\n", trust.Printable(text.Text))
			}
		}
	}
	chosen := make(map[string]acp.PermissionOptionID)
	for _, o := range p.Options {
		key := keys[o.Kind]
		if o.OptionID == "allow_workspace" {
			key = "w"
		}
		chosen[key] = o.OptionID
		fmt.Fprintf(&b, "  %-6s %s\n", key, trust.Printable(o.Name))
	}
	b.WriteString("> ")
	if _, err := io.WriteString(t.Out, b.String()); err != nil {
		return "", err
	}
	t.begin.Do(t.read)
	select {
	case line := <-t.lines:
		if id, ok := chosen[line]; ok {
			return id, nil
		}
		return chosen[keys[acp.PermissionOptionKindRejectOnce]], nil
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}
