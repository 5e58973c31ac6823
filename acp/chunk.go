package acp

import (
	"strings"

	"github.com/gajae-code/gjc/internal/jsonrpc"
	"github.com/gajae-code/gjc/internal/jsonx"
)

// chunk is a session/update with a piece of message text. It merges with the next piece while both wait to be sent.
type chunk struct {
	// size is the size of the text in JSON, in bytes; zero until it is computed.
	size    int
	n       *SessionNotification
	content *ContentChunk
	kind    chunkKind
	text    *TextContent
	// more is the text of merged chunks, which follows text.
	more strings.Builder
}

type chunkKind uint8

const (
	chunkMessage chunkKind = iota
	chunkThought
	chunkUser
)

var _ jsonrpc.Mergeable = (*chunk)(nil)

// newChunk returns n as a chunk if it is plain text of a message with an ID.
func newChunk(n *SessionNotification) (*chunk, bool) {
	c := &chunk{n: n}
	switch u := n.Update.(type) {
	case *AgentMessageChunk:
		c.content, c.kind = (*ContentChunk)(u), chunkMessage
	case *AgentThoughtChunk:
		c.content, c.kind = (*ContentChunk)(u), chunkThought
	case *UserMessageChunk:
		c.content, c.kind = (*ContentChunk)(u), chunkUser
	default:
		return nil, false
	}
	text, ok := c.content.Content.(*TextContent)
	if !ok || text.Annotations != nil || text.Meta != nil || c.content.Meta != nil || n.Meta != nil || c.content.MessageID == "" {
		return nil, false
	}
	c.text = text
	return c, true
}

// Merge implements [jsonrpc.Mergeable].
func (c *chunk) Merge(next jsonrpc.Mergeable) bool {
	o, ok := next.(*chunk)
	if !ok || len(c.text.Text)+c.more.Len()+len(o.text.Text) > maxText || o.kind != c.kind || o.n.SessionID != c.n.SessionID || o.content.MessageID != c.content.MessageID {
		return false
	}
	size := c.escaped() + o.escaped()
	if size > maxEncodedText {
		return false
	}
	c.size = size
	c.more.WriteString(o.text.Text)
	return true
}

// escaped returns an upper bound of the size of the text in JSON, in bytes.
func (c *chunk) escaped() int {
	if c.size == 0 {
		c.size = encodedSize(c.text.Text)
	}
	return c.size
}

// MarshalJSONTo writes the notification with all merged text.
func (c *chunk) MarshalJSONTo(enc *jsonx.Encoder) error {
	if c.more.Len() > 0 {
		c.text.Text += c.more.String()
		c.more.Reset()
	}
	return c.n.MarshalJSONTo(enc)
}
