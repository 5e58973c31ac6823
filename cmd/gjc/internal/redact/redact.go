// Package redact removes secrets from protocol messages for a log.
package redact

import (
	"bytes"
	"fmt"
	"net/url"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// Message returns a message of the editor without its secrets: an editor passes keys in the headers of providers, in the headers
// and the environment of MCP servers, and possibly in URLs. The rest stays unchanged.
func Message(line []byte) []byte {
	suspicious := false
	for _, sign := range []string{`"headers"`, `"env"`, `"baseUrl"`, `"url"`, `\u`} { // a name with escapes may spell any of them
		suspicious = suspicious || bytes.Contains(line, []byte(sign))
	}
	switch {
	case !suspicious:
		return line
	case !jsonx.Valid(line):
		return fmt.Appendf(nil, "(%d bytes that are not a message)", len(line))
	}
	return appendPublic(nil, line, hideNothing)
}

// hiding determines what appendPublic hides in a value.
type hiding int

const (
	hideNothing hiding = iota
	// hideStrings blanks all strings; hideEntry blanks all but the member "name" of a list's entry.
	hideStrings
	hideEntry
)

// appendPublic appends a JSON value without possible secrets.
func appendPublic(dst []byte, raw jsonx.Raw, how hiding) []byte {
	switch raw.Kind() {
	case '{':
		dst = append(dst, '{')
		for name, value := range jsonx.Members(raw) {
			if dst[len(dst)-1] != '{' {
				dst = append(dst, ',')
			}
			dst = append(jsonx.AppendString(dst, name), ':')
			switch {
			case how == hideEntry && name == "name":
				dst = append(dst, value...)
			case how != hideNothing || name == "headers" || name == "env":
				dst = appendPublic(dst, value, hideStrings)
			case name == "baseUrl" || name == "url":
				dst = appendAddress(dst, value)
			default:
				dst = appendPublic(dst, value, hideNothing)
			}
		}
		return append(dst, '}')
	case '[':
		var list []jsonx.Raw
		if err := jsonx.Unmarshal(raw, &list); err != nil {
			return append(dst, "null"...) // not a list in a known form
		}
		if how == hideStrings {
			how = hideEntry
		}
		dst = append(dst, '[')
		for i, item := range list {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendPublic(dst, item, how)
		}
		return append(dst, ']')
	case '"':
		if how != hideNothing {
			return append(dst, `"…"`...)
		}
	}
	return append(dst, raw...)
}

// appendAddress appends a URL without user, password, query and fragment.
func appendAddress(dst []byte, raw jsonx.Raw) []byte {
	var s string
	if err := jsonx.Unmarshal(raw, &s); err != nil {
		return appendPublic(dst, raw, hideNothing)
	}
	u, err := url.Parse(s)
	if err != nil {
		return append(dst, `"…"`...)
	}
	u.User, u.RawQuery, u.Fragment, u.RawFragment = nil, "", "", ""
	return jsonx.AppendString(dst, u.String())
}
