package rules

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/lazyregexp"
)

const (
	// window is the number of bytes of output that a pattern is matched against. A match of up to half of that is found
	// wherever it starts.
	window = 4 << 10
	// maxPath is the number of leading bytes of a call's arguments that are searched for its path.
	maxPath = 64 << 10
)

// Match is a rule that matched.
type Match struct {
	*Rule
	From Source
	// Call is the ID of the call, for [Tool].
	Call string
}

// Watch matches one answer as it arrives. The division of the answer into pieces does not matter: a match at the end of
// the text counts only when more has arrived, or at the end of the answer.
type Watch struct {
	rules []*Rule
	done  map[string]bool
	text  stream
	think stream
	calls []*callStream
}

// stream is the received text of one source.
type stream struct{ b []byte }

// callStream is the received arguments of one call.
type callStream struct {
	stream
	id, tool string
	json     jsonText
	// raw is the start of the arguments, kept until the call's file is known.
	raw  strings.Builder
	file string
}

// NewWatch returns a watch for the rules that have a trigger and for which eligible returns true. It returns nil if there are none.
func NewWatch(b *Book, eligible func(*Rule) bool) *Watch {
	w := &Watch{done: make(map[string]bool)}
	for _, r := range b.All() {
		if r.Trigger != nil && eligible(r) {
			w.rules = append(w.rules, r)
		}
	}
	if len(w.rules) == 0 {
		return nil
	}
	return w
}

// Prose adds a piece of text or thinking and returns the rules that match.
func (w *Watch) Prose(from Source, piece string) []Match {
	if w == nil || piece == "" {
		return nil
	}
	s := &w.text
	if from == Thinking {
		s = &w.think
	}
	return w.add(s, from, piece, nil)
}

// Begin starts a call.
func (w *Watch) Begin(id, tool string) {
	if w != nil {
		w.calls = append(w.calls, &callStream{id: id, tool: tool})
	}
}

// Input adds a piece of a call's arguments and returns the rules that match.
func (w *Watch) Input(id, piece string) []Match {
	if w == nil {
		return nil
	}
	for _, c := range w.calls {
		if c.id != id {
			continue
		}
		if c.file == "" && c.raw.Len() < maxPath {
			c.raw.WriteString(piece)
			c.file = pathIn(c.raw.String())
		}
		return w.add(&c.stream, Tool, c.json.add(piece), c)
	}
	return nil
}

// End returns the rules that match at the end of the answer.
func (w *Watch) End() []Match {
	if w == nil {
		return nil
	}
	found := w.find(&w.text, Text, nil, true)
	found = append(found, w.find(&w.think, Thinking, nil, true)...)
	for _, c := range w.calls {
		found = append(found, w.find(&c.stream, Tool, c, true)...)
	}
	return found
}

// add splits a long piece so that each part fits in the window.
func (w *Watch) add(s *stream, from Source, piece string, c *callStream) []Match {
	var found []Match
	for {
		n := min(len(piece), window/2)
		s.b = append(s.b, piece[:n]...)
		piece = piece[n:]
		found = append(found, w.find(s, from, c, false)...)
		if len(s.b) > window {
			s.b = append(s.b[:0], s.b[start(s.b, len(s.b)-window/2):]...)
		}
		if piece == "" {
			return found
		}
	}
}

// start returns a position near at where the text can be cut: after the end of a line if one is close, and at a
// character boundary.
func start(b []byte, at int) int {
	for i := at; i > 0 && i > at-window/4; i-- {
		if b[i-1] == '\n' {
			return i
		}
	}
	for at < len(b) && !utf8.RuneStart(b[at]) {
		at++
	}
	return at
}

// find matches the rules; call is nil for prose.
func (w *Watch) find(s *stream, from Source, call *callStream, ended bool) []Match {
	var found []Match
	id, tool, file := "", "", ""
	if call != nil {
		id, tool, file = call.id, call.tool, call.file
	}
	for _, r := range w.rules {
		if w.done[r.Name] || !r.Trigger.covers(from, tool, file) {
			continue
		}
		for _, re := range r.Trigger.Conditions {
			at := re.FindIndex(s.b)
			// A match at the end of the text may change with the next piece.
			if at == nil || !ended && at[1] == len(s.b) || len(s.b) == 0 {
				continue
			}
			w.done[r.Name] = true
			found = append(found, Match{Rule: r, From: from, Call: id})
			break
		}
	}
	return found
}

var inputPath = lazyregexp.New(`"(?:path|file_path|filePath)"\s*:\s*("(?:[^"\\]|\\.)*")`)

// pathIn returns the file in a call's arguments, or "" if none has arrived yet.
func pathIn(input string) string {
	m := inputPath().FindStringSubmatch(input)
	if m == nil {
		return ""
	}
	var s string
	if jsonx.Unmarshal([]byte(m[1]), &s) != nil {
		return ""
	}
	return s
}

// jsonText decodes the escapes of JSON piecewise, because patterns apply to the decoded strings.
type jsonText struct{ held string }

func (j *jsonText) add(piece string) string {
	s := j.held + piece
	j.held = ""
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			b.WriteByte(s[i])
			continue
		}
		if i+1 == len(s) || s[i+1] == 'u' && i+6 > len(s) {
			j.held = s[i:]
			break
		}
		i++
		switch s[i] {
		case 'n':
			b.WriteByte('\n')
		case 't':
			b.WriteByte('\t')
		case 'r':
			b.WriteByte('\r')
		case 'u':
			if n, err := strconv.ParseUint(s[i+1:i+5], 16, 32); err == nil {
				b.WriteRune(rune(n))
			}
			i += 4
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String()
}
