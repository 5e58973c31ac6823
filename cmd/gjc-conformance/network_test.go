package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gajae-code/gjc/conformance"
	"github.com/gajae-code/gjc/internal/testenv"
)

// areas selects checks for the clients of the SDK. Each check starts Node.js, so the tests have four areas, and "task conformance:network" all.
var areas = flag.String("areas", `^(permission|isolation|cancel|plan)\.`, "regular expression of the checks for the clients of the SDK")

// knownOfSDK are the checks that no client of the SDK passes, with the reason.
func knownOfSDK() map[string]string {
	known := map[string]string{
		"jsonrpc.id.big-number": "numbers of JavaScript have 53 bits",
		"exit.signal.code":      "Node.js is ended by the signal",
	}
	for _, id := range []string{
		"transport.deep-nesting", "jsonrpc.junk.words", "jsonrpc.junk.cut-off", "jsonrpc.junk.two-values", "jsonrpc.junk.binary", "jsonrpc.junk.repeated",
		"exit.eof.half-a-line", "robustness.mixed-junk",
	} {
		known[id] = "the client parses what it sends, and ends at what is no JSON or is cut off"
	}
	return known
}

// knownOfHTTP are further checks that the SDK's HTTP client does not pass on.
func knownOfHTTP() map[string]string {
	known := knownOfSDK()
	known["cancel.malformed"] = "a cancel without its session is refused by its header, and the client closes the connection"
	for _, id := range []string{"init.first", "init.late"} {
		known[id] = "there is no connection before initialize"
	}
	for _, id := range []string{"jsonrpc.params.number", "jsonrpc.params.empty", "jsonrpc.notification.bad-params", "jsonrpc.notification.of-a-request"} {
		known[id] = "the client finds no session for the header that the proposal requires"
	}
	for _, id := range []string{"jsonrpc.invalid.scalar", "jsonrpc.invalid.null", "jsonrpc.batch.lives", "jsonrpc.batch.answered", "jsonrpc.batch.empty"} {
		known[id] = "the client does not send what is no message"
	}
	return known
}

// Some checks may end either way: a client of the SDK may end before the last answers have come, and over HTTP the streams of the connection and
// of the session have no common order.
var (
	eitherOfSDK  = [...]string{"exit.eof.answers-first"}
	eitherOfHTTP = [...]string{
		"session.load.user", "session.load.agent", "session.load.message-ids", "session.load.order", "session.load.before-response",
		"session.load.tools", "session.load.tools-ended", "session.load.tools-announced", "prompt.updates-first",
	}
)

// gjc is conformant over the network: by "gjc connect", and by the clients of the official SDK for WebSocket and HTTP.
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
	pump := filepath.Join(testenv.NeedsInterop(t), "pump.mjs")
	for name, test := range map[string]struct {
		command func(address string) []string
		areas   string
		known   map[string]string
	}{
		"connect": {func(address string) []string { return []string{agent, "connect", address} }, ".", nil},
		"SDK over WebSocket": {func(address string) []string {
			return []string{testenv.NeedsTool(t, "node"), pump, "ws" + strings.TrimPrefix(address, "http")}
		}, *areas, knownOfSDK()},
		"SDK over HTTP": {func(address string) []string {
			return []string{testenv.NeedsTool(t, "node"), pump, address}
		}, *areas, knownOfHTTP()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address, token := startServe(t, agent)
			options := conformance.Options{
				Command: test.command(address), Env: []string{"PATH=/usr/local/bin:/usr/bin:/bin", "GJC_TOKEN=" + token},
				Prompts: conformance.GJCPrompts(), Strict: true, Patience: 10 * time.Second, Timeout: 20 * time.Minute, Quiet: 500 * time.Millisecond,
			}
			options.Select = regexp.MustCompile(test.areas)
			report, err := conformance.Run(t.Context(), options)
			if err != nil {
				t.Fatal(err)
			}
			expected := maps.Clone(known)
			maps.Copy(expected, test.known)
			passed := 0
			for _, r := range report.Results {
				switch reason, ok := expected[r.ID]; {
				case name != "connect" && slices.Contains(eitherOfSDK[:], r.ID), name == "SDK over HTTP" && slices.Contains(eitherOfHTTP[:], r.ID):
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
