package configfile

import (
	"bytes"
	"errors"
	"io"
	"math"
	"strconv"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// ParseJSON parses a JSON file. It returns nil for an empty file. Its errors are of type [*LineError].
func ParseJSON(data []byte) (*Node, error) {
	data, err := source(data)
	if err != nil {
		return nil, err
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, nil
	}
	p := &jsonParser{data: data, line: 1}
	p.dec.Reset(bytes.NewReader(data))
	n, err := p.value()
	if err == nil {
		if _, err = p.dec.ReadToken(); errors.Is(err, io.EOF) {
			return n, nil
		} else if err == nil {
			return nil, plainf(p.at(), "unexpected text after the JSON value")
		}
	}
	if _, ours := errors.AsType[*LineError](err); ours {
		return nil, err
	}
	return nil, p.broken()
}

type jsonParser struct {
	data []byte
	dec  jsonx.Decoder
	// line is the line of the offset up to which newlines were counted.
	line, counted int
}

// at returns the line of the end of the last token.
func (p *jsonParser) at() int {
	end := min(int(p.dec.InputOffset()), len(p.data))
	p.line += bytes.Count(p.data[p.counted:end], []byte("\n"))
	p.counted = end
	return p.line
}

// broken returns the error for invalid syntax at the first token that was not read.
func (p *jsonParser) broken() error {
	line := p.at()
	rest := p.data[p.counted:]
	skipped := len(rest) - len(bytes.TrimLeft(rest, " \t\r\n,:"))
	line += bytes.Count(rest[:skipped], []byte("\n"))
	rest = rest[skipped:]
	if bytes.HasPrefix(rest, []byte("//")) || bytes.HasPrefix(rest, []byte("/*")) {
		return plainf(line, "JSON does not allow comments; YAML does")
	}
	reason := "the file is not JSON"
	var raw jsonx.Raw
	if e, ok := errors.AsType[*jsonx.DecodeError](jsonx.Unmarshal(p.data, &raw)); ok {
		reason += ": " + e.Reason
	}
	return faultf(line, "%s", reason)
}

func (p *jsonParser) value() (*Node, error) {
	tok, err := p.dec.ReadToken()
	if err != nil {
		return nil, err
	}
	n := &Node{Line: p.at()}
	switch tok.Kind() {
	case 'n':
	case 't', 'f', '0':
		n.Kind, n.Text = Boolean, tok.String()
		if tok.Kind() == '0' {
			n.Kind = Number
			if f, err := strconv.ParseFloat(n.Text, 64); err != nil || math.IsInf(f, 0) {
				return nil, plainf(n.Line, "the number is too large")
			}
		}
	case '"':
		n.Kind, n.Text = Text, tok.String()
	case '[':
		n.Kind = List
		for p.dec.PeekKind() != ']' {
			v, err := p.value()
			if err != nil {
				return nil, err
			}
			n.List = append(n.List, v)
		}
		_, err = p.dec.ReadToken()
	case '{':
		n.Kind = Object
		for p.dec.PeekKind() != '}' {
			name, err := p.dec.ReadToken()
			if err != nil {
				return nil, err
			}
			m := Member{Name: name.String(), Line: p.at()}
			if m.Value, err = p.value(); err != nil {
				return nil, err
			}
			n.Members = append(n.Members, m)
		}
		_, err = p.dec.ReadToken()
	}
	if err != nil {
		return nil, err
	}
	return n, n.measure()
}
