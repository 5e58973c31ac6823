package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gajae-code/gjc/internal/jsonx"
)

const (
	repository  = "https://github.com/gajae-code/gjc"
	description = "Coding agent for editors that speak the Agent Client Protocol"
)

// target is an operating system and a processor, in Go's names.
type target struct{ os, arch string }

var targets = []target{
	{"darwin", "amd64"},
	{"darwin", "arm64"},
	{"linux", "amd64"},
	{"linux", "arm64"},
	{"windows", "amd64"},
	{"windows", "arm64"},
}

// program returns the name of the program's file.
func (t target) program() string {
	if t.os == "windows" {
		return "gjc.exe"
	}
	return "gjc"
}

// archive is a file of the release.
type archive struct{ name, sha256 string }

// release holds what goreleaser has made.
type release struct {
	version, commit string
	// date is the time of the commit, which goreleaser gives to the programs.
	date     time.Time
	programs map[target]string // paths
	archives map[target]archive
	license  []byte
}

// readRelease reads goreleaser's directory, and the file with the licence.
func readRelease(dist, license string) (*release, error) {
	var metadata struct {
		Version string `json:"version"`
		Commit  string `json:"commit"`
	}
	if err := readJSON(filepath.Join(dist, "metadata.json"), &metadata); err != nil {
		return nil, err
	}
	var artifacts []struct {
		Name  string `json:"name"`
		Path  string `json:"path"`
		Type  string `json:"type"`
		OS    string `json:"goos"`
		Arch  string `json:"goarch"`
		Extra struct {
			Checksum string `json:"Checksum"`
		} `json:"extra"`
	}
	if err := readJSON(filepath.Join(dist, "artifacts.json"), &artifacts); err != nil {
		return nil, err
	}
	r := &release{version: metadata.Version, commit: metadata.Commit, programs: make(map[target]string), archives: make(map[target]archive)}
	if r.version == "" || strings.HasPrefix(r.version, "v") {
		return nil, fmt.Errorf("%s has the version %q: it has no v", filepath.Join(dist, "metadata.json"), r.version)
	}
	for _, a := range artifacts {
		t := target{a.OS, a.Arch}
		switch a.Type {
		case "Binary":
			// The path is relative to the repository; the directory may have been moved.
			r.programs[t] = filepath.Join(dist, filepath.Base(filepath.Dir(filepath.FromSlash(a.Path))), filepath.Base(filepath.FromSlash(a.Path)))
			info, err := os.Stat(r.programs[t])
			if err != nil {
				return nil, err
			}
			r.date = info.ModTime().UTC()
		case "Archive":
			sum, ok := strings.CutPrefix(a.Extra.Checksum, "sha256:")
			if !ok {
				return nil, fmt.Errorf("%s has no SHA-256 sum in %s", a.Name, filepath.Join(dist, "artifacts.json"))
			}
			r.archives[t] = archive{a.Name, sum}
		}
	}
	var err error
	r.license, err = os.ReadFile(license)
	return r, err
}

func readJSON(path string, v any) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := jsonx.Unmarshal(data, v); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// complete returns an error if a platform is missing.
func (r *release) complete() error {
	for _, t := range targets {
		if r.programs[t] == "" || r.archives[t].name == "" {
			return fmt.Errorf("the release has no program or no archive for %s/%s; build all platforms, or give -partial for a test", t.os, t.arch)
		}
	}
	return nil
}

// has returns the targets with a program, of the given operating systems; all if none is given.
func (r *release) has(systems ...string) (some []target) {
	for _, t := range targets {
		if r.programs[t] != "" && (len(systems) == 0 || slices.Contains(systems, t.os)) {
			some = append(some, t)
		}
	}
	return some
}
