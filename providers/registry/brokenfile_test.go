package registry_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/gajae-code/gjc/providers/registry"
)

// The variables that models.yml names for keys are hidden from child processes even if the file has a mistake, however the name
// is written; variables that children need are not.
func TestKeyVariables(t *testing.T) {
	inUTF16 := func(s string) string {
		var b strings.Builder
		for _, u := range utf16.Encode([]rune("\ufeff" + s)) {
			b.Write([]byte{byte(u), byte(u >> 8)})
		}
		return b.String()
	}
	const whole = "providers:\n  own: {api: openai-completions, baseUrl: 'http://127.0.0.1:1', apiKeyEnv: CORP_GATEWAY, models: [{id: m}]}\n"
	for name, tt := range map[string]struct{ text, want string }{
		"no mistake":             {whole, "CORP_GATEWAY"},
		"in small letters":       {strings.Replace(whole, "CORP_GATEWAY", "corp_gateway", 1), "corp_gateway"},
		"no name of a variable":  {strings.Replace(whole, "CORP_GATEWAY", "corp-gateway", 1), "corp-gateway"},
		"as in a shell":          {strings.Replace(whole, "CORP_GATEWAY", "$CORP_GATEWAY", 1), "CORP_GATEWAY"},
		"as in a shell, small":   {strings.Replace(whole, "CORP_GATEWAY", "'${corp_gateway}'", 1), "corp_gateway"},
		"as the key":             {strings.Replace(whole, "apiKeyEnv", "apiKey", 1), "CORP_GATEWAY"},
		"a mistake elsewhere":    {whole + "profils: {}\n", "CORP_GATEWAY"},
		"small and a mistake":    {strings.Replace(whole, "CORP_GATEWAY", "corp-gateway", 1) + "profils: {}\n", "corp-gateway"},
		"the field is wrong":     {strings.Replace(whole, "apiKeyEnv", "api_key_env", 1), "CORP_GATEWAY"},
		"no YAML":                {whole + "  broken: [\n", "CORP_GATEWAY"},
		"quoted":                 {strings.Replace(whole, "CORP_GATEWAY", `"CORP_GATEWAY"`, 1) + "x: 1\n", "CORP_GATEWAY"},
		"with escapes":           {strings.Replace(whole, "CORP_GATEWAY", `"corp\x5f\u0067ateway"`, 1) + "x: 1\n", "corp_gateway"},
		"a tag and an anchor":    {strings.Replace(whole, "CORP_GATEWAY", "!!str &k corp_gateway", 1) + "x: 1\n", "corp_gateway"},
		"an alias":               {"x: &k CORP_GATEWAY\n" + strings.Replace(whole, "CORP_GATEWAY", "*k", 1), "CORP_GATEWAY"},
		"UTF-16":                 {inUTF16(whole), "CORP_GATEWAY"},
		"too large":              {whole + strings.Repeat("# PATH\n", 30_000), "CORP_GATEWAY"},
		"names of every program": {whole + "x: PATH HOME\n", "CORP_GATEWAY"},
	} {
		w := newWorld(t)
		w.write("models.yml", tt.text, 0o600)
		got := w.registry().KeyVariables()
		if !slices.Contains(got, tt.want) || slices.Contains(got, "PATH") || slices.Contains(got, "HOME") {
			t.Errorf("%s: %q are kept back, want %s", name, got, tt.want)
		}
	}
}

// A variable whose address contains a key is hidden from child processes, and one without is not.
func TestKeyVariables_Addresses(t *testing.T) {
	w := newWorld(t)
	w.env["OPENAI_BASE_URL"], w.env["ANTHROPIC_BASE_URL"] = "https://me:key@corp.example/v1", "https://corp.example/v1"
	if got := w.registry().KeyVariables(); !slices.Contains(got, "OPENAI_BASE_URL") || slices.Contains(got, "ANTHROPIC_BASE_URL") {
		t.Errorf("%q are kept back", got)
	}
}

// A large file with a mistake is scanned once, not once for each provider: every new session reads it.
func BenchmarkRegistry_LargeBrokenFile(b *testing.B) {
	dir := b.TempDir()
	text := "baseUrl: x\n" + strings.Repeat("  some-provider: {apiKeyEnv: SOME_NAME, models: [a, b, c]}\n", 17_000)
	if err := os.WriteFile(filepath.Join(dir, "models.yml"), []byte(text), 0o600); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		r := registry.New(registry.Options{AgentDir: dir})
		if r.Load(b.Context()) == nil {
			b.Fatal("no mistake")
		}
	}
}

// A models.yml that is not a regular file is reported, and no server is asked for its models in the meantime.
func TestRegistry_LinkToNothing(t *testing.T) {
	w := newWorld(t)
	w.env["OPENAI_API_KEY"] = "corp-key"
	if err := os.Symlink(filepath.Join(w.dir, "gone.yml"), filepath.Join(w.dir, "models.yml")); err != nil {
		t.Skip("no links here")
	}
	r := w.registry()
	if err := r.Load(t.Context()); err == nil || !strings.Contains(err.Error(), "models.yml: not a regular file but a broken link") {
		t.Errorf("reported as %v", err)
	}
	info, _, err := r.Find("openai/gpt-4.1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Open(w.Context(), info); err == nil {
		t.Error("a model is asked all the same")
	}
}

// auth.json may begin with a byte order mark.
func TestRegistry_CredentialsWithByteOrderMark(t *testing.T) {
	w := newWorld(t)
	w.write("auth.json", "\ufeff"+`{"openai": {"type": "api_key", "key": "k"}}`, 0o600)
	r := w.registry()
	if err := r.Load(t.Context()); err != nil {
		t.Error(err)
	}
	if cfg := w.open(r, "openai/gpt-4.1"); cfg.APIKey != "k" {
		t.Errorf("the key is %q", cfg.APIKey)
	}
}
