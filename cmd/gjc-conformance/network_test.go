package main

import (
	"bufio"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gajae-code/gjc/conformance"
	"github.com/gajae-code/gjc/internal/testenv"
)

// knownOfHTTP are the checks that the SDK's HTTP client does not pass on, with the reason.
var knownOfHTTP = map[string]string{
	"cancel.malformed": "a cancel without its session is refused by its header, and the client closes the connection",
}

// gjc is conformant over the network: by "gjc connect", and by the clients of the official SDK for WebSocket and HTTP. For those, the
// checks are those of areas that are not about lines: a client that parses what it sends refuses what is no message itself. Nor are they about
// the order of messages of two streams: over HTTP, a session's updates and the answer to its session/load have none.
func TestGJC_Network(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the prompts' commands are those of a POSIX shell")
	}
	if testenv.Race {
		t.Skip("the gjc that is tested is built without the race detector")
	}
	t.Parallel()
	agent := filepath.Join(t.TempDir(), "gjc")
	build := exec.CommandContext(t.Context(), testenv.NeedsTool(t, "go"), "build", "-o", agent, "./cmd/gjc")
	build.Dir = testenv.ModuleRoot(t)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building gjc: %v\n%s", err, out)
	}
	const areas = `^(permission|isolation|cancel|plan)\.` // each check starts Node.js
	pump := filepath.Join(testenv.NeedsInterop(t), "pump.mjs")
	for name, test := range map[string]struct {
		command func(address string) []string
		areas   string
		known   map[string]string
	}{
		"connect": {func(address string) []string { return []string{agent, "connect", address} }, "", nil},
		"SDK over WebSocket": {func(address string) []string {
			return []string{testenv.NeedsTool(t, "node"), pump, "ws" + strings.TrimPrefix(address, "http")}
		}, areas, nil},
		"SDK over HTTP": {func(address string) []string {
			return []string{testenv.NeedsTool(t, "node"), pump, address}
		}, areas, knownOfHTTP},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address, token := startServe(t, agent)
			options := conformance.Options{
				Command: test.command(address), Env: []string{"PATH=/usr/local/bin:/usr/bin:/bin", "GJC_TOKEN=" + token},
				Prompts: conformance.GJCPrompts(), Strict: true, Patience: 10 * time.Second, Timeout: 3 * time.Minute, Quiet: 500 * time.Millisecond,
			}
			if test.areas != "" {
				options.Select = regexp.MustCompile(test.areas)
			}
			report, err := conformance.Run(t.Context(), options)
			if err != nil {
				t.Fatal(err)
			}
			expected := maps.Clone(known)
			maps.Copy(expected, test.known)
			passed := 0
			for _, r := range report.Results {
				switch reason, ok := expected[r.ID]; {
				case r.Status == conformance.StatusFailed && !ok:
					t.Errorf("%s (%s): %s", r.ID, r.Tier, r.Detail)
				case r.Status == conformance.StatusPassed && ok:
					t.Errorf("%s passes now; take it from the table (%s)", r.ID, reason)
				case r.Status == conformance.StatusPassed:
					passed++
				}
			}
			if passed < 40 {
				t.Errorf("%d checks have passed", passed)
			}
		})
	}
}

// startServe starts "gjc serve" on a port of its own. It ends with the test.
func startServe(t *testing.T, agent string) (address, token string) {
	t.Helper()
	token = strings.Repeat("t", 32)
	home := t.TempDir()
	file := filepath.Join(home, "token")
	if err := os.WriteFile(file, []byte(token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(agent, "serve", "--listen", "127.0.0.1:0", "--token-file", file, "--model", "offline/demo")
	cmd.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + home}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			t.Errorf("gjc serve: %v", err)
		}
	})
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	var listening struct{ Listening string }
	if err == nil {
		err = json.Unmarshal(line, &listening)
	}
	if err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	return listening.Listening, token
}
