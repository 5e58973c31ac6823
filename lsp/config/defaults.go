package config

import (
	_ "embed"
	"sync"

	"github.com/gajae-code/gjc/internal/configfile"
	"github.com/gajae-code/gjc/internal/jsonx"
)

// defaultsJSON is a configuration file with the default servers.
//
//go:embed defaults.json
var defaultsJSON []byte

// defaults returns the parsed defaultsJSON. It must not be modified.
var defaults = sync.OnceValue(func() *configfile.File {
	f := &configfile.File{Path: "defaults.json", Data: defaultsJSON}
	schema.Parse(f)
	return f
})

// precedes maps a server to another server for the same files that it replaces: in a project with the markers of the first one, the
// second one reports false errors.
var precedes = map[string]string{
	"denols":  "typescript-language-server", // which reports errors for Deno's imports
	"helm-ls": "yamlls",                     // which reports errors for templates
}

// notLSP are the defaults that do not support the protocol, by command and first argument.
var notLSP = map[string]string{
	"swiftlint lint": "it prints reports and does not speak the Language Server Protocol; sourcekit-lsp reports what the compiler finds",
}

// installJSON says how to install the programs of the defaults, by command.
//
//go:embed install.json
var installJSON []byte

// install returns the parsed installJSON. It must not be modified.
var install = sync.OnceValue(func() (commands map[string]string) {
	if err := jsonx.Unmarshal(installJSON, &commands); err != nil {
		panic(err) // unreachable: a test parses it
	}
	return commands
})
