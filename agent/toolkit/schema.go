package toolkit

import (
	"embed"
	"reflect"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// Schema returns the schema of the input In from the files of a package of tools: schemas/NAME.json, where NAME is that of the Go
// type. It returns nil if there is no such file. "go test ./agent/tools -run TestSchemas -update" writes the files.
func Schema[In any](files embed.FS) jsonx.Raw {
	data, err := files.ReadFile("schemas/" + reflect.TypeFor[In]().Name() + ".json")
	if err != nil {
		return nil // the schema is derived then, and a test reports it
	}
	return data
}
