package transcript

import (
	"bufio"
	"fmt"
	"time"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// jsonPage writes an object with the members "session" and "messages", one message a line.
type jsonPage struct {
	writer *bufio.Writer
	more   bool
}

// about is the member "session" of the JSON format.
type about struct {
	ID          string    `json:"id,omitzero"`
	Title       string    `json:"title,omitzero"`
	Cwd         string    `json:"cwd,omitzero"`
	Directories []string  `json:"additionalDirectories,omitempty"`
	Parent      string    `json:"parentSession,omitzero"`
	Model       string    `json:"model,omitzero"`
	Created     time.Time `json:"created,omitzero"`
	Updated     time.Time `json:"updated,omitzero"`
	Messages    int       `json:"messageCount"`
	Usage       *usage    `json:"usage"`
	// CostUSD is absent if a price is unknown, ContextWindow if the model is.
	CostUSD       float64     `json:"costUsd,omitzero"`
	ContextWindow int         `json:"contextWindow,omitzero"`
	Plan          []planEntry `json:"plan,omitempty"`
}

func (p *jsonPage) begin(d *document) {
	a := about{
		ID: d.ID, Title: d.Title, Cwd: d.Cwd, Directories: d.Directories, Parent: d.Parent, Model: d.Model,
		Created: d.Created.UTC(), Updated: d.updated.UTC(), Messages: d.messages, Usage: usageOf(d.usage),
		ContextWindow: d.window, Plan: planBlock(d.plan).Entries,
	}
	if d.priced {
		a.CostUSD = d.cost
	}
	_, _ = p.writer.WriteString(`{"session":`)
	p.value(a)
	_, _ = p.writer.WriteString(`,"messages":[`)
}

func (p *jsonPage) item(_ *document, it *item) {
	if p.more {
		_ = p.writer.WriteByte(',')
	}
	p.more = true
	_ = p.writer.WriteByte('\n')
	p.value(it)
}

func (p *jsonPage) value(v any) {
	text, err := jsonx.Marshal(v)
	if err != nil { // the output of a call that is not JSON, from another program
		text = fmt.Appendf(nil, `{"type":"notice","error":%s}`, jsonx.AppendString(nil, "cannot encode this: "+err.Error()))
	}
	_, _ = p.writer.Write(text)
}

func (p *jsonPage) end(*document) { _, _ = p.writer.WriteString("\n]}\n") }
