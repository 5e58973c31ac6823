package lsp

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.lsp.dev/protocol"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// This file decodes diagnostics by hand: servers send many thousands of them at once, and an invalid one must not invalidate the
// others. Invalid values become zero.

const (
	// maxDiagnostics bounds the diagnostics of one file.
	maxDiagnostics = 20_000
	// maxData bounds the data of a diagnostic, which only the server uses, in bytes.
	maxData = 64 << 10
	// maxRelated bounds the related information of a diagnostic.
	maxRelated = 100
	maxTags    = 16
	// typicalSize is the typical size of a diagnostic in bytes.
	typicalSize = 256
)

// cursor parses valid JSON.
type cursor struct {
	raw jsonx.Raw
	at  int
	// The last decoded values. They are usually the same in all diagnostics of a list and are shared.
	source, codeText string
	description      *protocol.CodeDescription
}

func (c *cursor) space() {
	if c.at < len(c.raw) && c.raw[c.at] > ' ' {
		return
	}
	for c.at < len(c.raw) {
		switch c.raw[c.at] {
		case ' ', '\n', '\t', '\r':
			c.at++
		default:
			return
		}
	}
}

// kind returns the first byte of the next value.
func (c *cursor) kind() byte {
	c.space()
	if c.at < len(c.raw) {
		return c.raw[c.at]
	}
	return 0
}

