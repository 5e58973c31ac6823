// Command generate writes the generated part of package acp from the JSON Schema in the official SDK. "go generate ./acp" runs it;
// "npm ci" must have been run in testdata/interop first.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// sdkVersion is the version of the npm package that testdata/interop pins.
const sdkVersion = "2.4.0"

const schemaInModule = "testdata/interop/node_modules/@agentclientprotocol/sdk/schema/v1"

func main() {
	schema := flag.String("schema", filepath.Join("..", filepath.FromSlash(schemaInModule)),
		"directory with schema.json and schema.unstable.json")
	out := flag.String("out", ".", "directory of package acp")
	flag.Parse()
	if err := run(*schema, *out); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

func run(schemaDir, outDir string) error {
	files, err := generate(schemaDir)
	if err != nil {
		return err
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(outDir, name), text, 0o644); err != nil { //nolint:gosec // source code
			return err
		}
	}
	return nil
}

// generate returns the generated files by name.
func generate(schemaDir string) (map[string][]byte, error) {
	s, err := loadSchema(schemaDir)
	if err != nil {
		return nil, err
	}
	m, err := newModel(s)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for name, emit := range map[string]func(*model, *emitter){
		"types_gen.go":   emitTypes,
		"unions_gen.go":  emitUnions,
		"enums_gen.go":   emitEnums,
		"methods_gen.go": emitMethods,

		"registry_gen_test.go": emitRegistry,
	} {
		e := &emitter{}
		emit(m, e)
		pkg := "acp"
		if strings.HasSuffix(name, "_test.go") {
			pkg = "acp_test"
		}
		text, err := e.file(s, pkg)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		files[name] = text
	}
	return files, m.unusedComments()
}
