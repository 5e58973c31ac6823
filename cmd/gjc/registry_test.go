package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/template"

	"github.com/goccy/go-yaml"

	"github.com/gajae-code/gjc/internal/testenv"
)

// registryEntry is dist/registry/agent.json, in the ACP registry's format.
type registryEntry struct {
	ID          string   `json:"id"`
	Name        string   `json:"name"`
	Version     string   `json:"version"`
	Description string   `json:"description"`
	Repository  string   `json:"repository"`
	Website     string   `json:"website"`
	Authors     []string `json:"authors"`
	License     string   `json:"license"`

	Distribution struct {
		Binary map[string]registryTarget `json:"binary"`
	} `json:"distribution"`
}

type registryTarget struct {
	Archive string   `json:"archive"`
	Cmd     string   `json:"cmd"`
	Args    []string `json:"args"`
}

func readRegistryEntry(t *testing.T) *registryEntry {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(testenv.ModuleRoot(t), "dist", "registry", "agent.json"))
	if err != nil {
		t.Fatal(err)
	}
	e := new(registryEntry)
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(e); err != nil {
		t.Fatal(err)
	}
	return e
}

// The entry follows the registry's rules. A release changes the version and the URLs together: each URL contains the
// version.
func TestRegistry_Entry(t *testing.T) {
	t.Parallel()
	e := readRegistryEntry(t)
	if e.ID != "gjc" || !regexp.MustCompile(`^[a-z][a-z0-9-]*$`).MatchString(e.ID) {
		t.Errorf("id %q", e.ID)
	}
	if !regexp.MustCompile(`^\d+\.\d+\.\d+$`).MatchString(e.Version) {
		t.Errorf("version %q", e.Version)
	}
	for name, value := range map[string]string{"name": e.Name, "description": e.Description} {
		if value == "" {
			t.Errorf("%s is empty", name)
		}
	}
	for _, link := range []string{e.Repository, e.Website} {
		if u, err := url.Parse(link); err != nil || u.Scheme != "https" || u.Host == "" {
			t.Errorf("link %q", link)
		}
	}
	if license, err := os.ReadFile(filepath.Join(testenv.ModuleRoot(t), "LICENSE")); err != nil || !strings.HasPrefix(string(license), e.License+" License") {
		t.Errorf("license %q, %v", e.License, err)
	}
	same(t, "platforms", sortedKeys(e.Distribution.Binary), []string{
		"darwin-aarch64", "darwin-x86_64", "linux-aarch64", "linux-x86_64", "windows-aarch64", "windows-x86_64",
	})
	for platform, target := range e.Distribution.Binary {
		u, err := url.Parse(target.Archive)
		if err != nil || u.Scheme != "https" {
			t.Errorf("%s: %q, %v", platform, target.Archive, err)
			continue
		}
		same(t, "folder of "+platform, strings.TrimSuffix(target.Archive, path.Base(target.Archive)), e.Repository+"/releases/download/v"+e.Version+"/")
		if strings.Contains(target.Archive, "/latest/") {
			t.Errorf("%s: a URL without a version", platform)
		}
		format, program := ".tar.gz", "./gjc"
		if strings.HasPrefix(platform, "windows") {
			format, program = ".zip", "./gjc.exe"
		}
		if !strings.HasSuffix(target.Archive, format) {
			t.Errorf("%s: %s is no %s", platform, target.Archive, format)
		}
		same(t, "command of "+platform, append([]string{target.Cmd}, target.Args...), []string{program, "acp"})
	}
}

// goreleaser is the part of .goreleaser.yaml that the test reads.
type goreleaser struct {
	Dist   string `yaml:"dist"`
	Builds []struct {
		Main    string   `yaml:"main"`
		Binary  string   `yaml:"binary"`
		Env     []string `yaml:"env"`
		Flags   []string `yaml:"flags"`
		LDFlags []string `yaml:"ldflags"`
		GOOS    []string `yaml:"goos"`
		GOARCH  []string `yaml:"goarch"`

		ModTimestamp string `yaml:"mod_timestamp"`
	} `yaml:"builds"`
	Before struct {
		Hooks []string `yaml:"hooks"`
	} `yaml:"before"`
	Archives []struct {
		Formats         []string `yaml:"formats"`
		NameTemplate    string   `yaml:"name_template"`
		FormatOverrides []struct {
			GOOS    string   `yaml:"goos"`
			Formats []string `yaml:"formats"`
		} `yaml:"format_overrides"`
		WrapInDirectory any `yaml:"wrap_in_directory"`
		Files           []struct {
			Source      string `yaml:"src"`
			Destination string `yaml:"dst"`
			StripParent bool   `yaml:"strip_parent"`
			Info        struct {
				MTime string `yaml:"mtime"`
			} `yaml:"info"`
		} `yaml:"files"`
	} `yaml:"archives"`
	Release struct {
		GitHub struct {
			Owner string `yaml:"owner"`
			Name  string `yaml:"name"`
		} `yaml:"github"`
	} `yaml:"release"`
}

