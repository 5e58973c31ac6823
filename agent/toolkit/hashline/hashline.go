// Package hashline edits text by line numbers. Each number has two letters computed from the line's content, so that an edit never
// changes a line that differs from the one that was read.
package hashline

import (
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"strconv"
	"strings"

	"github.com/gajae-code/gjc/internal/lazyregexp"
)

// tags is the number of pairs of letters. It is a prime, so that the pairs are spread evenly.
const tags = 647

// Tag returns the two letters of a line. They do not depend on trailing white space.
func Tag(line string) string {
	n := crc32.ChecksumIEEE([]byte(strings.TrimRight(line, " \t\r"))) % tags
	return string([]byte{'a' + byte(n/26), 'a' + byte(n%26)})
}

// Anchor returns the name of line n, from 1.
func Anchor(n int, line string) string { return strconv.Itoa(n) + Tag(line) }

// An anchor names a line in an operation. line counts from 1; it is zero for [begin] and [end].
type anchor struct {
	line int
	tag  string
}

// The names of the beginning and the end of a file.
const (
	begin = "BOF"
	end   = "EOF"
)

func (a anchor) String() string {
	if a.line == 0 {
		return a.tag
	}
	return strconv.Itoa(a.line) + a.tag
}

// The characters that begin a section and the operations.
const (
	section = "§"
	after   = "»"
	before  = "«"
	replace = "≔"
)

// Op is one operation of a section.
type Op struct {
	kind        string
	first, last anchor
	with        []string
	// number is the operation's position in the input, counting from 1.
	number int
}

// Section holds the operations on one file.
type Section struct {
	Path string
	Ops  []Op
}

// Creates reports whether the operations can create a file: they name only its beginning and end.
func (s *Section) Creates() bool {
	return !slices.ContainsFunc(s.Ops, func(o Op) bool { return o.first.line != 0 || o.last.line != 0 })
}

// ErrSyntax is wrapped by every error for an input that cannot be parsed.
var ErrSyntax = errors.New("the input cannot be read")

func syntaxError(line int, format string, args ...any) error {
	return fmt.Errorf("%w: line %d: %s", ErrSyntax, line, fmt.Sprintf(format, args...))
}

// anchorForm matches an anchor, optionally followed by the text that read shows after it.
var anchorForm = lazyregexp.New(`^(?:([0-9]{1,9})([a-z]{2})|(BOF|EOF))(?:\|.*)?$`)

func parseAnchor(text string) (anchor, bool) {
	m := anchorForm().FindStringSubmatch(strings.TrimSpace(text))
	if m == nil {
		return anchor{}, false
	}
	if m[3] != "" {
		return anchor{tag: m[3]}, true
	}
	n, err := strconv.Atoi(m[1])
	return anchor{n, m[2]}, err == nil && n > 0
}

// Parse parses an input. path is the file for the operations before the first section; it may be empty.
func Parse(input, path string) ([]Section, error) {
	text := strings.TrimSuffix(strings.ReplaceAll(input, "\r\n", "\n"), "\n")
	var sections []Section
	current := 0
	open := func(path string) {
		if current = slices.IndexFunc(sections, func(s Section) bool { return s.Path == path }); current < 0 {
			current = len(sections)
			sections = append(sections, Section{Path: path})
		}
	}
	if path != "" {
		open(path)
	}
	var op *Op
	ops := 0
	for i, line := range strings.Split(text, "\n") {
		switch {
		case strings.HasPrefix(line, section):
			p := strings.TrimSpace(strings.TrimPrefix(line, section))
			if p == "" {
				return nil, syntaxError(i+1, "the path after %s is missing", section)
			}
			open(p)
			op = nil
		case isOp(line):
			if len(sections) == 0 {
				return nil, syntaxError(i+1, "no file given; begin with a line %sPATH", section)
			}
			next, err := parseOp(line, i+1)
			if err != nil {
				return nil, err
			}
			ops++
			next.number = ops
			s := &sections[current]
			s.Ops = append(s.Ops, *next)
			op = &s.Ops[len(s.Ops)-1]
		case op != nil:
			op.with = append(op.with, unescape(line))
		case strings.TrimSpace(line) != "":
			return nil, syntaxError(i+1, "%q is not an operation; an operation begins with %s, %s or %s", short(line), after, before, replace)
		}
	}
	if ops == 0 {
		return nil, syntaxError(1, "no operations; an operation begins with %s, %s or %s", after, before, replace)
	}
	for i := range sections {
		s := &sections[i]
		if len(s.Ops) == 0 && s.Path != path {
			return nil, fmt.Errorf("%w: the section for %s has no operation", ErrSyntax, s.Path)
		}
		for j := range s.Ops {
			o := &s.Ops[j]
			o.with = Bare(o.with)
			if o.kind != replace && len(o.with) == 0 {
				return nil, fmt.Errorf("%w: %s%s inserts nothing", ErrSyntax, o.kind, o.first)
			}
		}
	}
	return withOps(sections), nil
}

