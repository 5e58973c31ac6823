package sessions

import (
	"bytes"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
)

// plainStart is how a message that this program wrote begins.
var plainStart = []byte(`{"type":"message",`)

// plainLine is a line with a message of the shape that this program writes.
type plainLine struct {
	envelope
	Message struct {
		Role         string      `json:"role"`
		Content      []readBlock `json:"content"`
		Timestamp    float64     `json:"timestamp"`
		API          string      `json:"api"`
		Provider     string      `json:"provider"`
		Model        string      `json:"model"`
		StopReason   string      `json:"stopReason"`
		ErrorMessage string      `json:"errorMessage"`
		Usage        plainUsage  `json:"usage"`
		ToolCallID   string      `json:"toolCallId"`
		ToolName     string      `json:"toolName"`
		Details      jsonx.Raw   `json:"details"`
		IsError      bool        `json:"isError"`
		MessageID    string      `json:"messageId"`
	} `json:"message"`
}

// plainUsage is an answer's usage as this program writes it.
type plainUsage struct {
	readUsage
	readCosts
}

// plainMessage decodes a message in one pass, because messages are nearly all of a file. What it does not take, the
// lenient way through [decoder.entry] may; both give the same entry.
func (d *decoder) plainMessage(text []byte) (Entry, bool) {
	if !bytes.HasPrefix(text, plainStart) {
		return nil, false
	}
	var l plainLine
	if err := jsonx.Unmarshal(text, &l); err != nil || l.ID == "" {
		return nil, false
	}
	w := &l.Message
	base := l.base()
	m := providers.Message{ID: w.MessageID, Time: millis(w.Timestamp, base.Time)}
	switch w.Role {
	case roleUser:
		m.Role = providers.RoleUser
	case roleAssistant:
		m.Role, m.API, m.Provider, m.Model = providers.RoleAssistant, w.API, w.Provider, w.Model
		m.StopReason, m.Error = providers.StopReason(w.StopReason), w.ErrorMessage
		m.Usage, m.Price = w.Usage.usage(), w.Usage.Cost.price()
	case roleToolResult:
		m.Role, m.ToolCallID, m.ToolName, m.IsError = providers.RoleTool, w.ToolCallID, w.ToolName, w.IsError
		m.Details = d.intoDetails(w.Details)
	default:
		return nil, false
	}
	if w.Content != nil {
		m.Parts = d.blocks(w.Content)
	}
	return MessageEntry{Base: base, Message: m, Role: w.Role}, true
}
