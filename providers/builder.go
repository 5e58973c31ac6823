package providers

import (
	"strings"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// A Builder puts the events of one stream together to a message. Models use it to make their [Done]; a caller uses
// one to keep what was said when the stream breaks. The zero Builder is ready. It is not safe for concurrent use.
type Builder struct {
	parts []buildPart
	// fresh makes the next delta begin a part even if the last one is of its kind.
	fresh bool
}

type buildPart struct {
	kind      partKind
	text      []byte // the text, or the input of a call
	signature string
	field     string
	redacted  bool
	id, name  string
}

type partKind uint8

const (
	partText partKind = iota
	partThinking
	partCall
)

// Add takes one event in. [UsageSoFar] and [Done] are ignored.
func (b *Builder) Add(ev Event) {
	switch ev := ev.(type) {
	case TextDelta:
		p := b.part(partText)
		p.text = append(p.text, ev.Text...)
	case ThinkingDelta:
		p := b.part(partThinking)
		p.text = append(p.text, ev.Text...)
	case ToolCallStart:
		b.parts = append(b.parts, buildPart{kind: partCall, id: ev.ID, name: ev.Name})
		b.fresh = true
	case ToolCallDelta:
		if p := b.call(ev.ID); p != nil {
			p.text = append(p.text, ev.Input...)
		}
	case UsageSoFar, Done:
	}
}

// Break ends the current part: the next text or thinking begins another one.
func (b *Builder) Break() { b.fresh = true }

// Sign adds to the signature of the last thinking or text part, whichever came last.
func (b *Builder) Sign(signature string) {
	for i := len(b.parts) - 1; i >= 0; i-- {
		if b.parts[i].kind != partCall {
			b.parts[i].signature += signature
			return
		}
	}
}

// SignThinking begins a thinking part without text if the last part is not thinking, and adds to its signature.
func (b *Builder) SignThinking(signature string) {
	p := b.part(partThinking)
	p.signature += signature
}

// ThinkingField begins a thinking part without text if the last part is not thinking, and names the member that it came in.
func (b *Builder) ThinkingField(field string) {
	p := b.part(partThinking)
	p.field = field
}

// SignText begins a text part without text if the last part is not text, and adds to its signature.
func (b *Builder) SignText(signature string) {
	p := b.part(partText)
	p.signature += signature
}

// SignCall adds to the signature of the call named by id.
func (b *Builder) SignCall(id, signature string) {
	if p := b.call(id); p != nil {
		p.signature += signature
	}
}

// Redacted adds a part of redacted thinking.
func (b *Builder) Redacted(payload string) {
	b.parts = append(b.parts, buildPart{kind: partThinking, redacted: true, signature: payload})
	b.fresh = true
}

// Input returns what has come so far of the input of the call named by id.
func (b *Builder) Input(id string) string {
	if p := b.call(id); p != nil {
		return string(p.text)
	}
	return ""
}

// Calls returns how many tool calls there are so far.
func (b *Builder) Calls() int {
	n := 0
	for i := range b.parts {
		if b.parts[i].kind == partCall {
			n++
		}
	}
	return n
}

// Message returns an assistant message with the parts so far. The input of a call is as the model wrote it; a call
// without any input has the empty object.
func (b *Builder) Message() Message {
	m := Message{Role: RoleAssistant}
	for i := range b.parts {
		switch p := &b.parts[i]; p.kind {
		case partText:
			m.Parts = append(m.Parts, Text{Text: string(p.text), Signature: p.signature})
		case partThinking:
			m.Parts = append(m.Parts, Thinking{Text: string(p.text), Signature: p.signature, Redacted: p.redacted, Field: p.field})
		case partCall:
			input := string(p.text)
			if strings.TrimSpace(input) == "" {
				input = "{}"
			}
			m.Parts = append(m.Parts, ToolCall{ID: p.id, Name: p.name, Input: jsonx.Raw(input), Signature: p.signature})
		}
	}
	return m
}

func (b *Builder) part(kind partKind) *buildPart {
	if n := len(b.parts); n > 0 && !b.fresh && b.parts[n-1].kind == kind {
		return &b.parts[n-1]
	}
	b.fresh = false
	b.parts = append(b.parts, buildPart{kind: kind})
	return &b.parts[len(b.parts)-1]
}

func (b *Builder) call(id string) *buildPart {
	for i := len(b.parts) - 1; i >= 0; i-- {
		if b.parts[i].kind == partCall && b.parts[i].id == id {
			return &b.parts[i]
		}
	}
	return nil
}
