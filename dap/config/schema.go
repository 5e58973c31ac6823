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

// check is the Check function of the schema.
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

// oneOf returns "" if text is one of the known values. Otherwise it returns what the value must be.
func oneOf(text string, known []string) string {
	if slices.Contains(known, text) {
		return ""
	}
	return "one of " + strings.Join(known, ", ") + ", not " + configfile.Quote(text) + configfile.Suggestion(text, known)
}

// runs is the Runs function of the schema. Arguments of requests count as able to run something, because many adapters accept
// commands in them. So do fields that can change which adapter is chosen.
func runs(field string, value *configfile.Node) string {
	switch field {
	case "languages", "startTimeoutMs", "install":
		return ""
	default:
		return string(value.JSON())
	}
}
