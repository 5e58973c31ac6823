// Package dialect converts the neutral parts of requests to what the providers require: ids, tool inputs and schemas that one
// API accepts and another one rejects.
package dialect

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"slices"
	"strconv"
	"strings"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
)

// ImageOmitted replaces an image for a model that does not accept images.
const ImageOmitted = "[an image was here; this model takes no images]"

// The texts of empty tool results, which some APIs reject.
const (
	FailedSilently = "The tool failed without saying why."
	NoOutput       = "(no output)"
	ImageFollows   = "The result is an image; it follows."
)

// SizeOf estimates the size of a conversation in the body of a request, in bytes.
func SizeOf(messages []providers.Message) int {
	n := 512
	for i := range messages {
		n += 128
		for _, part := range messages[i].Parts {
			n += 128
			switch part := part.(type) {
			case providers.Text:
				n += len(part.Text) + len(part.Text)/16
			case providers.Thinking:
				n += len(part.Text) + len(part.Signature)
			case providers.ToolCall:
				n += len(part.Input) + len(part.Input)/4
			case providers.Image:
				n += base64.StdEncoding.EncodedLen(len(part.Data))
			}
		}
	}
	return n
}

// ToolInput returns the input of a call as an object, which APIs require. It replaces invalid input, of an answer that broke
// off, by an empty object; the result that follows contains the error.
func ToolInput(raw jsonx.Raw) jsonx.Raw {
	if !jsonx.Valid(raw) || raw.Kind() != '{' {
		return jsonx.Raw("{}")
	}
	return bytes.ToValidUTF8(raw, []byte("\uFFFD"))
}

// ToolID converts an id of any API to at most most letters, digits, "_" and "-". Different ids stay different.
func ToolID(id string, most int) string {
	ok := id != "" && len(id) <= most
	clean := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		}
		ok = false
		return '_'
	}, id)
	if ok {
		return id
	}
	tail := alphanumeric(id, min(10, most))
	if keep := most - len(tail) - 1; keep > 0 {
		return clean[:min(len(clean), keep)] + "_" + tail
	}
	return tail
}

// OptionalToolID is [ToolID] with at most 64 characters, for APIs whose calls may have no id.
func OptionalToolID(id string) string {
	if id == "" {
		return ""
	}
	return ToolID(id, 64)
}

// maxToolName is the longest name of a tool that all APIs accept.
const maxToolName = 128

// ToolName converts the name of a called tool to letters, digits, "_" and "-", which all APIs accept. APIs reject a whole
// conversation for a name that a model made up.
func ToolName(name string) string {
	if name == "" {
		return "unnamed"
	}
	clean := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, name)
	return clean[:min(len(clean), maxToolName)]
}

// MistralToolID returns an id of nine letters and digits: id itself if it has that form.
func MistralToolID(id string) string {
	const length = 9
	ok := len(id) == length
	for _, c := range []byte(id) {
		ok = ok && (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9')
	}
	if ok {
		return id
	}
	return alphanumeric(id, length)
}

// alphanumeric returns n letters and digits derived from s.
func alphanumeric(s string, n int) string {
	const letters = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	sum := sha256.Sum256([]byte(s))
	out := make([]byte, n)
	for i := range out {
		out[i] = letters[int(sum[i])%len(letters)]
	}
	return string(out)
}

// uniqueID returns the server's id, or a new one if the server sent none or one that the session already has: some servers count
// from zero in every answer. response is the id of the response, and others the number of its calls so far.
func uniqueID(req *providers.Request, given, response string, others []string) string {
	taken := func(id string) bool {
		if slices.Contains(others, id) || req.HasCall != nil && req.HasCall(id) {
			return true
		}
		for i := range req.Messages {
			for _, p := range req.Messages[i].Parts {
				if old, ok := p.(providers.ToolCall); ok && old.ID == id {
					return true
				}
			}
		}
		return false
	}
	id := given
	if id != "" && !taken(id) {
		return id
	}
	if id == "" {
		id = "call"
		if response != "" {
			id += "_" + response
		}
	}
	for n := len(req.Messages); ; n++ {
		if try := id + "_" + strconv.Itoa(n) + "_" + strconv.Itoa(len(others)); !taken(try) {
			return try
		}
	}
}

// Own reports whether the model of info wrote msg over the same API. Only then does the API accept its signatures; the API of a
// provider may change between two turns.
func Own(info *providers.ModelInfo, msg *providers.Message) bool {
	sameAPI := msg.API == info.API || msg.API == "" || info.API == ""
	return msg.Provider == info.Provider && msg.Model == info.ID && sameAPI
}
