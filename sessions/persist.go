package sessions

import (
	"bytes"
	"encoding/base64"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/gajae-code/gjc/internal/jsonx"
)

const (
	// maxString is the maximum length of a text in a session file, in characters. A longer text is truncated and ends
	// with cutNotice.
	maxString = 500_000
	cutNotice = "\n\n[Session persistence truncated large content]"
)

// signatures lists the members that are useless when truncated. If they are too long, they are emptied instead.
var signatures = []string{"thinkingSignature", "thoughtSignature", "textSignature"}

// encode returns an entry as a line without its newline. It truncates long strings and stores images as blobs. If sync is set, the
// blobs survive a power cut.
func (s *Store) encode(e Entry, sync bool) ([]byte, error) {
	enc := &encoder{put: func(data []byte) (string, error) { return s.putBlob(data, sync) }}
	text, err := enc.entry(e)
	if err != nil || len(text) <= maxString {
		return text, err
	}
	return shorten(text, "type", "id", "parentId", "timestamp")
}

// shorten truncates the long strings in a JSON value. In an object that changes, it writes the named members first.
func shorten(v jsonx.Raw, first ...string) (jsonx.Raw, error) {
	if len(v) <= maxString {
		return v, nil
	}
	switch v.Kind() {
	case '"':
		var s string
		if err := jsonx.Unmarshal(v, &s); err != nil {
			return nil, err
		}
		return jsonx.AppendString(nil, cutString(s)), nil
	case '[':
		var list []jsonx.Raw
		if err := jsonx.Unmarshal(v, &list); err != nil {
			return nil, err
		}
		for i := range list {
			var err error
			if list[i], err = shorten(list[i]); err != nil {
				return nil, err
			}
		}
		return jsonx.Marshal(list)
	case '{':
		return shortenObject(v, first)
	default:
		return v, nil
	}
}

func shortenObject(v jsonx.Raw, first []string) (jsonx.Raw, error) {
	var m map[string]jsonx.Raw
	if err := jsonx.Unmarshal(v, &m); err != nil {
		return nil, err
	}
	for name, member := range m {
		if len(member) <= maxString {
			continue
		}
		if slices.Contains(signatures, name) {
			m[name] = jsonx.Raw(`""`)
			continue
		}
		short, err := shorten(member)
		if err != nil {
			return nil, err
		}
		m[name] = short
		var content string
		if name == "content" && m["lineCount"] != nil && short.Kind() == '"' && jsonx.Unmarshal(short, &content) == nil {
			lines, err := jsonx.Marshal(strings.Count(content, "\n") + 1)
			if err != nil {
				return nil, err
			}
			m["lineCount"] = lines
		}
	}
	return orderedObject(m, first...)
}

// cutString truncates a text to maxString characters.
func cutString(s string) string {
	if len(s) <= maxString || utf8.RuneCountInString(s) <= maxString {
		return s
	}
	left := maxString - len(cutNotice)
	for i := range s {
		if left == 0 {
			return s[:i] + cutNotice
		}
		left--
	}
	return s
}

// imageStart occurs in every value with an image.
var imageStart = []byte(`"image"`)

// mapImages applies data to the data of every image block in a value, at any depth.
func mapImages(v jsonx.Raw, data func(jsonx.Raw) (jsonx.Raw, error)) (jsonx.Raw, error) {
	if !bytes.Contains(v, imageStart) {
		return v, nil
	}
	switch v.Kind() {
	case '[':
		var list []jsonx.Raw
		if err := jsonx.Unmarshal(v, &list); err != nil {
			return nil, err
		}
		for i := range list {
			var err error
			if list[i], err = mapImages(list[i], data); err != nil {
				return nil, err
			}
		}
		return jsonx.Marshal(list)
	case '{':
		var m map[string]jsonx.Raw
		if err := jsonx.Unmarshal(v, &m); err != nil {
			return nil, err
		}
		for name := range m {
			var err error
			if name == "data" && string(m["type"]) == `"image"` {
				m[name], err = data(m[name])
			} else {
				m[name], err = mapImages(m[name], data)
			}
			if err != nil {
				return nil, err
			}
		}
		return orderedObject(m, "type")
	default:
		return v, nil
	}
}

// outOfDetails replaces the images in a tool result's details with references to blobs, which it stores.
func (enc *encoder) outOfDetails(details jsonx.Raw) (jsonx.Raw, error) {
	if len(details) < blobThreshold {
		return details, nil
	}
	return mapImages(details, func(v jsonx.Raw) (jsonx.Raw, error) {
		var text string
		if len(v) < blobThreshold || jsonx.Unmarshal(v, &text) != nil {
			return v, nil
		}
		data, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return v, nil
		}
		ref, err := enc.put(data)
		return jsonx.AppendString(nil, ref), err
	})
}

// refStart occurs in every value with a reference to a blob.
var refStart = []byte(`"` + blobPrefix)

// intoDetails restores the images in a tool result's details. If a blob is missing, its reference stays.
func (d *decoder) intoDetails(details jsonx.Raw) jsonx.Raw {
	if !bytes.Contains(details, refStart) {
		return details
	}
	whole, err := mapImages(details, func(v jsonx.Raw) (jsonx.Raw, error) {
		var ref string
		if !bytes.HasPrefix(v, refStart) || jsonx.Unmarshal(v, &ref) != nil {
			return v, nil
		}
		data, err := d.blob(ref)
		if err != nil {
			d.notice("an image is lost: %v", err)
			return v, nil
		}
		return jsonx.AppendString(nil, base64.StdEncoding.EncodeToString(data)), nil
	})
	if err != nil {
		return details
	}
	return whole
}
