package secrets_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/gajae-code/gjc/agent/secrets"
)

func put(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// The examples in the documentation are valid.
func TestReadFiles(t *testing.T) {
	path := put(t, filepath.Join(t.TempDir(), "secrets.yml"), `# comment
- type: plain
  content: sk-proj-abc123def456
- type: plain
  content: hunter2
  mode: replace
  replacement: "********"
- type: regex
  content: "AKIA[0-9A-Z]{16}"
- type: regex
  content: "api[_-]?key\\s*=\\s*\\w+"
  flags: "i"
- type: regex
  content: "/bearer\\s+[a-zA-Z0-9._~+\\/=-]+/i"
- type: regex
  content: "postgres://[^\\s]+"
  mode: replace
  replacement: "postgres://***"
- {type: regex, content: "^/etc/keys/[a-z]+$", flags: gmu}
`)
	entries, err := secrets.ReadFiles(path, filepath.Join(t.TempDir(), "none.yml"))
	if err != nil || len(entries) != 7 {
		t.Fatalf("%d entries, %v", len(entries), err)
	}
	s := newSet(t, entries...)
	for text, want := range map[string]string{
		"sk-proj-abc123def456":             "#",
		"hunter2":                          "********",
		"AKIAIOSFODNN7EXAMPLE":             "#",
		"x API-KEY = abc":                  "x #",
		"Authorization: Bearer a/b+c==":    "Authorization: #",
		"url postgres://u:p@host/db end":   "url postgres://*** end",
		"a\n/etc/keys/mine\nb":             "a\n#",
		"see /etc/keys/mine, akia, nearly": "see /etc/keys/mine, akia, nearly",
	} {
		got := s.Hide(text)
		if cut, _, found := strings.Cut(got, "#"); found && strings.HasSuffix(want, "#") {
			got = cut + "#"
		}
		if got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
	if got := s.Explain(s.Hide("sk-proj-abc123def456")); !strings.HasSuffix(got, "stands for the secret in "+path+", line 2.") {
		t.Errorf("explained as %q", got)
	}
}

// An entry of the first file has precedence over one with the same content in the second.
func TestReadFiles_ProjectOverUser(t *testing.T) {
	dir := t.TempDir()
	user := put(t, filepath.Join(dir, "secrets.yml"), "- {type: plain, content: shared-secret}\n- {type: regex, content: ab+c}\n- {type: plain, content: mine-alone}")
	project := put(t, filepath.Join(dir, ".gjc", "secrets.yml"), "- {type: plain, content: shared-secret, mode: replace, replacement: gone}\n- {type: regex, content: ab+c, mode: replace}")
	entries, err := secrets.ReadFiles(project, user)
	if err != nil || len(entries) != 3 || entries[0].Mode != secrets.Replace || entries[1].Mode != secrets.Replace || entries[2].Content != "mine-alone" {
		t.Errorf("%+v, %v", entries, err)
	}
}

// Errors name the file, line and field, and do not quote the content.
func TestReadFiles_Mistakes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "secrets.yml")
	for _, tt := range []struct{ text, want string }{
		{"type: SECRET", ":1: the file must be a list"},
		{"- type: plain\n  content: [SECRET", "the file is not YAML"},
		{"\n- SECRET", ":2: a secret must be a mapping"},
		{"- content: SECRET", ":1: type: is missing"},
		{"- type: plain", ":1: content: is missing"},
		{"- type: SECRET\n  content: SECRET", ":1: type: must be plain or regex"},
		{"- type: plain\n  content: 12345678", ":2: content: must be a string; put it in quotes"},
		{"- type: plain\n  content: SEC", ":2: content: a secret must have at least 4 bytes"},
		{"- type: plain\n  content: SECRET\n  mode: hide", ":3: mode: must be obfuscate or replace"},
		{"- type: plain\n  content: SECRET\n  flags: i", ":3: flags: are only for the type regex"},
		{"- type: plain\n  content: SECRET\n  replacement: x", ":3: replacement: is only for the mode replace"},
		{"- type: plain\n  content: SECRET\n  mode: replace\n  replacement: my SECRET", ":4: replacement: the replacement must contain neither a secret"},
		{"- type: plain\n  content: SECRET\n  mode: replace\n  replacement: ''", ":4: replacement: must not be empty"},
		{"- type: plain\n  value: SECRET", ":2: unknown field; the fields are type, content"},
		{"- type: regex\n  content: '(SECRET'", ":2: content: is not a valid RE2 regular expression"},
		{"- type: regex\n  content: 'SECRET(?=x)'", ":2: content: is not a valid RE2 regular expression; RE2 has no lookahead"},
		{"- type: regex\n  content: 'SECRET'\n  flags: x", ":3: flags: unknown flag; the flags are g, i, m, s and u"},
		{"- type: regex\n  content: '/SECRET/i'\n  flags: m", ":3: flags: are already in the content"},
		{"- type: regex\n  content: '(SECRET)*'", ":2: content: the expression matches the empty text"},
	} {
		put(t, path, tt.text)
		_, err := secrets.ReadFiles(path)
		if err == nil || !strings.HasPrefix(err.Error(), path+":") || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "SEC") {
			t.Errorf("%q: %v, want %q", tt.text, err, tt.want)
		}
	}
}

// The key is created once, for its owner only, even by concurrent processes.
func TestLoad(t *testing.T) {
	dir, work := t.TempDir(), t.TempDir()
	put(t, filepath.Join(dir, "secrets.yml"), "- {type: plain, content: file-secret}\n- {type: plain, content: both-secret, mode: replace}")
	put(t, filepath.Join(work, ".gjc", "secrets.yml"), "- {type: plain, content: work-secret}")
	opts := secrets.Options{AgentDir: dir, Dir: work, Environ: []string{"MY_TOKEN=both-secret"}}
	const text = "file-secret work-secret both-secret"
	hidden := make([]string, 8)
	var all sync.WaitGroup
	for i := range hidden {
		all.Go(func() {
			s, err := secrets.Load(opts)
			if err != nil {
				t.Error(err)
				return
			}
			hidden[i] = s.Hide(text)
			if got := s.Restore(hidden[i]); got != text { // the environment's entry has precedence
				t.Errorf("restored %q", got)
			}
		})
	}
	all.Wait()
	for _, h := range hidden {
		if h != hidden[0] {
			t.Errorf("%q and %q", h, hidden[0])
		}
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 2 {
		t.Errorf("in the directory: %v, %v", left, err)
	}
	put(t, filepath.Join(dir, "secrets.key"), "short")
	if _, err := secrets.Load(opts); err == nil || !strings.Contains(err.Error(), "delete it") {
		t.Errorf("a broken key: %v", err)
	}
}