// A release has exactly the archives that the entry names, with the programs that it starts.
func TestRegistry_ReleaseBuildsIt(t *testing.T) {
	t.Parallel()
	root := testenv.ModuleRoot(t)
	data, err := os.ReadFile(filepath.Join(root, ".goreleaser.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var c goreleaser
	if err := yaml.Unmarshal(data, &c); err != nil {
		t.Fatal(err)
	}
	if len(c.Builds) != 1 || len(c.Archives) != 1 {
		t.Fatalf("%d builds and %d archives", len(c.Builds), len(c.Archives))
	}
	build, archive := c.Builds[0], c.Archives[0]
	files, dated := make(map[string]string), true
	for _, f := range archive.Files {
		files[f.Source] = f.Destination
		dated = dated && f.Info.MTime == "{{ .CommitDate }}" && (f.Destination == "" || f.StripParent)
	}
	for what, ok := range map[string]bool{
		"the program is cmd/gjc":                  build.Main == "./cmd/gjc" && build.Binary == "gjc",
		"it is static":                            slices.Contains(build.Env, "CGO_ENABLED=0"),
		"it holds no paths":                       slices.Contains(build.Flags, "-trimpath"),
		"it is stripped and knows its version":    slices.Equal(build.LDFlags, []string{"-s -w -X main.release={{ .Version }}"}),
		"the archive has the program at its root": archive.WrapInDirectory == nil,
		"the archive has the time of the commit":  dated && build.ModTimestamp == "{{ .CommitTimestamp }}",
		"pages and completions are made":          slices.Equal(c.Before.Hooks, []string{"tools/release/share.sh {{ .Version }}"}),
		"the archive has all files": maps.Equal(files, map[string]string{
			"LICENSE": "", "README.md": "", "bin/share/man/*.1": "man/man1", "bin/share/completions/*": "completions",
		}),
		"goreleaser does not clean dist, or elsewhere": c.Dist != "" && c.Dist != "dist" && strings.HasPrefix(c.Dist, "bin/"),
	} {
		if !ok {
			t.Errorf("not so: %s", what)
		}
	}
	name, err := template.New("").Parse(strings.TrimSpace(archive.NameTemplate))
	if err != nil {
		t.Fatal(err)
	}
	e := readRegistryEntry(t)
	same(t, "repository", "https://github.com/"+c.Release.GitHub.Owner+"/"+c.Release.GitHub.Name, e.Repository)
	var built, named []string
	for _, goos := range build.GOOS {
		for _, goarch := range build.GOARCH {
			formats := archive.Formats
			for _, o := range archive.FormatOverrides {
				if o.GOOS == goos {
					formats = o.Formats
				}
			}
			var file strings.Builder
			if err := name.Execute(&file, map[string]string{"Os": goos, "Arch": goarch}); err != nil {
				t.Fatal(err)
			}
			for _, format := range formats {
				built = append(built, file.String()+"."+format)
			}
		}
	}
	for platform, target := range e.Distribution.Binary {
		file := path.Base(target.Archive)
		named = append(named, file)
		if !strings.HasPrefix(file, "gjc-"+platform+".") {
			t.Errorf("%s has the archive %s", platform, file)
		}
	}
	slices.Sort(built)
	slices.Sort(named)
	same(t, "archives", built, named)
}

// The icon is 16 by 16, in one colour that the editor chooses.
func TestRegistry_Icon(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(filepath.Join(testenv.ModuleRoot(t), "dist", "registry", "icon.svg"))
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(data, []byte("<!--")) {
		t.Error("a comment breaks the registry's page")
	}
	colours, root := 0, true
	decoder := xml.NewDecoder(bytes.NewReader(data))
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		el, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		attributes := make(map[string]string)
		for _, a := range el.Attr {
			attributes[a.Name.Local] = a.Value
		}
		if root {
			same(t, "root", []string{el.Name.Local, attributes["width"], attributes["height"], attributes["viewBox"]}, []string{"svg", "16", "16", "0 0 16 16"})
			root = false
		}
		for name, value := range attributes {
			switch name {
			case "fill", "stroke":
				switch value {
				case "currentColor":
					colours++
				case "none", "inherit":
				default:
					t.Errorf("<%s %s=%q>", el.Name.Local, name, value)
				}
			case "style", "color", "stop-color":
				t.Errorf("<%s %s=%q>", el.Name.Local, name, value)
			}
		}
		if el.Name.Local == "style" {
			t.Error("a style sheet")
		}
	}
	if colours == 0 {
		t.Error("nothing has the colour currentColor")
	}
}

// The registry's own check of each agent: in an empty home and without keys, the first line on stdout is the response,
// and it offers a way to sign in that the registry accepts.
func TestRegistry(t *testing.T) {
	t.Parallel()
	home := tempDir(t)
	env := []string{asGJC + "=1", "TERM=dumb", "HOME=" + home, "GORACE=atexit_sleep_ms=20"}
	for _, name := range []string{
		"CI", "COMSPEC", "NPM_CONFIG_CACHE", "NODE_EXTRA_CA_CERTS", "PATH", "PATHEXT", "PYTHON_KEYRING_BACKEND", "PYTHON_KEYRING_DISABLED",
		"REQUESTS_CA_BUNDLE", "SSL_CERT_DIR", "SSL_CERT_FILE", "SystemRoot", "TMP", "TMPDIR", "TEMP", "UV_CACHE_DIR", "WINDIR",
		"XDG_CACHE_HOME", "XDG_CONFIG_HOME",
	} {
		if value := os.Getenv(name); value != "" {
			env = append(env, name+"="+value)
		}
	}
	args := readRegistryEntry(t).Distribution.Binary["linux-x86_64"].Args
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	defer cancel()
	cmd := exec.CommandContext(ctx, self(t), args...)
	cmd.Env, cmd.Dir, cmd.WaitDelay = env, tempDir(t), hang
	stderr := new(buffer)
	cmd.Stderr = stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	request := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1,` +
		`"clientInfo":{"name":"ACP Registry Validator","version":"1.0.0"},"clientCapabilities":{"terminal":true,` +
		`"fs":{"readTextFile":true,"writeTextFile":true},"_meta":{"terminal_output":true,"terminal-auth":true}}}}` + "\n"
	if _, err := io.WriteString(stdin, request); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(stdout)
	first, err := lines.ReadBytes('\n')
	if err != nil {
		t.Fatalf("the first line: %q, %v", first, err)
	}
	var response struct {
		JSONRPC string
		ID      int
		Error   json.RawMessage
		Result  struct {
			ProtocolVersion int
			AgentInfo       struct{ Name string }
			AuthMethods     []struct {
				ID, Name, Type string
				Meta           map[string]json.RawMessage `json:"_meta"`
			}
		}
	}
	if err := json.Unmarshal(first, &response); err != nil || response.ID != 1 || response.Error != nil || response.Result.ProtocolVersion != 1 {
		t.Fatalf("the first line is %s, %v", first, err)
	}
	same(t, "agent", response.Result.AgentInfo.Name, readRegistryEntry(t).ID)
	var kinds []string
	for _, m := range response.Result.AuthMethods {
		kind := m.Type
		if _, terminal := m.Meta["terminal-auth"]; terminal {
			kind = cmp.Or(kind, "terminal")
		}
		kinds = append(kinds, cmp.Or(kind, "agent"))
		if m.ID == "" || m.Name == "" {
			t.Errorf("a method without an id or a name in %s", first)
		}
		if m.Type == "terminal" {
			t.Errorf("a method that was not advertised in %s", first)
		}
	}
	if !slices.Contains(kinds, "agent") {
		t.Errorf("sign-in of the kinds %q", kinds)
	}
	if err := stdin.Close(); err != nil {
		t.Error(err)
	}
	rest, err := io.ReadAll(lines)
	if err != nil || len(rest) > 0 {
		t.Errorf("after it comes %q, %v", rest, err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("gjc ended with %v", err)
	}
	if text := stderr.String(); text != "" {
		t.Errorf("on stderr: %s", text)
	}
	wantEmpty(t, home)
}
