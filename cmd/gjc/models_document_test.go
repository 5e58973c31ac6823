package main

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/cmd/gjc/internal/config"
	"github.com/gajae-code/gjc/internal/configfile"
	"github.com/gajae-code/gjc/internal/testenv"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/offline"
)

// documented returns the texts of documents, in order.
func documented(t *testing.T, paths ...string) string {
	t.Helper()
	var b strings.Builder
	for _, path := range paths {
		data, err := os.ReadFile(filepath.Join(testenv.ModuleRoot(t), filepath.FromSlash(path)))
		if err != nil {
			t.Fatal(err)
		}
		b.Write(data)
	}
	return b.String()
}

// documentedHost has a key for every provider.
func documentedHost(t *testing.T) *host {
	t.Helper()
	home := t.TempDir()
	credentials := filepath.Join(home, "credentials.json")
	writeFile(t, credentials, `{"type":"authorized_user","client_id":"i","client_secret":"s","refresh_token":"r"}`)
	h := &host{env: []string{
		"HOME=" + home, "USERPROFILE=" + home, "GOOGLE_APPLICATION_CREDENTIALS=" + credentials, "GOOGLE_CLOUD_PROJECT=p", "GOOGLE_CLOUD_LOCATION=global",
	}}
	for _, p := range readCatalogue(t) {
		for _, name := range p.KeyEnv {
			h.env = append(h.env, name+"=a-key")
		}
		if p.NeedsURL {
			h.env = append(h.env, derived(p.Name)+"=http://127.0.0.1:1")
		}
	}
	return h
}

type cataloguedProvider struct {
	Name       string   `json:"name"`
	KeyEnv     []string `json:"key_env"`
	BaseURLEnv []string `json:"base_url_env"`
	Keyless    bool     `json:"keyless"`
	NeedsURL   bool     `json:"needs_url"`
}

func readCatalogue(t *testing.T) []cataloguedProvider {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(testenv.ModuleRoot(t), "providers", "registry", "catalogue.json"))
	if err != nil {
		t.Fatal(err)
	}
	var c struct {
		Providers []cataloguedProvider `json:"providers"`
	}
	if err := json.Unmarshal(data, &c); err != nil || len(c.Providers) == 0 {
		t.Fatal(err)
	}
	return c.Providers
}

func derived(provider string) string {
	return strings.ToUpper(strings.NewReplacer("-", "_", ".", "_").Replace(provider)) + "_BASE_URL"
}

// The document's examples of models.yml load without a complaint, and those of config.yml are read.
func TestModelsDocument_Examples(t *testing.T) {
	doc := documented(t, "docs/models.md")
	top := []string{"providers", "equivalence", "profiles", "modelBindings", "fallbacks"}
	seen := map[string]int{}
	for i, block := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(doc, -1) {
		n, err := configfile.ParseYAML([]byte(block[1]))
		if err != nil || n.Kind != configfile.Object {
			t.Fatalf("example %d: %v", i, err)
		}
		dir := t.TempDir()
		if !slices.Contains(top, n.Members[0].Name) {
			seen["config.yml"]++
			writeFile(t, filepath.Join(dir, "config.yml"), block[1])
			if err := config.Read(dir, nil, "").Err(); err != nil {
				t.Errorf("example %d: %v", i, err)
			}
			continue
		}
		seen["models.yml"]++
		writeFile(t, filepath.Join(dir, "models.yml"), block[1])
		r := documentedHost(t).registry(dir, &options{}, func(note string) { t.Errorf("example %d: %s", i, note) })
		if err := r.Load(t.Context()); err != nil {
			t.Errorf("example %d: %v", i, err)
		}
		for _, p := range r.Profiles() {
			if err := r.CheckProfile(p.Name); err != nil {
				t.Errorf("example %d: %v", i, err)
			}
		}
		for _, provider := range at(n, "providers").Members {
			for _, m := range r.All() {
				if source, problem := r.Availability(m); m.Provider == provider.Name && source == "" && provider.Value.Member("apiKeyEnv") == nil {
					t.Errorf("example %d: %s: %s", i, m.Ref(), problem)
				}
			}
		}
		for _, chain := range at(n, "fallbacks").List {
			for _, ref := range chain.Strings() {
				if m, _, err := r.Find(ref); err != nil || m.Ref() != ref {
					t.Errorf("example %d: %s: %v", i, ref, err)
				}
			}
		}
	}
	if seen["models.yml"] < 10 || seen["config.yml"] < 2 {
		t.Errorf("examples: %v", seen)
	}
}

