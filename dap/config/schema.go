package config

import (
	"github.com/gajae-code/gjc/dap"
	"github.com/gajae-code/gjc/internal/configfile"
)

// subject is the name of the configuration files without their extension.
const subject = "dap"

// schema describes dap.json. It is never modified.
var schema = &configfile.Schema{
	Section: "adapters", Noun: "an adapter",
	Fields: map[string]configfile.Field{
		"command":           {Type: configfile.AString, About: "the program: a name, or an absolute path"},
		"args":              {Type: configfile.StringList, About: "its arguments; ${port} and ${socket} are replaced"},
		"alternatives":      {Type: configfile.StringList, About: "other names of the program"},
		"env":               {Type: configfile.Texts, About: "variables of the program's environment"},
		"connectMode":       {Type: configfile.AString, About: "stdio; dial: the adapter listens on ${port} or ${socket}; listen: it dials ${port}; socket: as dlv does", Values: []string{string(dap.ConnectStdio), string(dap.ConnectSocket), string(dap.ConnectDial), string(dap.ConnectListen)}},
		"adapterID":         {Type: configfile.AString, About: "adapterID of the initialize request"},
		"kind":              {Type: configfile.AString, About: "the adapter whose peculiarities this one has", Values: kinds()},
		"native":            {Type: configfile.ABoolean, About: "it debugs programs in machine code"},
		"languages":         {Type: configfile.StringList, About: "the languages that it debugs"},
		"fileTypes":         {Type: configfile.StringList, About: "the extensions that it debugs"},
		"rootMarkers":       {Type: configfile.StringList, About: "names or patterns of files that mark a project"},
		"types":             {Type: configfile.StringList, About: "values of type in launch.json that select it"},
		"launchDefaults":    {Type: configfile.AnObject, About: "default arguments of launch"},
		"attachDefaults":    {Type: configfile.AnObject, About: "default arguments of attach"},
		"terminalArguments": {Type: configfile.AnObject, About: "more arguments of launch if the program runs in the editor's terminal"},
		"launchForm":        {Type: configfile.AnObject, About: "arguments to launch a program, with ${program}, ${args}, ${argsText}, ${dir}, ${env}, ${envList} and ${envPairs}"},
		"coreForm":          {Type: configfile.AnObject, About: "arguments for a core file, with ${core} and those of launchForm"},
		"processForm":       {Type: configfile.AnObject, About: "arguments to attach to a process, with ${pid}, ${pidText} and ${program}"},
		"remoteForm":        {Type: configfile.AnObject, About: "arguments to attach to a port, with ${host} and ${port}"},
		"listenForm":        {Type: configfile.AnObject, About: "arguments for a program that connects to the adapter, with ${host} and ${port}"},
		"remoteDial":        {Type: configfile.ABoolean, About: "remote: the adapter listens, and gjc connects to it"},
		"stopOnEntry":       {Type: configfile.StringList, About: "arguments that make the program stop at its entry"},
		"startTimeoutMs":    {Type: configfile.ADuration, About: "milliseconds to start"},
		"install":           {Type: configfile.AString, About: "how to install the adapter"},
		"disabled":          {Type: configfile.ABoolean, About: "do not use the adapter"},
	},
	Runs: runs,
}

// FileSchema returns the schema of dap.json.
func FileSchema() configfile.JSONSchema { return schema.JSONSchema() }

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
