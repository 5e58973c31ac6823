package secrets

import (
	"cmp"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// literal is the entry for text that looks like a placeholder but is not one.
const literal = -1

// hide replaces secrets in text by placeholders. own reports whether placeholders in the text are the set's own.
func (s *Set) hide(text string, own bool) string {
	spans := s.find.all(text)
	hashes := strings.IndexByte(text, '#') >= 0
	if len(spans) == 0 && !hashes {
		return text
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if own && hashes {
		spans = s.aroundTokensLocked(text, spans)
	}
	for {
		out, places := s.renderLocked(text, spans, own)
		faults := s.faultsLocked(out, places, own)
		if len(faults) == 0 {
			return out
		}
		// Each fault extends the hidden part. The loop ends at the latest when the whole text is hidden.
		grown := merged(append(slices.Clone(spans), faults...))
		if slices.Equal(grown, spans) {
			return out
		}
		spans = grown
	}
}

// aroundTokensLocked keeps the set's own placeholders intact: an expression may match all or part of one.
func (s *Set) aroundTokensLocked(text string, spans []span) []span {
	var kept []span
	var tokens []int
	for i := nextHash(text, 0); i >= 0; i = nextHash(text, i+1) {
		if !tokenAt(text, i) {
			continue
		}
		if _, ok := s.values[text[i:i+tokenSize]]; ok {
			tokens = append(tokens, i)
			i += tokenSize - 1
		}
	}
	for _, sp := range spans {
		within := false
		first, _ := slices.BinarySearchFunc(tokens, sp.from, func(at, from int) int { return cmp.Compare(at+tokenSize, from+1) })
		for _, at := range tokens[first:] {
			if at >= sp.to {
				break
			}
			if sp.from >= at && sp.to <= at+tokenSize {
				within = true
				break
			}
			if sp.from < at+tokenSize && sp.to > at {
				sp.from, sp.to = min(sp.from, at), max(sp.to, at+tokenSize)
			}
		}
		if !within {
			kept = append(kept, sp)
		}
	}
	return merged(kept)
}

// place is the position of a span of a text in its result.
type place struct {
	span
	at, end int
	token   bool
}

func (s *Set) renderLocked(text string, spans []span, own bool) (string, []place) {
	if len(spans) == 0 {
		return text, nil
	}
	var out strings.Builder
	places := make([]place, 0, len(spans))
	done := 0
	for _, sp := range spans {
		out.WriteString(text[done:sp.from])
		done = sp.to
		value := text[sp.from:sp.to]
		if own {
			value = s.restoreLocked(value)
		}
		p := place{span: sp, at: out.Len()}
		if sp.entry != literal && s.entries[sp.entry].Mode == Replace {
			out.WriteString(s.replacement(value, s.entries[sp.entry].Replacement))
		} else {
			token := s.placeLocked(value, sp.entry)
			p.token = s.values[token] == value
			out.WriteString(token)
		}
		p.end = out.Len()
		places = append(places, p)
	}
	out.WriteString(text[done:])
	return out.String(), places
}

// faultsLocked returns the spans of a text whose result would be misread: a placeholder that is not one of the places, or a secret
// that is formed where a placeholder adjoins other text.
func (s *Set) faultsLocked(out string, places []place, own bool) []span {
	var faults []span
	next := 0
	for i := nextHash(out, 0); i >= 0; i = nextHash(out, i+1) {
		for next < len(places) && places[next].at < i {
			next++
		}
		if !tokenAt(out, i) {
			continue
		}
		token := out[i : i+tokenSize]
		if next < len(places) && places[next].at == i && places[next].token {
			i += tokenSize - 1
			continue
		}
		if _, known := s.values[token]; !known {
			s.literal[token] = true
			continue
		}
		if apart := !touches(places, i, i+tokenSize); own && apart {
			i += tokenSize - 1 // a placeholder from a model
			continue
		}
		faults = append(faults, back(places, i, i+tokenSize, literal))
		i += tokenSize - 1
	}
	if len(places) > 0 {
		s.find.plain(out, func(from, to, entry int) bool {
			faults = append(faults, back(places, from, to, entry))
			return true
		})
	}
	return faults
}

func nextHash(s string, from int) int {
	if from >= len(s) {
		return -1
	}
	if i := strings.IndexByte(s[from:], '#'); i >= 0 {
		return from + i
	}
	return -1
}

func touches(places []place, from, to int) bool {
	return len(overlapping(places, from, to)) > 0
}

// overlapping returns the places, which are in order, that overlap [from, to).
func overlapping(places []place, from, to int) []place {
	first, _ := slices.BinarySearchFunc(places, from, func(p place, from int) int { return cmp.Compare(p.end, from+1) })
	last := first
	for last < len(places) && places[last].at < to {
		last++
	}
	return places[first:last]
}

// back returns the part of the text whose result is [from, to), extended to whole places.
func back(places []place, from, to, entry int) span {
	sp := span{origin(places, from, false), origin(places, to, true), entry, to - from}
	for _, p := range overlapping(places, from, to) {
		if entry == literal || p.size >= sp.size {
			sp.entry, sp.size = p.entry, max(p.size, sp.size) // the place determines the whole
		}
	}
	return sp
}

// origin returns the original position of a position in the result. Within a place it is the start or the end of the
// place.
func origin(places []place, at int, end bool) int {
	next, _ := slices.BinarySearchFunc(places, at, func(p place, at int) int { return cmp.Compare(p.at, at) })
	if next == 0 {
		return at
	}
	switch p := places[next-1]; {
	case at >= p.end:
		return at + p.to - p.end
	case end:
		return p.to
	default:
		return p.from
	}
}

// eachString applies fn to all strings of a JSON value, including names. Unchanged parts keep their bytes. A value that
// is not JSON is returned unchanged.
func eachString(raw jsonx.Raw, fn func(string) string) jsonx.Raw {
	if len(raw) == 0 || !jsonx.Valid(raw) {
		return raw
	}
	var out []byte
	done := 0
	for i := 0; i < len(raw); i++ {
		if raw[i] != '"' {
			continue
		}
		end, plain := i+1, true
		for ; end < len(raw) && raw[end] != '"'; end++ {
			if raw[end] == '\\' {
				plain = false
				end++
			}
		}
		end++
		text := ""
		if plain {
			text = string(raw[i+1 : end-1])
		} else if jsonx.Unmarshal(raw[i:end], &text) != nil {
			i = end - 1
			continue
		}
		if to := fn(text); to != text {
			out = append(out, raw[done:i]...)
			out = jsonx.AppendString(out, to)
			done = end
		}
		i = end - 1
	}
	if done == 0 {
		return raw
	}
	return append(out, raw[done:]...)
}
