package config

import (
	"maps"
	"slices"
)

// fieldType is what a field's value must be. It is told as the end of "… must be".
type fieldType string

const (
	aString     fieldType = "a string that is not empty"
	aBoolean    fieldType = "true or false"
	aDuration   fieldType = "a number of milliseconds above 0"
	stringList  fieldType = "a list of strings"
	someStrings fieldType = "a list of at least one string, none of them empty"
	anObject    fieldType = "a mapping"
	booleans    fieldType = "a mapping of names to true or false"
	texts       fieldType = "a mapping of names to strings"
)

// fieldTypes are the fields of a server. It is never changed.
var fieldTypes = map[string]fieldType{
	"command":             aString,
	"args":                stringList,
	"fileTypes":           someStrings,
	"rootMarkers":         someStrings,
	"initOptions":         anObject,
	"settings":            anObject,
	"disabled":            aBoolean,
	"warmupTimeoutMs":     aDuration,
	"isLinter":            aBoolean,
	"capabilities":        booleans,
	"supersedes":          stringList,
	"extensionToLanguage": texts,
}

func fieldNames() []string { return slices.Sorted(maps.Keys(fieldTypes)) }

// capabilities are the features beyond the protocol that gjc knows.
func capabilities() []string {
	return []string{"expandMacro", "flycheck", "relatedTests", "runnables", "ssr"}
}

// check returns "" for a value of the type, and otherwise what it must be.
func (t fieldType) check(n *node) string {
	ok := false
	each := func(k kind) bool {
		return !slices.ContainsFunc(n.list, func(v *node) bool { return v.kind != k }) &&
			!slices.ContainsFunc(n.members, func(m member) bool { return m.value.kind != k })
	}
	switch t {
	case aString:
		ok = n.kind == text && n.text != ""
	case aBoolean:
		ok = n.kind == boolean
	case aDuration:
		d, is := milliseconds(n)
		ok = is && d > 0
	case stringList:
		ok = n.kind == list && each(text)
	case someStrings:
		ok = n.kind == list && each(text) && len(n.list) > 0 && !slices.Contains(n.strings(), "")
	case anObject:
		ok = n.kind == object
	case booleans:
		ok = n.kind == object && each(boolean)
	case texts:
		ok = n.kind == object && each(text)
	}
	if ok {
		return ""
	}
	if n.kind == list || n.kind == object {
		return string(t) // the kind may well be right, and something in it wrong
	}
	return string(t) + ", not " + n.kind.String()
}
