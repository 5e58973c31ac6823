package main

import (
	_ "embed" // the launcher
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// npmName is the name of the main npm package. Those of the platforms have a suffix.
const npmName = "@gajae-code/gjc"

// launcher is the main package's program. It runs that of the platform's package.
//
//go:embed launcher.js
var launcher []byte

// manifest is the package.json of a package. It has no scripts: nothing runs or downloads at installation.
type manifest struct {
	Name                 string            `json:"name"`
	Version              string            `json:"version"`
	Description          string            `json:"description"`
	License              string            `json:"license"`
	Homepage             string            `json:"homepage"`
	Repository           map[string]string `json:"repository"`
	Bugs                 string            `json:"bugs"`
	OS                   []string          `json:"os,omitempty"`
	CPU                  []string          `json:"cpu,omitempty"`
	PreferUnplugged      bool              `json:"preferUnplugged,omitzero"`
	Bin                  map[string]string `json:"bin,omitempty"`
	Engines              map[string]string `json:"engines,omitempty"`
	OptionalDependencies map[string]string `json:"optionalDependencies,omitempty"`
}

func newManifest(r *release, name, about string) *manifest {
	return &manifest{
		Name: name, Version: r.version, Description: about, License: "MIT", Homepage: repository + "#readme", Bugs: repository + "/issues",
		Repository: map[string]string{"type": "git", "url": "git+" + repository + ".git"},
	}
}

// platform returns the target in the names of Node.js.
func (t target) platform() (system, processor string) {
	system, processor = t.os, t.arch
	if system == "windows" {
		system = "win32"
	}
	if processor == "amd64" {
		processor = "x64"
	}
	return system, processor
}

// writeNPM writes the tarballs of the main package and of one package for each platform, which the main one wants optionally: npm
// installs only that for its machine.
func writeNPM(r *release, dir string) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	main := newManifest(r, npmName, description)
	main.Bin = map[string]string{"gjc": "bin/gjc.js"}
	main.Engines = map[string]string{"node": ">=18"}
	main.OptionalDependencies = make(map[string]string)
	for _, t := range targets {
		system, processor := t.platform()
		main.OptionalDependencies[npmName+"-"+system+"-"+processor] = r.version
	}
	readme := "# gjc\n\n" + description + ". To install it and use it, see " + repository + ".\n"
	if err := r.writePackage(dir, main, readme, file{name: "package/bin/gjc.js", mode: 0o755, data: launcher}); err != nil {
		return err
	}
	for _, t := range r.has() {
		data, err := os.ReadFile(r.programs[t])
		if err != nil {
			return err
		}
		system, processor := t.platform()
		m := newManifest(r, npmName+"-"+system+"-"+processor, fmt.Sprintf("gjc for %s on %s", system, processor))
		m.OS, m.CPU, m.PreferUnplugged = []string{system}, []string{processor}, true
		readme := fmt.Sprintf("# gjc for %s on %s\n\nThis is a part of %s; install that.\n", system, processor, npmName)
		if err := r.writePackage(dir, m, readme, file{name: "package/bin/" + t.program(), mode: 0o755, data: data}); err != nil {
			return err
		}
	}
	return nil
}

// writePackage writes the tarball of one package, called as "npm pack" calls it.
func (r *release) writePackage(dir string, m *manifest, readme string, program file) error {
	text, err := jsonx.Marshal(m)
	if err != nil {
		return err
	}
	pretty := jsonx.Raw(text)
	if err := pretty.Indent(); err != nil {
		return err
	}
	data, err := tarball([]file{
		{name: "package/package.json", mode: 0o644, data: append(pretty, '\n')},
		{name: "package/README.md", mode: 0o644, data: []byte(readme)},
		{name: "package/LICENSE", mode: 0o644, data: r.license},
		program,
	}, r.date)
	if err != nil {
		return err
	}
	if data, err = compressed(data); err != nil {
		return err
	}
	name := strings.ReplaceAll(strings.TrimPrefix(m.Name, "@"), "/", "-") + "-" + m.Version + ".tgz"
	return os.WriteFile(filepath.Join(dir, name), data, 0o644)
}
