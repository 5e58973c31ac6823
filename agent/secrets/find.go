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

// form is one way in which a secret can stand in a text.
type form struct {
	text  string
	entry int
}

// finder finds secrets in one pass over a text: four bytes at a time, in a table that nearly all of them are not in.
type finder struct {
	forms   []form
	regexps []int // entries
	exprs   []*regexp.Regexp
	table   [1 << 10]uint64 // bits, by hash
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
		// A key of several lines is read with numbers before them.
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

// minLine is how long a line of a secret must be to be one by itself.
const minLine = 16

// escaped are the ways in which a value can stand in JSON, and in JSON that is a string of JSON, where they are others than
// the value.
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

// inJSON are the ways in which writers of JSON put a value between quotes: as it is, without the signs of HTML, with a
// backslash before slashes; and all that in ASCII alone, with hexadecimal digits of both kinds.
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

// inASCII escapes what is not ASCII in the text of a JSON string.
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

// upperHex writes the escapes in the text of a JSON string with capital digits.
func upperHex(text string) string {
	out := []byte(text)
	for i := 0; i+1 < len(out); i++ {
		if out[i] != '\\' {
			continue
		}
		i++ // what is escaped, which may be another backslash
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

// span is a part of a text that must not be seen, and the entry that says so.
type span struct {
	from, to int
	entry    int
	// size is the length of the longest match in it.
	size int
}

// plain calls fn for each place of a form, in the order of their beginnings. It ends when fn returns false.
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

// any reports whether a value of the set is in text. Expressions do not count.
func (f *finder) any(text string) bool {
	found := false
	f.plain(text, func(int, int, int) bool {
		found = true
		return false
	})
	return found
}

// all returns what must not be seen of a text, in order. What overlaps is one.
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

// merged joins spans that overlap. The longest match of a span says what becomes of it, of two the first entry's.
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
