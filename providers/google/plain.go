package google

import "github.com/gajae-code/gjc/internal/jsonx"

// plainText returns the text of a chunk with only text and usage, the most frequent kind: decoding it completely takes three
// times as long. used is a slice of data, or nil.
func plainText(data []byte) (text string, used jsonx.Raw, ok bool) {
	if !jsonx.Valid(data) {
		return "", nil, false
	}
	plain := true
	var candidate, content, part, said jsonx.Raw
	jsonx.EachMember(data, func(name []byte, value jsonx.Raw) bool {
		switch string(name) {
		case "candidates":
			candidate = jsonx.Sole(value)
		case "usageMetadata":
			plain = used == nil && value[0] == '{'
			used = value
		case "modelVersion", "responseId", "createTime":
		default:
			plain = false
		}
		return plain
	})
	if !plain {
		return "", nil, false
	}
	jsonx.EachMember(candidate, func(name []byte, value jsonx.Raw) bool {
		switch string(name) {
		case "index":
			plain = string(value) == "0"
		case "content":
			content = value
		default:
			plain = false
		}
		return plain
	})
	jsonx.EachMember(content, func(name []byte, value jsonx.Raw) bool {
		switch string(name) {
		case "parts":
			part = jsonx.Sole(value)
		case "role":
		default:
			plain = false
		}
		return plain
	})
	if !plain {
		return "", nil, false
	}
	jsonx.EachMember(part, func(name []byte, value jsonx.Raw) bool {
		plain = string(name) == "text"
		said = value
		return plain
	})
	if !plain || said == nil {
		return "", nil, false
	}
	text, ok = jsonx.Text(said)
	return text, used, ok
}