func withOps(sections []Section) []Section {
	var all []Section
	for _, s := range sections {
		if len(s.Ops) > 0 {
			all = append(all, s)
		}
	}
	return all
}

func isOp(line string) bool {
	return strings.HasPrefix(line, after) || strings.HasPrefix(line, before) || strings.HasPrefix(line, replace)
}

func unescape(line string) string {
	if rest, ok := strings.CutPrefix(line, `\`); ok && (isOp(rest) || strings.HasPrefix(rest, section) || strings.HasPrefix(rest, `\`) && unescape(rest) != rest) {
		return rest
	}
	return line
}

// Escape returns a line of text in the escaped form for an input.
func Escape(line string) string {
	if isOp(line) || strings.HasPrefix(line, section) || unescape(line) != line {
		return `\` + line
	}
	return line
}

func parseOp(line string, number int) (*Op, error) {
	o := new(Op)
	for _, kind := range []string{after, before, replace} {
		if rest, ok := strings.CutPrefix(line, kind); ok {
			o.kind, line = kind, rest
		}
	}
	var ok bool
	if o.kind == replace {
		from, to, isRange := strings.Cut(line, "..")
		if o.first, ok = parseAnchor(from); ok {
			if o.last = o.first; isRange {
				o.last, ok = parseAnchor(to)
			}
		}
		if ok && (o.first.tag == end && o.last.tag != end || o.last.tag == begin && o.first.tag != begin || o.last.line > 0 && o.last.line < o.first.line) {
			return nil, syntaxError(number, "%s is after %s", o.first, o.last)
		}
	} else {
		o.first, ok = parseAnchor(line)
	}
	if !ok {
		return nil, syntaxError(number, "%q has no anchor; an anchor is a line number with its two letters, such as 12ab, or %s, or %s. A text line that begins with %s needs a \\ before it",
			short(line), begin, end, o.kind)
	}
	return o, nil
}

// pasted matches a line that is shown with its anchor.
var pasted = lazyregexp.New(`^ *[0-9]{1,9}([a-z]{2})\|(.*)$`)

// Bare removes the anchors from lines that were pasted with them. All lines must have one, and at least one anchor must match its
// line.
func Bare(with []string) []string {
	right := false
	out := make([]string, len(with))
	for i, l := range with {
		m := pasted().FindStringSubmatch(l)
		if m == nil {
			return with
		}
		right = right || Tag(m[2]) == m[1]
		out[i] = m[2]
	}
	if !right {
		return with
	}
	return out
}

// BareText is like [Bare], for a whole text. It reports whether the lines had anchors.
func BareText(text string) (bare string, had bool) {
	body, end := text, ""
	if rest, ok := strings.CutSuffix(text, "\n"); ok {
		body, end = rest, "\n"
	}
	bare = strings.Join(Bare(strings.Split(body, "\n")), "\n") + end
	return bare, bare != text
}

func short(line string) string {
	const most = 80
	if r := []rune(line); len(r) > most {
		return string(r[:most]) + "…"
	}
	return line
}
