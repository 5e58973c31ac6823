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
	Fields: map[string]configfile.Field{
		"command":             {Type: configfile.AString, About: "the program: a name, or an absolute path"},
		"args":                {Type: configfile.StringList, About: "its arguments; $PID is gjc's process ID"},
		"fileTypes":           {Type: configfile.SomeStrings, About: "extensions, or names of files; a new server needs them"},
		"rootMarkers":         {Type: configfile.SomeStrings, About: "names or patterns of files that mark a project; a new server needs them"},
		"initOptions":         {Type: configfile.AnObject, About: "initializationOptions of the initialize request"},
		"settings":            {Type: configfile.AnObject, About: "the server's configuration"},
		"disabled":            {Type: configfile.ABoolean, About: "do not use the server"},
		"warmupTimeoutMs":     {Type: configfile.ADuration, About: "milliseconds to start"},
		"isLinter":            {Type: configfile.ABoolean, About: "the server only reports problems and formats"},
		"sandbox":             {Type: configfile.ABoolean, About: "false: run outside the boundary, which only some built-in servers may"},
		"supersedes":          {Type: configfile.StringList, About: "servers that are not used together with this one"},
		"extensionToLanguage": {Type: configfile.Texts, About: "language IDs by extension, where the default is wrong"},
	},
	Rejected: map[string]string{
		"resolvedCommand": "%s.resolvedCommand is determined at run time; remove it",
		keyIdle:           keyIdle + " applies to all servers; move it to the top of the file",
		"capabilities":    "capabilities of server %s: gjc uses no features beyond the protocol; remove it",
	},
	Settings: map[string]configfile.Setting{keyIdle: {Check: checkIdle, Schema: configfile.OfNumbers(false, 0, 366*24*3600*1000).
		About("milliseconds after which unused servers are ended, at least 10000; 0: never")}},
	Runs: runs,
}

// FileSchema returns the schema of lsp.json.
func FileSchema() configfile.JSONSchema { return schema.JSONSchema() }

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
