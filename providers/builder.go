package providers

import (
	"strings"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// A Builder assembles the events of one stream into a message. Models use it to make their [Done]; a caller uses one to keep
// what a broken stream has delivered. The zero Builder is ready for use. It is not safe for concurrent use.
type Builder struct {
	parts []buildPart
	// fresh makes the next delta begin a part, even if the last one is of the same kind.
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

// Add adds one event. It ignores [UsageSoFar] and [Done].
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

// Break ends the current part, so that the next text or thinking begins another one.
func (b *Builder) Break() { b.fresh = true }

// Sign appends to the signature of the last part that is text or thinking.
func (b *Builder) Sign(signature string) {
	for i := len(b.parts) - 1; i >= 0; i-- {
		if b.parts[i].kind != partCall {
			b.parts[i].signature += signature
			return
		}
	}
}

// SignThinking appends to the signature of the last part. If that is not a thinking part, it begins one.
func (b *Builder) SignThinking(signature string) {
	p := b.part(partThinking)
	p.signature += signature
}

// ThinkingField sets the field of the last part. If that is not a thinking part, it begins one.
func (b *Builder) ThinkingField(field string) {
	p := b.part(partThinking)
	p.field = field
}

// SignText appends to the signature of the last part. If that is not a text part, it begins one.
func (b *Builder) SignText(signature string) {
	p := b.part(partText)
	p.signature += signature
}

// SignCall appends to the signature of the call with the id.
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

// Input returns the input of the call with the id, as far as it has been added.
func (b *Builder) Input(id string) string {
	if p := b.call(id); p != nil {
		return string(p.text)
	}
	return ""
}

// Calls returns the number of tool calls so far.
func (b *Builder) Calls() int {
	n := 0
	for i := range b.parts {
		if b.parts[i].kind == partCall {
			n++
		}
	}
	return n
}

// Message returns an assistant message with the parts so far. The input of a call is unchanged, or the empty object if there is
// none.
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
