package mcp

import (
	"bytes"
	"regexp"
	"strconv"

	"github.com/gajae-code/gjc/internal/frame"
)

// lineEnds is the number of bytes at each end of an oversized line that are searched for its members.
const lineEnds = 512

// ends treats a line like one over the limit.
func ends(line []byte) *frame.TooLongError {
	return &frame.TooLongError{Size: int64(len(line)), Head: line, Tail: line}
}

// Servers write a response's ID right after "jsonrpc", or last.
const (
	idAtHead = `^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d+)\s*,\s*"(?:jsonrpc|result|error)"`
	idAtTail = `"id"\s*:\s*(\d+)\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$`
)

// answeredBy returns the ID of the request that an oversized line answers. Only that request fails; the connection stays open.
func answeredBy(line *frame.TooLongError) (id int64, ok bool) {
	for _, try := range []struct {
		pattern string
		text    []byte
	}{{idAtHead, headOf(line)}, {idAtTail, line.Tail[max(0, len(line.Tail)-lineEnds):]}} {
		// Compiled at use, which is rare.
		if m := regexp.MustCompile(try.pattern).FindSubmatch(try.text); m != nil {
			if id, err := strconv.ParseInt(string(m[1]), 10, 64); err == nil {
				return id, true
			}
		}
	}
	return 0, false
}

func headOf(line *frame.TooLongError) []byte { return line.Head[:min(lineEnds, len(line.Head))] }

// maybeAnswer reports whether a line may be a message that is not a notification.
func maybeAnswer(line *frame.TooLongError) bool {
	head := headOf(line)
	start := bytes.TrimSpace(head)
	return len(start) > 0 && (start[0] == '{' || start[0] == '[') && !bytes.Contains(head, []byte(`"method"`))
}
