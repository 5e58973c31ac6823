package config

import (
	"slices"
	"strings"

	"github.com/gajae-code/gjc/dap"
	"github.com/gajae-code/gjc/internal/configfile"
)

// subject is the name of the configuration files without their extension.
const subject = "dap"

// schema describes dap.json. It is never modified.
var schema = &configfile.Schema{
	Section: "adapters", Noun: "an adapter",
	Fields: map[string]configfile.FieldType{
		"command":           configfile.AString,
		"args":              configfile.StringList,
		"alternatives":      configfile.StringList,
		"env":               configfile.Texts,
		"connectMode":       configfile.AString,
		"adapterID":         configfile.AString,
		"kind":              configfile.AString,
		"native":            configfile.ABoolean,
		"languages":         configfile.StringList,
		"fileTypes":         configfile.StringList,
		"rootMarkers":       configfile.StringList,
		"types":             configfile.StringList,
		"launchDefaults":    configfile.AnObject,
		"attachDefaults":    configfile.AnObject,
		"terminalArguments": configfile.AnObject,
		"launchForm":        configfile.AnObject,
		"coreForm":          configfile.AnObject,
		"processForm":       configfile.AnObject,
		"remoteForm":        configfile.AnObject,
		"listenForm":        configfile.AnObject,
		"remoteDial":        configfile.ABoolean,
		"stopOnEntry":       configfile.StringList,
		"startTimeoutMs":    configfile.ADuration,
		"install":           configfile.AString,
		"disabled":          configfile.ABoolean,
	},
	Check: check,
	Runs:  runs,
}

// check implements the function of the schema.
func check(field string, value *configfile.Node) string {
	switch field {
	case "connectMode":
		return oneOf(value.Text, []string{string(dap.ConnectStdio), string(dap.ConnectSocket), string(dap.ConnectDial), string(dap.ConnectListen)})
	case "kind":
		return oneOf(value.Text, kinds())
	default:
		return ""
	}
}

// oneOf returns "" if a text is among the known ones, and otherwise what it must be.
func oneOf(text string, known []string) string {
	if slices.Contains(known, text) {
		return ""
	}
	return "one of " + strings.Join(known, ", ") + ", not " + configfile.Quote(text) + configfile.Suggestion(text, known)
}

// runs implements the function of the schema. Arguments of requests can run something because many adapters take commands in them. Fields
// that can change which adapter is chosen count too.
func runs(field string, value *configfile.Node) string {
	switch field {
	case "languages", "startTimeoutMs", "install":
		return ""
	default:
		return string(value.JSON())
	}
}
