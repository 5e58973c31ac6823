package secrets

import (
	"bytes"
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf16"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// form is one encoding of a secret in a text.
type form struct {
	text  string
	entry int
}

// finder finds secrets in one pass over a text: it looks up four bytes at a time in a table, and nearly all lookups
// fail.
type finder struct {
	forms   []form
	regexps []int // indexes of entries
	exprs   []*regexp.Regexp
	table   [1 << 10]uint64 // a bit set, by hash
	byStart map[uint32][]int32
}

func newFinder(entries []Entry) *finder {
	f := &finder{byStart: make(map[uint32][]int32)}
	seen := make(map[string]bool)
	add := func(text string, entry int) {
		if len(text) < minLength || seen[text] {
			return
		}
		seen[text] = true
		f.forms = append(f.forms, form{text, entry})
		start := fourth(text, 0)
		f.byStart[start] = append(f.byStart[start], int32(len(f.forms)-1))
		h := hash(start)
		f.table[h>>6] |= 1 << (h & 63)
	}
	for i := range entries {
		if entries[i].Regexp == nil {
			add(entries[i].Content, i)
		}
	}
	for i := range entries {
		e := &entries[i]
		if e.Regexp != nil {
			f.regexps, f.exprs = append(f.regexps, i), append(f.exprs, e.Regexp)
			continue
		}
		for _, text := range escaped(e.Content) {
			add(text, i)
		}
		// A multi-line key can be read with line numbers in between.
		if lines := strings.Split(e.Content, "\n"); len(lines) > 1 {
			for _, line := range lines {
				if line = strings.TrimSpace(line); len(line) >= minLine && !strings.HasPrefix(line, "-----") {
					add(line, i)
				}
			}
		}
	}
	return f
}

// minLine is the minimum length at which a single line of a secret is hidden by itself.
const minLine = 16

// escaped returns the encodings of a value in JSON, and in JSON inside a JSON string, that differ from the value.
func escaped(value string) []string {
	once := inJSON(value)
	all := once
	for _, text := range once {
		if text != value {
			all = append(all, inJSON(text)...)
		}
	}
	return all
}

// inJSON returns the encodings of a value that JSON encoders write: unchanged, with HTML characters escaped, with
// slashes escaped, and each of these in ASCII only, with lower-case and upper-case hexadecimal digits.
func inJSON(value string) []string {
	quoted := string(jsonx.AppendString(nil, value))
	plain := quoted[1 : len(quoted)-1]
	html := strings.NewReplacer("<", `\u003c`, ">", `\u003e`, "&", `\u0026`).Replace(plain)
	slashes := strings.ReplaceAll(plain, "/", `\/`)
	all := []string{plain, html, slashes}
	for _, text := range all[:3] {
		text = inASCII(text)
		all = append(all, text, upperHex(text))
	}
	return all
}

// inASCII escapes the characters of a JSON string that are not ASCII.
func inASCII(text string) string {
	if !strings.ContainsFunc(text, func(c rune) bool { return c >= 0x7f }) {
		return text
	}
	var out strings.Builder
	for _, c := range text {
		switch {
		case c < 0x7f:
			out.WriteRune(c)
		case c > 0xffff:
			high, low := utf16.EncodeRune(c)
			fmt.Fprintf(&out, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&out, `\u%04x`, c)
		}
	}
	return out.String()
}

// upperHex converts the hexadecimal digits of escapes in a JSON string to upper case.
func upperHex(text string) string {
	out := []byte(text)
	for i := 0; i+1 < len(out); i++ {
		if out[i] != '\\' {
			continue
		}
		i++ // the escaped character, which may be another backslash
		if out[i] == 'u' && i+5 <= len(out) {
			copy(out[i+1:i+5], bytes.ToUpper(out[i+1:i+5]))
			i += 4
		}
	}
	return string(out)
}

func fourth(s string, i int) uint32 {
	return uint32(s[i]) | uint32(s[i+1])<<8 | uint32(s[i+2])<<16 | uint32(s[i+3])<<24
}

func hash(v uint32) uint32 { return (v * 2654435761) >> 16 }

// span is a part of a text to hide, and its entry.
type span struct {
	from, to int
	entry    int
	// size is the length of the longest match in it.
	size int
}

// plain calls fn for each occurrence of a form, in order of their start, until fn returns false.
func (f *finder) plain(text string, fn func(from, to, entry int) bool) {
	if len(text) < minLength || len(f.forms) == 0 {
		return
	}
	v := fourth(text, 0) << 8
	for i := 0; i+minLength <= len(text); i++ {
		v = v>>8 | uint32(text[i+3])<<24
		if h := hash(v); f.table[h>>6]&(1<<(h&63)) == 0 {
			continue
		}
		for _, k := range f.byStart[v] {
			if form := &f.forms[k]; strings.HasPrefix(text[i:], form.text) && !fn(i, i+len(form.text), form.entry) {
				return
			}
		}
	}
}

// any reports whether text contains a value of the set. It ignores expressions.
func (f *finder) any(text string) bool {
	found := false
	f.plain(text, func(int, int, int) bool {
		found = true
		return false
	})
	return found
}

// all returns the spans of a text to hide, in order. Overlapping ones are merged.
func (f *finder) all(text string) []span {
	var spans []span
	f.plain(text, func(from, to, entry int) bool {
		spans = append(spans, span{from, to, entry, to - from})
		return true
	})
	for k, expr := range f.exprs {
		for _, at := range expr.FindAllStringIndex(text, -1) {
			if at[1] > at[0] {
				spans = append(spans, span{at[0], at[1], f.regexps[k], at[1] - at[0]})
			}
		}
	}
	return merged(spans)
}

// merged merges overlapping spans. The entry of the longest match applies, or the first of several.
func merged(spans []span) []span {
	if len(spans) < 2 {
		return spans
	}
	slices.SortStableFunc(spans, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	out := spans[:1]
	for _, next := range spans[1:] {
		last := &out[len(out)-1]
		if next.from >= last.to {
			out = append(out, next)
			continue
		}
		if next.size > last.size || next.size == last.size && next.entry < last.entry {
			last.size, last.entry = next.size, next.entry
		}
		last.to = max(last.to, next.to)
	}
	return out
}
