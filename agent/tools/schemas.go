package tools

import (
	"embed"
	"reflect"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// schemaFiles has the schema of each tool's input, under the name of its Go type. "go test ./agent/tools -update" writes them.
//
//go:embed schemas/*.json
var schemaFiles embed.FS

// schema returns the schema of an input, or nothing if there is no file for it.
func schema[In any]() jsonx.Raw {
	data, err := schemaFiles.ReadFile("schemas/" + reflect.TypeFor[In]().Name() + ".json")
	if err != nil {
		return nil // it is derived then, and a test reports it
	}
	return data
}
