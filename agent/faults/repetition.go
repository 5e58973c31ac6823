// Package faults finds what does not belong in a model's answer, and removes it: endless repetition, and parts of the provider's protocol.
package faults

import "github.com/gajae-code/gjc/providers"

// Limits from which a model's output counts as an endless repetition: the same block again and again, with nothing in
// between. Tables, lists and code are never that regular. A file of zeros can be, so the limit for calls is higher.
const (
	// maxPeriod is the maximum length of a block, in bytes.
	maxPeriod = 2000
	// mostRepeated and mostRepeatedInput are the maximum lengths of repetitions in a text and in a call's input, in
	// bytes. They are many times maxPeriod.
	mostRepeated      = 16 << 10
	mostRepeatedInput = 128 << 10
)

// Repetitions finds repetitions in the stream of one answer. The zero value is ready to use.
type Repetitions struct {
	text, thinking, input streamTail
	call                  string
}

// Add processes an event. It returns the length of the repeated block in bytes; zero for none.
func (w *Repetitions) Add(ev providers.Event) int {
	switch ev := ev.(type) {
	case providers.TextDelta:
		return w.text.add(ev.Text, mostRepeated)
	case providers.ThinkingDelta:
		return w.thinking.add(ev.Text, mostRepeated)
	case providers.ToolCallDelta:
		if ev.ID != w.call {
			w.call, w.input = ev.ID, streamTail{}
		}
		return w.input.add(ev.Input, mostRepeatedInput)
	default:
		return 0
	}
}

// streamTail is the end of a stream.
type streamTail struct {
	bytes []byte
	// fresh counts the bytes since the last check.
	fresh   int
	borders []int32
}

// add appends to the stream. It checks the last window bytes whenever a quarter of them is new, so it inspects each
// byte four times.
func (t *streamTail) add(s string, window int) int {
	for len(s) > 0 {
		n := min(len(s), window/4-t.fresh)
		if len(t.bytes)+n > 2*window {
			t.bytes = append(t.bytes[:0], t.bytes[len(t.bytes)-window:]...)
		}
		t.bytes = append(t.bytes, s[:n]...)
		t.fresh += n
		s = s[n:]
		if t.fresh < window/4 {
			return 0
		}
		t.fresh = 0
		if len(t.bytes) < window {
			continue
		}
		if t.borders == nil {
			t.borders = make([]int32, window)
		}
		if p := period(t.bytes[len(t.bytes)-window:], t.borders); p <= maxPeriod {
			return p
		}
	}
	return 0
}

// period returns the length of the shortest block whose repetitions make up b; the last one may be incomplete.
func period(b []byte, borders []int32) int {
	// borders[i] is the length of the longest proper prefix of b[:i+1] that is its suffix too.
	borders[0] = 0
	for i := 1; i < len(b); i++ {
		k := borders[i-1]
		for k > 0 && b[i] != b[k] {
			k = borders[k-1]
		}
		if b[i] == b[k] {
			k++
		}
		borders[i] = k
	}
	return len(b) - int(borders[len(b)-1])
}

// CutRepetition removes the repetitions of a block of n bytes from the end of an answer, except for one block. It leaves a tool call
// unchanged, because an incomplete call is not kept.
func CutRepetition(msg *providers.Message, n int) {
	if len(msg.Parts) == 0 {
		return
	}
	end := len(msg.Parts) - 1
	switch last := msg.Parts[end].(type) {
	case providers.Text:
		last.Text = unrepeated(last.Text, n)
		msg.Parts[end] = last
	case providers.Thinking:
		last.Text = unrepeated(last.Text, n)
		msg.Parts[end] = last
	default:
	}
}

// unrepeated returns a text without the repetitions of a block of p bytes at its end.
func unrepeated(s string, p int) string {
	from := len(s) - p
	for from > 0 && s[from-1] == s[from-1+p] {
		from--
	}
	if from < 0 {
		return s
	}
	return cleanCut(s, from+p) + "…"
}

// cleanCut cuts s at a byte position, or before the character that the position would split.
func cleanCut(s string, at int) string {
	for back := 0; back < 3 && at-back > 0 && at < len(s) && s[at-back]&0xC0 == 0x80; back++ {
		if s[at-back-1]&0xC0 != 0x80 {
			return s[:at-back-1]
		}
	}
	return s[:at]
}
