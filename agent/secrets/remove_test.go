package secrets_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/agent/secrets"
)

// Values of the environment and of secrets.yml, and keys by their form, are removed without a trace, also in JSON.
func TestLoadRemoved(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "secrets.yml"), "- type: plain\n  content: the-plain-value\n- type: regex\n  content: user-[0-9]{4}\n")
	set, err := secrets.LoadRemoved(&secrets.Options{AgentDir: dir, Dir: t.TempDir(), Environ: []string{"SOME_API_KEY=value/of\"env", "HOME=/home/me"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{
		"the-plain-value", "user-1234", `value/of"env`, `value/of\"env`, "ghp_" + strings.Repeat("a1", 18), "sk-ant-" + strings.Repeat("x", 30), "AKIAABCDEFGHIJKLMNOP",
		"-----BEGIN RSA PRIVATE KEY-----\nabc+/=\n-----END RSA PRIVATE KEY-----", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.SflKxwRJSMeKKF2",
	} {
		if got, want := set.Hide("before "+secret+" after"), "before "+secrets.Removed+" after"; got != want {
			t.Errorf("%q: %q, want %q", secret, got, want)
		}
	}
	for _, text := range []string{"task-oriented-programming-in-go", "sk-short", "/srv/ghp_x", "user-12"} {
		if got := set.Hide(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}
