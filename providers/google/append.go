package google

import (
	"encoding/base64"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// A long request consists mostly of the conversation. It is encoded by hand, because reflection takes three times as long. The
// members are in the order of the types' fields.

func appendContents(dst []byte, list []content) []byte {
	dst = append(dst, '[')
	for i := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, '{')
		if list[i].Role != "" {
			dst = append(append(append(dst, `"role":"`...), list[i].Role...), `",`...)
		}
		dst = append(appendParts(append(dst, `"parts":`...), list[i].Parts), '}')
	}
	return append(dst, ']')
}

func appendParts(dst []byte, parts []part) []byte {
	dst = append(dst, '[')
	for i := range parts {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = parts[i].append(dst)
	}
	return append(dst, ']')
}

// members writes the members of one object.
type members struct {
	dst []byte
	any bool
}

func (m *members) name(name string) {
	if m.any {
		m.dst = append(m.dst, ',')
	}
	m.any = true
	m.dst = append(append(append(m.dst, '"'), name...), `":`...)
}

func (m *members) text(name, value string) {
	m.name(name)
	m.dst = jsonx.AppendString(m.dst, value)
}

func (p *part) append(dst []byte) []byte {
	m := members{dst: append(dst, '{')}
	if p.Text != nil {
		m.text("text", *p.Text)
	}
	if b := p.InlineData; b != nil {
		m.name("inlineData")
		m.dst = append(jsonx.AppendString(append(m.dst, `{"mimeType":`...), b.MIMEType), `,"data":"`...)
		m.dst = append(base64.StdEncoding.AppendEncode(m.dst, b.Data), `"}`...)
	}
	if c := p.FunctionCall; c != nil {
		m.name("functionCall")
		m.dst = c.append(m.dst)
	}
	if r := p.FunctionResponse; r != nil {
		m.name("functionResponse")
		m.dst = r.append(m.dst)
	}
	if p.Thought {
		m.name("thought")
		m.dst = append(m.dst, "true"...)
	}
	if p.ThoughtSignature != "" {
		m.text("thoughtSignature", p.ThoughtSignature)
	}
	return append(m.dst, '}')
}

func (c *functionCall) append(dst []byte) []byte {
	m := members{dst: append(dst, '{')}
	if c.ID != "" {
		m.text("id", string(c.ID))
	}
	m.text("name", c.Name)
	if len(c.Args) > 0 {
		m.name("args")
		m.dst = append(m.dst, c.Args...)
	}
	return append(m.dst, '}')
}

func (r *functionResponse) append(dst []byte) []byte {
	m := members{dst: append(dst, '{')}
	if r.ID != "" {
		m.text("id", r.ID)
	}
	m.text("name", r.Name)
	m.name("response")
	inner := members{dst: append(m.dst, '{')}
	if r.Response.Output != nil {
		inner.text("output", *r.Response.Output)
	}
	if r.Response.Error != nil {
		inner.text("error", *r.Response.Error)
	}
	m.dst = append(inner.dst, '}')
	if len(r.Parts) > 0 {
		m.name("parts")
		m.dst = appendParts(m.dst, r.Parts)
	}
	return append(m.dst, '}')
}
