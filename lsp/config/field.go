package config

import (
	"maps"
	"slices"

	"github.com/gajae-code/gjc/internal/configfile"
)

// fieldTypes are the fields of a server. It is never modified.
var fieldTypes = map[string]configfile.FieldType{
	"command":             configfile.AString,
	"args":                configfile.StringList,
	"fileTypes":           configfile.SomeStrings,
	"rootMarkers":         configfile.SomeStrings,
	"initOptions":         configfile.AnObject,
	"settings":            configfile.AnObject,
	"disabled":            configfile.ABoolean,
	"warmupTimeoutMs":     configfile.ADuration,
	"isLinter":            configfile.ABoolean,
	"supersedes":          configfile.StringList,
	"extensionToLanguage": configfile.Texts,
}

func fieldNames() []string { return slices.Sorted(maps.Keys(fieldTypes)) }