// at returns the value of a name at the top, or an empty node.
func at(n *configfile.Node, name string) *configfile.Node {
	if value := n.Member(name); value != nil {
		return value
	}
	return new(configfile.Node)
}

// Every field of models.yml, every flag, API, level, mode and profile is documented.
func TestModelsDocument_NamesEverything(t *testing.T) {
	doc := documented(t, "docs/models.md", "docs/reference/models-yml.md", "docs/reference/config.md")
	want := map[string]bool{}
	files, err := filepath.Glob(filepath.Join(testenv.ModuleRoot(t), "providers", "registry", "modelsfile*.go"))
	if err != nil || len(files) < 3 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, file := range files {
		if !strings.HasSuffix(file, "_test.go") {
			for _, name := range fieldNames(t, file) {
				want[name] = true
			}
		}
	}
	if len(want) < 60 || !want["contextPromotionTarget"] || !want["stripHeaders"] {
		t.Fatalf("the fields of the parser were not found: %v", want)
	}
	for f := range reflect.TypeFor[providers.Compat]().Fields() {
		if name := f.Tag.Get("yaml"); name != "-" {
			want[name] = true
		}
	}
	r := documentedHost(t).registry(t.TempDir(), &options{}, func(string) {})
	for _, m := range r.All() {
		if m.API != offline.API {
			want[m.API] = true
		}
		want[string(m.ThinkingMode)] = true
		for _, level := range m.Thinking {
			want[string(level)] = true
		}
	}
	for _, p := range r.Profiles() {
		want[p.Name] = true
	}
	delete(want, "")
	for _, key := range config.Keys() {
		if strings.HasPrefix(key.Name, "network.") && !strings.Contains(doc, "| `"+key.Name+"` |") {
			t.Errorf("the document lacks %s", key.Name)
		}
	}
	for name := range want {
		if !regexp.MustCompile(`[^\w-]` + regexp.QuoteMeta(name) + `[^\w-]`).MatchString(doc) {
			t.Errorf("the document lacks %s", name)
		}
	}
}

// fieldNames returns the names of the fields that a parser's file reads.
func fieldNames(t *testing.T, path string) (names []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		lit, ok := n.(*ast.CompositeLit)
		if !ok {
			return true
		}
		if kind, ok := lit.Type.(*ast.MapType); !ok || types(kind.Value) != "field" {
			return true
		}
		for _, e := range lit.Elts {
			if kv, ok := e.(*ast.KeyValueExpr); ok {
				if key, ok := kv.Key.(*ast.BasicLit); ok {
					name, err := strconv.Unquote(key.Value)
					if err != nil {
						t.Error(err)
					}
					names = append(names, name)
				}
			}
		}
		return true
	})
	return names
}

func types(e ast.Expr) string {
	if id, ok := e.(*ast.Ident); ok {
		return id.Name
	}
	return ""
}

// The program reads every environment variable in the document, except for those that examples invent.
func TestModelsDocument_Variables(t *testing.T) {
	doc := documented(t, "docs/models.md", "docs/reference/providers.md")
	doc = regexp.MustCompile("(?s)```yaml\n.*?```").ReplaceAllString(doc, "")
	root := testenv.ModuleRoot(t)
	var code strings.Builder
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && (d.Name() == "testdata" || d.Name() == "docs" || strings.HasPrefix(d.Name(), ".")):
			return fs.SkipDir
		case d.Name() != "catalogue.json" && (!strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go")):
			return nil
		}
		data, err := os.ReadFile(path)
		code.Write(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	known := code.String()
	names := regexp.MustCompile(`\b[A-Z][A-Z0-9]*_[A-Z0-9_]+\b`).FindAllString(doc, -1)
	if len(names) < 50 {
		t.Errorf("only %d variables were found", len(names))
	}
	for _, name := range names {
		// HTTPS_PROXY and its like are read by net/http; the others are derived from the name of a provider.
		if !strings.Contains(known, name) && !slices.Contains([]string{"NAME_BASE_URL", "VLLM_BASE_URL", "LITELLM_BASE_URL"}, name) {
			t.Errorf("no code knows %s", name)
		}
	}
}
