package config

import (
	"fmt"
	"strings"
	"time"

	"github.com/gajae-code/gjc/internal/configfile"
)

// keyIdle is the setting for the time after which an unused server is ended.
const keyIdle = "idleTimeoutMs"

// minIdle is the minimum time after which an unused server is ended: starting a server for each step is slower than having none.
const minIdle = 10 * time.Second

// schema describes lsp.json. It is never modified.
var schema = &configfile.Schema{
	Section: "servers", Noun: "a server",
	Fields: map[string]configfile.FieldType{
		"command":             configfile.AString,
		"args":                configfile.StringList,
		"fileTypes":           configfile.SomeStrings,
		"rootMarkers":         configfile.SomeStrings,
		"initOptions":         configfile.AnObject,
		"settings":            configfile.AnObject,
		"disabled":            configfile.ABoolean,
		"warmupTimeoutMs":     configfile.ADuration,
		"isLinter":            configfile.ABoolean,
		"sandbox":             configfile.ABoolean,
		"supersedes":          configfile.StringList,
		"extensionToLanguage": configfile.Texts,
	},
	Rejected: map[string]string{
		"resolvedCommand": "%s.resolvedCommand is determined at run time; remove it",
		keyIdle:           keyIdle + " applies to all servers; move it to the top of the file",
		"capabilities":    "capabilities of server %s: gjc uses no features beyond the protocol; remove it",
	},
	Settings: map[string]configfile.Setting{keyIdle: checkIdle},
	Runs:     runs,
}

func checkIdle(value *configfile.Node) (runs, problem string) {
	idle, ok := configfile.Milliseconds(value)
	switch {
	case !ok || idle < 0 || idle > 0 && idle < minIdle:
		return "", fmt.Sprintf("must be a number of milliseconds, at least %d, or 0 for never", minIdle.Milliseconds())
	case idle == 0:
		return "unused servers are never ended", ""
	default:
		return "unused servers are ended after " + idle.String(), ""
	}
}

// runs implements the schema's Runs. Settings can run something because many servers accept commands in them. Fields that can start
// another server count too.
func runs(field string, value *configfile.Node) string {
	switch field {
	case "settings", "initOptions":
		return string(value.JSON())
	case "fileTypes", "rootMarkers":
		return strings.Join(value.Strings(), " ")
	case "sandbox":
		if !value.True() {
			return "false"
		}
		return ""
	default:
		return ""
	}
}
