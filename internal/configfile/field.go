package configfile

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/gajae-code/gjc/internal/text"
	"github.com/gajae-code/gjc/internal/trust"
)

// FieldType is the type of a field's value. Its text completes "must be".
type FieldType string

// The types of fields.
const (
	AString     FieldType = "a string that is not empty"
	ABoolean    FieldType = "true or false"
	ADuration   FieldType = "a number of milliseconds above 0"
	StringList  FieldType = "a list of strings"
	SomeStrings FieldType = "a list of at least one string, none of them empty"
	AnObject    FieldType = "a mapping"
	Booleans    FieldType = "a mapping of names to true or false"
	Texts       FieldType = "a mapping of names to strings"
)

// Check returns "" if a value has the type, and otherwise what it must be.
func (t FieldType) Check(n *Node) string {
	ok := false
	each := func(k Kind) bool {
		return !slices.ContainsFunc(n.List, func(v *Node) bool { return v.Kind != k }) &&
			!slices.ContainsFunc(n.Members, func(m Member) bool { return m.Value.Kind != k })
	}
	switch t {
	case AString:
		ok = n.Kind == Text && n.Text != ""
	case ABoolean:
		ok = n.Kind == Boolean
	case ADuration:
		d, is := Milliseconds(n)
		ok = is && d > 0
	case StringList:
		ok = n.Kind == List && each(Text)
	case SomeStrings:
		ok = n.Kind == List && each(Text) && len(n.List) > 0 && !slices.Contains(n.Strings(), "")
	case AnObject:
		ok = n.Kind == Object
	case Booleans:
		ok = n.Kind == Object && each(Boolean)
	case Texts:
		ok = n.Kind == Object && each(Text)
	}
	if ok {
		return ""
	}
	if n.Kind == List || n.Kind == Object {
		return string(t) // the kind may be right and an element wrong
	}
	return string(t) + ", not " + n.Kind.String()
}

// Milliseconds parses a number of milliseconds, at most a year.
func Milliseconds(n *Node) (time.Duration, bool) {
	if n.Kind != Number {
		return 0, false
	}
	ms, err := strconv.ParseFloat(n.Text, 64)
	if err != nil || ms > 366*24*3600*1000 || ms < -1 {
		return 0, false
	}
	return time.Duration(ms * float64(time.Millisecond)), true
}

// Quote quotes s with the escapes of [trust.Printable].
func Quote(s string) string { return `"` + trust.Printable(s) + `"` }

// Suggestion returns a suggestion for the end of a message about an unknown name, or "".
func Suggestion(name string, known []string) string {
	if k := text.Near(name, known); k != "" {
		return fmt.Sprintf("; did you mean %q?", k)
	}
	return ""
}

// Shorten returns the first items of a list, and the number of the others.
func Shorten(list []string, most int) []string {
	if len(list) <= most {
		return list
	}
	return append(slices.Clone(list[:most]), fmt.Sprintf("and %d more", len(list)-most))
}