// skip consumes the next value and returns it.
func (c *cursor) skip() jsonx.Raw {
	c.space()
	start, depth := c.at, 0
	for c.at < len(c.raw) {
		switch c.raw[c.at] {
		case '"':
			c.quoted()
			if depth == 0 {
				return c.raw[start:c.at]
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 { // the end of the object or array around a number or literal
				return c.raw[start:c.at]
			}
			if depth--; depth == 0 {
				c.at++
				return c.raw[start:c.at]
			}
		case ',', ' ', '\n', '\t', '\r':
			if depth == 0 {
				return c.raw[start:c.at]
			}
		}
		c.at++
	}
	return c.raw[start:]
}

// quoted consumes a string and returns it with its quotes.
func (c *cursor) quoted() jsonx.Raw {
	start := c.at
	for c.at++; c.at < len(c.raw); {
		switch c.raw[c.at] {
		case '\\':
			c.at += 2
			continue
		case '"':
			c.at++
			return c.raw[start:c.at]
		}
		c.at++
	}
	c.at = len(c.raw)
	return c.raw[start:]
}

// members calls fn for each member of the next object; fn must consume the value. It skips any other value.
func (c *cursor) members(fn func(name []byte)) {
	if c.kind() != '{' {
		c.skip()
		return
	}
	c.at++
	for c.kind() == '"' {
		name := c.quoted()
		c.space()
		c.at++ // the colon
		fn(name[1:max(1, len(name)-1)])
		if c.kind() == ',' {
			c.at++
		}
	}
	c.at++
}

// items calls fn for each item of the next array; fn must consume it.
func (c *cursor) items(fn func()) {
	if c.kind() != '[' {
		c.skip()
		return
	}
	c.at++
	for c.kind() != ']' && c.at < len(c.raw) {
		fn()
		if c.kind() == ',' {
			c.at++
		}
	}
	c.at++
}

func (c *cursor) text() string {
	if c.kind() != '"' {
		c.skip()
		return ""
	}
	q := c.quoted()
	if len(q) < 2 {
		return ""
	}
	plain := q[1 : len(q)-1]
	for _, b := range plain {
		if b == '\\' || b >= utf8.RuneSelf {
			return stringOf(q)
		}
	}
	return string(plain)
}

// same returns the next string, sharing last if it is equal, which is the usual case.
func (c *cursor) same(last *string) string {
	if n := len(*last); c.kind() == '"' && n > 0 && len(c.raw)-c.at > n+1 && c.raw[c.at+n+1] == '"' && string(c.raw[c.at+1:c.at+n+1]) == *last &&
		strings.IndexByte(*last, '\\') < 0 && strings.IndexByte(*last, '"') < 0 {
		c.at += n + 2
		return *last
	}
	*last = c.text()
	return *last
}

// number returns the next number, clamped to the range of uint32.
func (c *cursor) number() uint32 {
	v := c.skip()
	if n, err := strconv.ParseUint(string(v), 10, 32); err == nil {
		return uint32(n)
	}
	f, err := strconv.ParseFloat(string(v), 64)
	switch {
	case err != nil || !(f > 0):
		return 0
	case f >= math.MaxUint32:
		return math.MaxUint32
	default:
		return uint32(f)
	}
}

func (c *cursor) position() (p protocol.Position) {
	c.members(func(name []byte) {
		switch string(name) {
		case "line":
			p.Line = c.number()
		case "character":
			p.Character = c.number()
		default:
			c.skip()
		}
	})
	return p
}

func (c *cursor) span() (r protocol.Range) {
	c.members(func(name []byte) {
		switch string(name) {
		case "start":
			r.Start = c.position()
		case "end":
			r.End = c.position()
		default:
			c.skip()
		}
	})
	return r
}

// code returns the code of a diagnostic: a number or a string.
func (c *cursor) code() any {
	if c.kind() == '"' {
		return c.same(&c.codeText)
	}
	v := c.skip()
	if n, err := strconv.ParseInt(string(v), 10, 32); err == nil {
		return int32(n)
	}
	if jsonx.IsNull(v) || v[0] == '{' || v[0] == '[' {
		return nil
	}
	return string(v)
}

func (c *cursor) diagnostic(d *protocol.Diagnostic) {
	c.members(func(name []byte) {
		switch string(name) {
		case "range":
			d.Range = c.span()
		case "severity":
			d.Severity = protocol.DiagnosticSeverity(c.number())
		case "code":
			d.Code = c.code()
		case "codeDescription":
			c.members(func(name []byte) {
				if string(name) != "href" {
					c.skip()
				} else {
					d.CodeDescription = c.describe()
				}
			})
		case "source":
			d.Source = c.same(&c.source)
		case "message":
			d.Message = c.message()
		case "tags":
			c.items(func() {
				if tag := protocol.DiagnosticTag(c.number()); len(d.Tags) < maxTags {
					d.Tags = append(d.Tags, tag)
				}
			})
		case "relatedInformation":
			c.items(func() {
				if r := c.related(); len(d.RelatedInformation) < maxRelated {
					d.RelatedInformation = append(d.RelatedInformation, r)
				}
			})
		case "data":
			if v := c.skip(); len(v) <= maxData && !jsonx.IsNull(v) {
				d.Data = v // a subslice of raw, whose size is counted
			}
		default:
			c.skip()
		}
	})
	if d.Severity > protocol.DiagnosticSeverityHint {
		d.Severity = protocol.DiagnosticSeverityHint
	}
}

func (c *cursor) describe() *protocol.CodeDescription {
	last := ""
	if c.description != nil {
		last = string(c.description.Href)
	}
	before := last
	switch href := c.same(&last); {
	case href == "":
		return nil
	case href != before || c.description == nil:
		c.description = &protocol.CodeDescription{Href: protocol.URI(href)}
	}
	return c.description
}

// message returns a message: a string or, since LSP 3.18, MarkupContent.
func (c *cursor) message() string {
	if c.kind() != '{' {
		return c.text()
	}
	value := ""
	c.members(func(name []byte) {
		if string(name) == "value" {
			value = c.text()
		} else {
			c.skip()
		}
	})
	return value
}

func (c *cursor) related() (r protocol.DiagnosticRelatedInformation) {
	c.members(func(name []byte) {
		switch string(name) {
		case "location":
			c.members(func(name []byte) {
				switch string(name) {
				case "uri":
					r.Location.URI = protocol.DocumentURI(c.text())
				case "range":
					r.Location.Range = c.span()
				default:
					c.skip()
				}
			})
		case "message":
			r.Message = c.message()
		default:
			c.skip()
		}
	})
	return r
}

func (c *cursor) diagnostics() []protocol.Diagnostic {
	list := make([]protocol.Diagnostic, 0, min(maxDiagnostics, (len(c.raw)-c.at)/typicalSize+1))
	c.items(func() {
		if c.kind() != '{' || len(list) >= maxDiagnostics {
			c.skip()
			return
		}
		list = append(list, protocol.Diagnostic{})
		c.diagnostic(&list[len(list)-1])
	})
	return list
}

// decodeDiagnostics decodes an array of diagnostics. It does not return nil.
func decodeDiagnostics(raw jsonx.Raw) []protocol.Diagnostic {
	c := cursor{raw: raw}
	return c.diagnostics()
}

// decodePublication decodes the params of textDocument/publishDiagnostics.
func decodePublication(params jsonx.Raw) (uri string, version int32, versioned bool, list []protocol.Diagnostic) {
	list = []protocol.Diagnostic{}
	c := cursor{raw: params}
	c.members(func(name []byte) {
		switch string(name) {
		case "uri":
			uri = c.text()
		case "version":
			if n, err := strconv.ParseInt(string(c.skip()), 10, 32); err == nil {
				version, versioned = int32(n), true
			}
		case "diagnostics":
			list = c.diagnostics()
		default:
			c.skip()
		}
	})
	return uri, version, versioned, list
}
