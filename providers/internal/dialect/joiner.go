package dialect

import (
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
)

// A joiner joins surrogate pairs that a server has split between two events, as [jsonx.JoinSurrogates] does. The zero joiner is
// ready for use. It serves one answer.
type joiner struct {
	// half is the high surrogate at the end of the text or thinking so far; zero for none. thinking reports which of the two it
	// ends.
	half     rune
	thinking bool
	// calls holds the pending surrogates of the inputs of calls, by id.
	calls map[string]rune
}

// next returns ev with whole characters as now, or nil if all of it is held for the next event. before is an event to send first,
// or nil: the end of a text whose other half has not arrived.
func (j *joiner) next(ev providers.Event) (before, now providers.Event) {
	switch d := ev.(type) {
	case providers.TextDelta:
		before, text := j.text(d.Text, false)
		switch text {
		case d.Text:
			return before, ev
		case "":
			return before, nil
		}
		return before, providers.TextDelta{Text: text}
	case providers.ThinkingDelta:
		before, text := j.text(d.Text, true)
		switch text {
		case d.Text:
			return before, ev
		case "":
			return before, nil
		}
		return before, providers.ThinkingDelta{Text: text}
	case providers.ToolCallDelta:
		text, half := jsonx.JoinSurrogates(d.Input, j.calls[d.ID])
		if text == d.Input && half == j.calls[d.ID] {
			return nil, ev
		}
		if j.calls == nil {
			j.calls = make(map[string]rune)
		}
		if j.calls[d.ID] = half; text == "" {
			return nil, nil
		}
		return nil, providers.ToolCallDelta{ID: d.ID, Input: text}
	case providers.ToolCallStart:
		return j.flush(), ev
	default:
		return nil, ev
	}
}

// text joins s to the text or thinking so far. It also returns an event that ends the other kind, if that ended in half a
// character.
func (j *joiner) text(s string, thinking bool) (ended providers.Event, text string) {
	if thinking != j.thinking {
		ended = j.flush()
	}
	j.thinking = thinking
	text, j.half = jsonx.JoinSurrogates(s, j.half)
	return ended, text
}

// flush returns the event that ends the text or thinking so far; nil if it is complete.
func (j *joiner) flush() providers.Event {
	if j.half == 0 {
		return nil
	}
	j.half = 0
	if j.thinking {
		return providers.ThinkingDelta{Text: string(utf8.RuneError)}
	}
	return providers.TextDelta{Text: string(utf8.RuneError)}
}

// rest returns the events that end incomplete characters at the end of the answer.
func (j *joiner) rest() []providers.Event {
	var rest []providers.Event
	if ev := j.flush(); ev != nil {
		rest = append(rest, ev)
	}
	for _, id := range slices.Sorted(maps.Keys(j.calls)) {
		if j.calls[id] != 0 {
			rest = append(rest, providers.ToolCallDelta{ID: id, Input: string(utf8.RuneError)})
		}
	}
	j.calls = nil
	return rest
}
