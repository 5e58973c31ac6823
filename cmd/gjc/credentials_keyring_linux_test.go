package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/internal/proc"
	"github.com/gajae-code/gjc/internal/testenv"
	"github.com/gajae-code/gjc/providers/providertest"
)

// secretService starts a message bus with GNOME's keyring, unlocked and empty, and returns the bus's address. The bus
// starts the keyring at its first use.
func secretService(t *testing.T) string {
	t.Helper()
	bus, daemon := testenv.NeedsTool(t, "dbus-daemon"), testenv.NeedsTool(t, "gnome-keyring-daemon")
	dir := tempDir(t)
	writeFile(t, filepath.Join(dir, "services", "org.freedesktop.secrets.service"),
		"[D-BUS Service]\nName=org.freedesktop.secrets\nExec=/bin/sh "+filepath.Join(dir, "keyring.sh")+"\n")
	// A password that ends with the input unlocks the keyring; the first one creates it.
	writeFile(t, filepath.Join(dir, "keyring.sh"), "printf hush | exec "+daemon+" --unlock --foreground --components=secrets\n")
	writeFile(t, filepath.Join(dir, "bus.conf"), fmt.Sprintf(`<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>session</type>
  <listen>unix:dir=%s</listen>
  <servicedir>%s</servicedir>
  <policy context="default"><allow send_destination="*"/><allow eavesdrop="false"/><allow own="*"/></policy>
</busconfig>
`, dir, filepath.Join(dir, "services")))
	p, err := proc.Start(t.Context(), &proc.Options{
		Path: bus, Args: []string{"--config-file=" + filepath.Join(dir, "bus.conf"), "--nofork", "--print-address"}, Dir: dir,
		Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "XDG_RUNTIME_DIR=" + dir, markOf(t)},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	address, err := bufio.NewReader(p.Stdout()).ReadString('\n')
	if err != nil {
		t.Fatalf("the bus tells no address: %v", err)
	}
	return strings.TrimSpace(address)
}

// A key that the user stores in the desktop's keyring is not on the disk; a session reads it from the keyring, and a logout deletes
// it.
func TestKeyring_SecretService(t *testing.T) {
	t.Parallel()
	const key = "sk-of-the-keyring-0123456789"
	address := secretService(t)
	model := providertest.NewServer()
	t.Cleanup(model.Close)
	model.Else(func(providertest.Recorded) providertest.Step { return providertest.Step{providertest.Text("reached")} })
	home := tempDir(t)
	writeFile(t, filepath.Join(agentDir(home), "models.yml"), fmt.Sprintf(
		"providers:\n  fake: {api: openai-completions, baseUrl: %s, auth: apiKey, models: [{id: m}]}\n", model.URL(providertest.OpenAICompletions()),
	))
	env := []string{"DBUS_SESSION_BUS_ADDRESS=" + address, "GJC_NO_TITLE=1"}
	gjc := func(stdin string, args ...string) string {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), hang)
		defer cancel()
		cmd := exec.CommandContext(ctx, self(t), args...)
		cmd.Dir, cmd.Env, cmd.Stdin = home, environment(home, env...), strings.NewReader(stdin)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("gjc %s: %v\n%s", args, err, out)
		}
		return string(out)
	}

	gjc(key+"\n", "login", "fake", "--keyring")
	auth := filepath.Join(agentDir(home), "auth.json")
	if data, err := os.ReadFile(auth); err != nil || strings.Contains(string(data), key) || !strings.Contains(string(data), `"keyring"`) {
		t.Errorf("auth.json: %s, %v", data, err)
	}
	if list := gjc("", "models"); !strings.Contains(list, "fake/m") || !strings.Contains(list, "keyring") {
		t.Errorf("models:\n%s", list)
	}

	l := startLife(t, lifeOptions{home: home, env: env})
	l.begin()
	if got := l.turn("go"); got != "reached" {
		t.Errorf("it says %q", got)
	}
	l.stop()
	for _, r := range model.Requests() {
		if got := r.Header.Get("Authorization"); got != "Bearer "+key {
			t.Errorf("a request with the key %q", got)
		}
	}
	if len(model.Requests()) == 0 {
		t.Error("no request")
	}

	gjc("", "logout", "fake")
	// The file's entry names the location of the key; restoring the entry does not restore the key.
	writeFile(t, auth, `{"fake":{"type":"keyring"}}`)
	again := startLife(t, lifeOptions{home: home, env: env})
	id := again.begin()
	if e := wantFails(again, acp.MethodSessionPrompt, &acp.PromptRequest{SessionID: id, Prompt: []acp.ContentBlock{textBlock("go")}}); !strings.Contains(e.Message, "gjc login fake") {
		t.Errorf("it fails with %v", e)
	}
	again.stop()
}
