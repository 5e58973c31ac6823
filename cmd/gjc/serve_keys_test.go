package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/gajae-code/gjc/internal/testenv"
	"github.com/gajae-code/gjc/providers/providertest"
)

// operatorsSecret is a key of the operator's.
const operatorsSecret = "sk-of-the-operator-0123456789"

// TestServe_ProviderKeys checks that users work with a key of the operator which they cannot read, kept apart by bubblewrap.
func TestServe_ProviderKeys(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("root gives each user one of the operating system; TestServe_ProviderKeysAsRoot")
	}
	testenv.NeedsTool(t, "bwrap")
	testProviderKeys(t)
}

// TestServe_ProviderKeysAsRoot checks the same with users of the operating system.
func TestServe_ProviderKeysAsRoot(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can run engines as other users")
	}
	dir := passable(t)
	testProviderKeys(t, "--uids", "272100-272109", "--serve-dir", dir)
}

func testProviderKeys(t *testing.T, args ...string) {
	t.Helper()
	model := providertest.NewServer(providertest.Step{providertest.Text("Hello from the model")})
	t.Cleanup(model.Close)
	refuse := false
	model.Else(func(providertest.Recorded) providertest.Step {
		if refuse {
			return providertest.Step{providertest.Status(401, `{"error":{"message":"Incorrect API key provided: `+operatorsSecret+`"}}`, nil)}
		}
		return providertest.Step{providertest.Text("Hello again")}
	})
	keys := filepath.Join(tempDir(t), "keys.json")
	write := func(key string) {
		t.Helper()
		text := fmt.Sprintf(`{"openai": {"key": %q, "baseUrl": %q}}`, key, model.URL(providertest.OpenAIResponses()))
		if err := os.WriteFile(keys, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(operatorsSecret)
	s := startServe(t, map[string]string{"ann": "--user ann", "ops": "--user ops --scopes admin"}, append(args, "--provider-keys", keys)...)
	ann := s.connect("ann")
	ann.initialize(object{})
	ann.work = filepath.Join(s.dir, "users", "ann")
	id := ann.session("auto")
	turn := func(prompt string) string {
		t.Helper()
		request := ann.prompt(id, prompt)
		var text strings.Builder
		for {
			m, before := ann.until("the end of "+prompt, func(m message) bool {
				return m.isResponse() && string(m.ID) == request || m.Method == "session/request_permission"
			})
			text.WriteString(strings.Join(lines(before), "\n"))
			if m.isResponse() {
				text.WriteString(m.line)
				return text.String()
			}
			ann.reply(m, `{"outcome":{"outcome":"selected","optionId":"`+firstOption(t, m)+`"}}`)
		}
	}
	if got := turn("hi"); !strings.Contains(got, "Hello from the model") {
		t.Fatalf("a turn with the operator's key: %s", got)
	}
	if got := model.Requests()[0].Header.Get("Authorization"); got != "Bearer "+operatorsSecret {
		t.Errorf("the provider gets %q", got)
	}
	if _, metrics := s.get("ops", "/metrics", nil); !strings.Contains(metrics, `gjc_provider_requests_total{user="ann",provider="openai",outcome="ok"}`) {
		t.Errorf("the metrics: %s", metrics)
	}

	// What the user's commands see. The pattern does not find itself.
	pattern := strings.Replace(operatorsSecret, "operator", "op[e]rator", 1)
	var seen strings.Builder
	for _, command := range []string{
		"env; cat /proc/*/environ /proc/*/cmdline 2>/dev/null | tr '\\0' '\\n' | grep -a '" + pattern + "'",
		"cat " + keys + "; ls " + filepath.Dir(keys),
		"grep -raI '" + pattern + "' ~ /tmp 2>/dev/null | head -c 2000",
	} {
		seen.WriteString(turn("!bash " + command))
	}
	if runtime.GOOS == "linux" {
		checkProcesses(t)
	}
	refuse = true
	failed := turn("again")
	if !strings.Contains(failed, "the server's operator") {
		t.Errorf("a refused key: %s", failed)
	}
	refuse = false

	// A replaced key counts from the next request on.
	write("sk-the-second-key-0123456789")
	if err := s.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	for n := 0; ; n++ { // until the server has read it
		turn("once more")
		all := model.Requests()
		if all[len(all)-1].Header.Get("Authorization") == "Bearer sk-the-second-key-0123456789" {
			break
		}
		if n == 100 {
			t.Fatal("the key is not replaced after SIGHUP")
		}
	}

	ann.stop()
	for place, text := range map[string]string{"what commands see": seen.String(), "an error": failed, "the log": s.log.String()} {
		if strings.Contains(text, operatorsSecret) {
			t.Errorf("%s has the key: %s", place, text)
		}
	}
	err := filepath.WalkDir(s.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || d.Name() == "gjc.test" { // this test has the key
			return err
		}
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte(operatorsSecret)) {
			t.Errorf("%s has the key", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// checkProcesses searches all processes that this user can read, as root those of all users.
func checkProcesses(t *testing.T) {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/*")
	if err != nil {
		t.Fatal(err)
	}
	engines := 0
	for _, path := range all {
		if name := filepath.Base(path); name != "environ" && name != "cmdline" {
			continue
		}
		data, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended, or is another user's
		}
		if bytes.Contains(data, []byte("engine\x00")) {
			engines++
		}
		if bytes.Contains(data, []byte(operatorsSecret)) {
			t.Errorf("%s has the key", path)
		}
	}
	if engines == 0 {
		t.Error("no engine is seen")
	}
}

// TestServe_ProviderKeysRefused has files that the server does not start with.
func TestServe_ProviderKeysRefused(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the permissions of a file are not in its mode here")
	}
	home := tempDir(t)
	token, keys := filepath.Join(home, "token"), filepath.Join(home, "keys.json")
	for path, text := range map[string]string{token: "a-token-of-the-operator", keys: `{"openai": {"key": "` + operatorsSecret + `"}}`} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(keys, 0o640); err != nil {
		t.Fatal(err)
	}
	refused := func(want string, env ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), self(t), "serve", "--listen", "127.0.0.1:0", "--token-file", token, "--provider-keys", keys)
		cmd.Env = environment(home, env...)
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), want) || bytes.Contains(out, []byte(operatorsSecret)) {
			t.Errorf("%v: %s", err, out)
		}
	}
	refused("other users can read it; use chmod 600")
	if err := os.Chmod(keys, 0o600); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() != 0 { // without a boundary
		refused("users could read the keys", "PATH=/nonexistent")
	}
	data, err := json.Marshal(map[string]string{"openai": operatorsSecret})
	if err == nil {
		err = os.WriteFile(keys, data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	refused("it must be JSON such as")
}
