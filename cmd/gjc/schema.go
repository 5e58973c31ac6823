package main

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gajae-code/gjc/agent/extensions"
	"github.com/gajae-code/gjc/agent/hooks"
	"github.com/gajae-code/gjc/agent/secrets"
	"github.com/gajae-code/gjc/cmd/gjc/internal/config"
	"github.com/gajae-code/gjc/cmd/gjc/internal/mcpfiles"
	"github.com/gajae-code/gjc/cmd/gjc/internal/plugins"
	dapconfig "github.com/gajae-code/gjc/dap/config"
	"github.com/gajae-code/gjc/internal/configfile"
	"github.com/gajae-code/gjc/internal/jsonx"
	lspconfig "github.com/gajae-code/gjc/lsp/config"
	"github.com/gajae-code/gjc/providers/registry"
)

// schemas returns functions that return the schemas of configuration files, by name.
func schemas() map[string]func() configfile.JSONSchema {
	return map[string]func() configfile.JSONSchema{
		"config": config.JSONSchema, "models": registry.FileSchema, "mcp": mcpfiles.Schema, "hooks": hooks.FileSchema,
		"extension": extensions.FileSchema, "plugin": plugins.ManifestSchema, "plugins": plugins.RequiredSchema, "extension-protocol": extensions.ProtocolSchema,
		"secrets": secrets.FileSchema, "lsp": lspconfig.FileSchema, "dap": dapconfig.FileSchema,
	}
}

// schemaOf returns the whole schema of a configuration file.
func schemaOf(name string) (configfile.JSONSchema, bool) {
	of, ok := schemas()[name]
	if !ok {
		return nil, false
	}
	s := of()
	s["$schema"], s["$id"], s["title"] = configfile.Draft, config.SchemaURL(name), "gjc: "+name
	return s, true
}

// schemaText returns a schema as indented JSON.
func schemaText(s configfile.JSONSchema) []byte {
	text, err := jsonx.Marshal(s)
	if err == nil {
		err = (*jsonx.Raw)(&text).Indent()
	}
	if err != nil {
		panic("a schema is not JSON: " + err.Error())
	}
	return append(text, '\n')
}

func newSchema(h *host) *cobra.Command {
	names := slices.Sorted(maps.Keys(schemas()))
	return &cobra.Command{
		Use:       "schema NAME",
		Short:     "Print the JSON Schema of a configuration file",
		Long:      "schema prints the JSON Schema of a configuration file, for completion and checks in an editor. NAME is one of: " + strings.Join(names, ", ") + ".",
		Example:   "  gjc schema config > config.schema.json",
		Args:      usageArgs(cobra.ExactArgs(1)),
		ValidArgs: names,
		RunE: func(_ *cobra.Command, args []string) error {
			s, ok := schemaOf(strings.TrimSuffix(args[0], filepath.Ext(args[0])))
			if !ok {
				return fmt.Errorf("%w: there is no schema %s%s; the names are %s", errUsage, configfile.Quote(args[0]), configfile.Suggestion(args[0], names), strings.Join(names, ", "))
			}
			_, err := h.stdout.Write(schemaText(s))
			return err
		},
	}
}
