package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/internal/testenv"
)

// readImages checks an OCI layout and returns the images' configurations and layers by processor, and the digest of their index.
func readImages(t *testing.T, dir string) (configs map[string]imageConfig, layers map[string][]byte, top string) {
	t.Helper()
	used := make(map[string]bool)
	blob := func(d descriptor) []byte {
		t.Helper()
		used[strings.TrimPrefix(d.Digest, "sha256:")] = true
		data, err := os.ReadFile(filepath.Join(dir, "blobs", "sha256", strings.TrimPrefix(d.Digest, "sha256:")))
		if err != nil || digest(data) != d.Digest || len(data) != d.Size {
			t.Fatalf("%+v: %d bytes with the digest %s, %v", d, len(data), digest(data), err)
		}
		return data
	}
	parse := func(data []byte, v any) {
		t.Helper()
		if err := json.Unmarshal(data, v); err != nil {
			t.Fatal(err)
		}
	}
	var outer, inner imageIndex
	data, err := os.ReadFile(filepath.Join(dir, "index.json"))
	if err != nil {
		t.Fatal(err)
	}
	parse(data, &outer)
	if len(outer.Manifests) != 1 || outer.Manifests[0].MediaType != typeIndex {
		t.Fatalf("index.json: %s", data)
	}
	parse(blob(outer.Manifests[0]), &inner)
	configs, layers = make(map[string]imageConfig), make(map[string][]byte)
	for _, m := range inner.Manifests {
		var manifest imageManifest
		parse(blob(m), &manifest)
		var config imageConfig
		parse(blob(manifest.Config), &config)
		layer := blob(manifest.Layers[0])
		z, err := gzip.NewReader(bytes.NewReader(layer))
		if err != nil {
			t.Fatal(err)
		}
		plain, err := io.ReadAll(z)
		if err != nil {
			t.Fatal(err)
		}
		diff(t, "layers", config.RootFS.DiffIDs, []string{digest(plain)})
		diff(t, "platform", *m.Platform, imagePlatform{config.Architecture, config.OS})
		configs[config.Architecture], layers[config.Architecture] = config, layer
	}
	entries, err := os.ReadDir(filepath.Join(dir, "blobs", "sha256"))
	if err != nil || len(entries) != len(used) {
		t.Errorf("%d blobs, of which %d are used; %v", len(entries), len(used), err)
	}
	return configs, layers, outer.Manifests[0].Digest
}

func TestImage(t *testing.T) {
	t.Parallel()
	r, dir := fakeRelease(t, targets...), t.TempDir()
	if err := writeImage(r, certificates(t), dir); err != nil {
		t.Fatal(err)
	}
	configs, layers, _ := readImages(t, dir)
	diff(t, "processors", slices.Sorted(maps.Keys(configs)), []string{"amd64", "arm64"})
	for arch, config := range configs {
		c := config.Config
		diff(t, "configuration", []string{config.OS, config.Created, c.User, c.WorkingDir, strings.Join(c.Entrypoint, " "), c.Labels["org.opencontainers.image.version"]},
			[]string{"linux", "2026-01-02T03:04:05Z", "65532:65532", "/home/gjc", "/usr/local/bin/gjc", "1.2.3"})
		program, err := os.ReadFile(r.programs[target{"linux", arch}])
		if err != nil {
			t.Fatal(err)
		}
		files := untar(t, layers[arch])
		for name, want := range map[string]entry{
			"usr/local/bin/gjc":                 {0o755, 0, fakeDate, string(program)},
			"etc/ssl/certs/ca-certificates.crt": {0o644, 0, fakeDate, "authorities\n"},
			"home/gjc/":                         {0o755, 65532, fakeDate, ""},
			"tmp/":                              {0o1777, 0, fakeDate, ""},
			"usr/share/doc/gjc/copyright":       {0o644, 0, fakeDate, string(r.license)},
		} {
			diff(t, arch+" "+name, files[name], want)
		}
		// A name of a user's directory has entries above it, with an owner and a mode.
		for name := range files {
			for parent := filepath.ToSlash(filepath.Dir(strings.TrimSuffix(name, "/"))); parent != "."; parent = filepath.ToSlash(filepath.Dir(parent)) {
				if _, ok := files[parent+"/"]; !ok {
					t.Errorf("%s is in no directory %s", name, parent)
				}
			}
		}
	}
	if err := writeImage(r, filepath.Join(dir, "absent"), dir); err == nil || !strings.Contains(err.Error(), "-certificates") {
		t.Errorf("without certificates: %v", err)
	}
}

// crane, another implementation, pushes the layout to a registry as a release does, and reads it back.
func TestImage_Push(t *testing.T) {
	t.Parallel()
	crane := testenv.NeedsCrane(t)
	dir := t.TempDir()
	if err := writeImage(fakeRelease(t, targets...), certificates(t), dir); err != nil {
		t.Fatal(err)
	}
	_, _, want := readImages(t, dir)
	checkPush(t, crane, dir, want)
}

// checkPush pushes an OCI layout to a registry on this machine and compares the digest.
func checkPush(t *testing.T, crane, dir, want string) {
	t.Helper()
	server := exec.CommandContext(t.Context(), crane, "registry", "serve", "--address", "127.0.0.1:0")
	log, err := server.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	})
	lines, address := bufio.NewScanner(log), ""
	for address == "" && lines.Scan() {
		if _, port, ok := strings.Cut(lines.Text(), "serving on port "); ok {
			address = "127.0.0.1:" + port
		}
	}
	if address == "" {
		t.Fatal("the registry tells no address")
	}
	go func() { // ends with the registry
		_, _ = io.Copy(io.Discard, log)
	}()
	image := address + "/gajae-code/gjc:1.2.3"
	run := func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), crane, append(args, "--insecure")...)
		cmd.Env = append(os.Environ(), "DOCKER_CONFIG="+t.TempDir())
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("crane %v: %v: %s", args, err, stderr.String())
		}
		return strings.TrimSpace(string(out))
	}
	run("push", dir, image)
	diff(t, "digest", run("digest", image), want)
	run("validate", "--remote", image)
	var config struct{ Config struct{ User string } }
	if err := json.Unmarshal([]byte(run("config", "--platform", "linux/amd64", image)), &config); err != nil || config.Config.User != fmt.Sprintf("%d:%[1]d", imageUser) {
		t.Errorf("user %q, %v", config.Config.User, err)
	}
}
