package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/internal/testenv"
)

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		os.Exit(fakeProgram(os.Args[1:]))
	}
	os.Exit(testenv.Run(m))
}

// fakeDate is the time of the fake release's commit.
var fakeDate = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// fakeRelease writes a directory as goreleaser does, with a program and an archive for each of the targets, and reads it.
// The program for this machine is the test binary.
func fakeRelease(t *testing.T, only ...target) *release {
	t.Helper()
	dist := t.TempDir()
	artifacts := []map[string]any{{"name": "metadata.json", "path": "bin/release/metadata.json", "type": "Metadata"}}
	for _, to := range only {
		dir := "gjc_" + to.os + "_" + to.arch
		path := filepath.Join(dist, dir, to.program())
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		data := []byte("the program for " + to.os + "/" + to.arch)
		if to == (target{runtime.GOOS, runtime.GOARCH}) {
			self, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			if data, err = os.ReadFile(self); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(path, data, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, fakeDate, fakeDate); err != nil {
			t.Fatal(err)
		}
		artifacts = append(artifacts,
			map[string]any{"name": to.program(), "path": "bin/release/" + dir + "/" + to.program(), "type": "Binary", "goos": to.os, "goarch": to.arch},
			map[string]any{
				"name": "gjc-" + to.os + "-" + to.arch + ".tar.gz", "path": "bin/release/x", "type": "Archive", "goos": to.os, "goarch": to.arch,
				"extra": map[string]any{"Checksum": fmt.Sprintf("sha256:%064x", len(artifacts))},
			})
	}
	writeJSON(t, filepath.Join(dist, "artifacts.json"), artifacts)
	writeJSON(t, filepath.Join(dist, "metadata.json"), map[string]string{"version": "1.2.3", "tag": "v1.2.3", "commit": "0123456789abcdef", "date": time.Now().Format(time.RFC3339Nano)})
	r, err := readRelease(dist, filepath.Join(testenv.ModuleRoot(t), "LICENSE"))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func writeJSON(t *testing.T, path string, v any) {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// certificates writes a file that stands for the certificate authorities.
func certificates(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ca-certificates.crt")
	if err := os.WriteFile(path, []byte("authorities\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// contents returns the files below dir.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := make(map[string]string)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		files[filepath.ToSlash(rel)] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// entry is a file of a tarball.
type entry struct {
	Mode  int64
	Owner int
	Date  time.Time
	Data  string
}

// untar returns the files of a compressed tarball.
func untar(t *testing.T, data []byte) map[string]entry {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	entries := make(map[string]entry)
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return entries
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if h.Uid != h.Gid || (h.Typeflag == tar.TypeDir) != strings.HasSuffix(h.Name, "/") {
			t.Errorf("%s: type %c, owners %d and %d", h.Name, h.Typeflag, h.Uid, h.Gid)
		}
		entries[h.Name] = entry{h.Mode, h.Uid, h.ModTime.UTC(), string(text)}
	}
}

// unpack writes the files of a compressed tarball below dir.
func unpack(t *testing.T, data []byte, dir string) {
	t.Helper()
	entries := untar(t, data)
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		e, path := entries[name], filepath.Join(dir, filepath.FromSlash(name))
		if strings.HasSuffix(name, "/") {
			if err := os.MkdirAll(path, 0o755); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(e.Data), fs.FileMode(e.Mode).Perm()); err != nil {
			t.Fatal(err)
		}
	}
}

// The same release gives the same bytes, at another time and in another directory.
func TestReproducible(t *testing.T) {
	t.Parallel()
	var made []map[string]string
	for range 2 {
		r, dir := fakeRelease(t, targets...), t.TempDir()
		for what, err := range map[string]error{
			"npm":     writeNPM(r, filepath.Join(dir, "npm")),
			"formula": writeFormula(r, filepath.Join(dir, "gjc.rb")),
			"image":   writeImage(r, certificates(t), filepath.Join(dir, "image")),
		} {
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
		}
		made = append(made, contents(t, dir))
	}
	if !maps.Equal(made[0], made[1]) {
		for name := range made[0] {
			if made[0][name] != made[1][name] {
				t.Errorf("%s differs", name)
			}
		}
		t.Errorf("files %v and %v", slices.Sorted(maps.Keys(made[0])), slices.Sorted(maps.Keys(made[1])))
	}
}

func TestComplete(t *testing.T) {
	t.Parallel()
	if err := fakeRelease(t, targets...).complete(); err != nil {
		t.Error(err)
	}
	if err := fakeRelease(t, targets[1:]...).complete(); err == nil || !strings.Contains(err.Error(), "darwin/amd64") {
		t.Errorf("without darwin/amd64: %v", err)
	}
}

// An error in what goreleaser has made is no package with a wrong version or sum.
func TestReadRelease_Errors(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(dist string){
		"a version with a v": func(dist string) {
			writeJSON(t, filepath.Join(dist, "metadata.json"), map[string]string{"version": "v1.2.3"})
		},
		"no version": func(dist string) { writeJSON(t, filepath.Join(dist, "metadata.json"), map[string]string{}) },
		"no sum": func(dist string) {
			writeJSON(t, filepath.Join(dist, "artifacts.json"), []map[string]string{{"type": "Archive", "name": "a"}})
		},
		"a program that is absent": func(dist string) {
			writeJSON(t, filepath.Join(dist, "artifacts.json"), []map[string]string{{"type": "Binary", "path": "a/gjc"}})
		},
	} {
		dist := filepath.Dir(filepath.Dir(fakeRelease(t, targets[0]).programs[targets[0]]))
		change(dist)
		if r, err := readRelease(dist, filepath.Join(testenv.ModuleRoot(t), "LICENSE")); err == nil {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

func diff(t *testing.T, what string, got, want any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}
