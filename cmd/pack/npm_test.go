package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// packageJSON has the members of a package.json that npm acts on.
type packageJSON struct {
	Name, Version        string
	Scripts              map[string]string
	OS, CPU              []string
	Bin                  map[string]string
	Dependencies         map[string]string
	OptionalDependencies map[string]string
}

func readPackage(t *testing.T, path string) (packageJSON, map[string]entry) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	files := untar(t, data)
	var p packageJSON
	if err := json.Unmarshal([]byte(files["package/package.json"].Data), &p); err != nil {
		t.Fatal(err)
	}
	return p, files
}

// The main package wants one package for each platform, of its own version, and npm chooses by system and processor. No package runs a
// script or downloads anything at installation.
func TestNPM(t *testing.T) {
	t.Parallel()
	r, dir := fakeRelease(t, targets...), t.TempDir()
	if err := writeNPM(r, dir); err != nil {
		t.Fatal(err)
	}
	main, files := readPackage(t, filepath.Join(dir, "gajae-code-gjc-1.2.3.tgz"))
	diff(t, "main package", main, packageJSON{
		Name: "@gajae-code/gjc", Version: "1.2.3", Bin: map[string]string{"gjc": "bin/gjc.js"},
		OptionalDependencies: map[string]string{
			"@gajae-code/gjc-darwin-x64": "1.2.3", "@gajae-code/gjc-darwin-arm64": "1.2.3",
			"@gajae-code/gjc-linux-x64": "1.2.3", "@gajae-code/gjc-linux-arm64": "1.2.3",
			"@gajae-code/gjc-win32-x64": "1.2.3", "@gajae-code/gjc-win32-arm64": "1.2.3",
		},
	})
	if e := files["package/bin/gjc.js"]; e.Mode != 0o755 || e.Data != string(launcher) || files["package/LICENSE"].Data == "" {
		t.Errorf("files of the main package: mode %o, %d bytes", e.Mode, len(e.Data))
	}
	for _, to := range targets {
		system, processor := to.platform()
		name := "gjc-" + system + "-" + processor
		p, files := readPackage(t, filepath.Join(dir, "gajae-code-"+name+"-1.2.3.tgz"))
		diff(t, name, p, packageJSON{Name: "@gajae-code/" + name, Version: "1.2.3", OS: []string{system}, CPU: []string{processor}})
		program, err := os.ReadFile(r.programs[to])
		if err != nil {
			t.Fatal(err)
		}
		if e := files["package/bin/"+to.program()]; e.Mode != 0o755 || e.Data != string(program) || !e.Date.Equal(fakeDate) {
			t.Errorf("%s: mode %o, %s, %d bytes", name, e.Mode, e.Date, len(e.Data))
		}
		if len(files) != 4 {
			t.Errorf("%s has %d files", name, len(files))
		}
	}
}
