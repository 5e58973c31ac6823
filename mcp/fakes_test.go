package mcp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gajae-code/gjc/internal/testenv"
	"github.com/gajae-code/gjc/mcp"
)

// fakeVariable is the environment variable that names the fake that the re-executed test binary acts as.
const fakeVariable = "GJC_MCP_FAKE"

func TestMain(m *testing.M) {
	name := os.Getenv(fakeVariable)
	if name == "" {
		os.Exit(testenv.Run(m))
	}
	fake, ok := fakes[name]
	if !ok {
		fmt.Fprintf(os.Stderr, "there is no fake called %q\n", name)
		os.Exit(2)
	}
	fake()
	os.Exit(0)
}

// fakes are the stdio servers of the tests. The "kit" ones use the SDK; the others are written by hand, because they do things that
// no SDK does.
var fakes = map[string]func(){
	"kit-stateless": func() { _ = newKit("kit", stateless).server.Run(context.Background(), &sdk.StdioTransport{}) },
	"kit-handshake": func() { _ = newKit("kit", handshake).server.Run(context.Background(), &sdk.StdioTransport{}) },

	// nags asks questions in a call until one is refused, and returns why.
	"nags": func() {
		s := sdk.NewServer(&sdk.Implementation{Name: "nags"}, &sdk.ServerOptions{SupportedProtocolVersions: []string{handshake}})
		s.AddTool(&sdk.Tool{Name: "nag", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			for {
				_, err := r.Session.Elicit(ctx, &sdk.ElicitParams{Mode: "form", Message: "Again?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{}}`)})
				if err != nil {
					return text(err.Error()), nil
				}
			}
		})
		_ = s.Run(context.Background(), &sdk.StdioTransport{})
	},

	// strict hangs up when the first message is not initialize, as some SDKs do.
	"strict": func() {
		(&rawServer{before: func(method string) bool {
			if method != "initialize" && !strings.HasPrefix(method, "notifications/") && method != "tools/list" {
				fmt.Fprintln(os.Stderr, "expected initialize")
				os.Exit(1)
			}
			return true
		}}).run()
	},
	// silent does not answer unknown requests.
	"silent": func() {
		(&rawServer{before: func(method string) bool { return method != "server/discover" }}).run()
	},
	// hang reads everything and writes nothing except to stderr.
	"hang": func() {
		fmt.Fprintln(os.Stderr, "thinking about it")
		for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		}
	},
	"puppet": runPuppet,
	// crash dies at once.
	"crash": func() {
		fmt.Fprintln(os.Stderr, "no licence for", os.Getenv("KIT_SECRET"))
		os.Exit(3)
	},
	// junk prints text that is not a message before, between and after its messages.
	"junk": func() {
		fmt.Println("Starting server…")
		fmt.Println(`{"level":"info","msg":"hello"}`)
		fmt.Println(`"just a string"`)
		fmt.Println(strings.Repeat("x", 100_000))
		(&rawServer{before: func(string) bool { fmt.Println("debug: got one\x00\xff"); return true }}).run()
	},
	// die exits during its first call.
	"die": func() {
		(&rawServer{call: func(string) any {
			fmt.Fprintln(os.Stderr, "panic: out of cheese; the key is", os.Getenv("KIT_SECRET"))
			os.Exit(7)
			return nil
		}}).run()
	},
	// huge answers with 100 MB.
	"huge": func() {
		(&rawServer{call: func(tool string) any {
			if tool != "run" {
				return textResult("still here")
			}
			return textResult(strings.Repeat("y", hugeAnswer))
		}}).run()
	},
	// restless reports a change of its tools three thousand times in each call, and 100 times with each list. It returns how often the tools
	// were listed.
	"restless": func() {
		lists := 0
		changed := func(n int) {
			fmt.Print(strings.Repeat(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`+"\n", n))
		}
		(&rawServer{before: func(method string) bool {
			if method == "tools/list" {
				lists++
				changed(100)
			}
			return true
		}, call: func(string) any {
			changed(3_000)
			return textResult(fmt.Sprint(lists))
		}}).run()
	},
	// liar describes its tools incorrectly.
	"liar": func() {
		(&rawServer{tools: []any{
			map[string]any{"name": "", "inputSchema": map[string]any{"type": "object"}},
			map[string]any{"name": "list_schema", "inputSchema": []any{1, 2}},
			map[string]any{"name": "no_schema"},
			map[string]any{"name": "string_type", "inputSchema": map[string]any{"type": "string"}},
			map[string]any{"name": "bad_types", "inputSchema": map[string]any{
				"type": "object", "required": "a",
				"properties": map[string]any{"a": map[string]any{"type": "strng", "description": "an a"}, "b": 5},
			}},
			map[string]any{"name": "choice", "inputSchema": map[string]any{"anyOf": []any{
				map[string]any{"properties": map[string]any{"x": map[string]any{"type": "string"}}},
				map[string]any{"properties": map[string]any{"y": map[string]any{"type": "string"}}},
			}}},
			map[string]any{"name": "long", "description": strings.Repeat("blah ", 200_000), "inputSchema": map[string]any{"type": "object"}},
			map[string]any{"name": "promise", "inputSchema": map[string]any{"type": "object"}, "outputSchema": map[string]any{
				"type": "object", "properties": map[string]any{"n": map[string]any{"type": "integer"}}, "required": []any{"n"},
			}},
			map[string]any{"name": "remote_ref", "inputSchema": map[string]any{
				"type": "object", "properties": map[string]any{"z": map[string]any{"$ref": "https://schema.invalid/z.json"}},
			}},
		}, call: func(string) any {
			r := textResult("")
			r["content"] = []any{}
			r["structuredContent"] = map[string]any{"n": "many"}
			return r
		}}).run()
	},
	// pages lists tools endlessly, with the same cursor.
	"pages": func() { (&rawServer{cursor: func(int) string { return "again" }}).run() },
	// endless lists tools endlessly, with a new cursor each time.
	"endless": func() { (&rawServer{cursor: func(n int) string { return fmt.Sprint("c", n) }}).run() },
	// stubborn exits only on SIGKILL.
	"stubborn": func() {
		signal.Ignore(syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT)
		go (&rawServer{call: func(string) any { return textResult(fmt.Sprint(os.Getpid())) }}).run()
		select {}
	},
	// forks starts a child that outlives it, and returns both process IDs.
	"forks": func() {
		child := exec.Command(os.Args[0])
		child.Env = []string{fakeVariable + "=sleeper"}
		child.Stdout = os.Stdout
		if err := child.Start(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		(&rawServer{call: func(string) any { return textResult(fmt.Sprint(os.Getpid(), " ", child.Process.Pid)) }}).run()
	},
	"sleeper": func() {
		signal.Ignore(syscall.SIGTERM, syscall.SIGHUP)
		select {}
	},
	// flood writes 20 MB to stderr in each call.
	"flood": func() {
		(&rawServer{call: func(string) any {
			line := strings.Repeat("w", 1023) + "\n"
			for range 20 << 10 {
				fmt.Fprint(os.Stderr, line)
			}
			return textResult("dry")
		}}).run()
	},
	// asks sends unknown requests and returns the responses.
	"asks": func() { (&rawServer{asks: true}).run() },
	// deaf stops reading after its list of tools.
	"deaf": func() {
		r := &rawServer{}
		r.before = func(method string) bool {
			if method == "tools/call" {
				select {}
			}
			return true
		}
		r.run()
	},
}

func textResult(s string) map[string]any {
	return map[string]any{"content": []any{map[string]any{"type": "text", "text": s}}}
}

// rawServer is a stdio server that does not use an SDK and speaks a protocol with a handshake.
type rawServer struct {
	tools  []any
	call   func(tool string) any
	before func(method string) bool // false: no answer
	cursor func(page int) string
	asks   bool
}

func (r *rawServer) run() {
	out := json.NewEncoder(os.Stdout)
	in := json.NewDecoder(os.Stdin)
	if r.tools == nil {
		r.tools = []any{
			map[string]any{"name": "run", "inputSchema": map[string]any{"type": "object"}},
			map[string]any{"name": "again", "inputSchema": map[string]any{"type": "object"}},
		}
	}
	var waiting json.RawMessage // the call that waits for the answers to asks
	answers := make(map[string]string)
	page := 0
	for {
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params struct {
				Name            string `json:"name"`
				ProtocolVersion string `json:"protocolVersion"`
			} `json:"params"`
			Result json.RawMessage `json:"result"`
			Error  *struct{ Code int }
		}
		if in.Decode(&m) != nil {
			return
		}
		if m.Method == "" { // an answer to a request of the fake
			answers[string(m.ID)] = "ok"
			if m.Error != nil {
				answers[string(m.ID)] = fmt.Sprint(m.Error.Code)
			}
			if len(answers) == 3 {
				text := answers["100"] + " " + answers["101"] + " " + answers["102"]
				_ = out.Encode(map[string]any{"jsonrpc": "2.0", "id": waiting, "result": textResult(text)})
			}
			continue
		}
		if r.before != nil && !r.before(m.Method) || m.ID == nil {
			continue
		}
		answer := map[string]any{"jsonrpc": "2.0", "id": m.ID}
		switch m.Method {
		case "initialize":
			answer["result"] = map[string]any{
				"protocolVersion": m.Params.ProtocolVersion, "serverInfo": map[string]any{"name": "raw", "version": "0"},
				"capabilities": map[string]any{"tools": map[string]any{"listChanged": true}},
			}
		case "tools/list":
			page++
			list := map[string]any{"tools": r.tools}
			if r.cursor != nil {
				list["nextCursor"] = r.cursor(page)
			}
			answer["result"] = list
		case "tools/call":
			if r.asks {
				waiting = m.ID
				for i, method := range []string{"ping", "sampling/createMessage", "nobody/knows"} {
					_ = out.Encode(map[string]any{"jsonrpc": "2.0", "id": 100 + i, "method": method, "params": map[string]any{
						"messages": []any{}, "maxTokens": 1,
					}})
				}
				continue
			}
			if r.call == nil {
				answer["result"] = textResult("ran " + m.Params.Name)
			} else {
				answer["result"] = r.call(m.Params.Name)
			}
		default:
			answer["error"] = map[string]any{"code": -32601, "message": "Method not found"}
		}
		_ = out.Encode(answer)
	}
}

// fake returns the entry of a fake stdio server.
func fake(t testing.TB, name string, env ...string) mcp.Server {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return mcp.Server{Name: name, Stdio: &mcp.Stdio{Command: self, Env: append([]string{
		// A race-enabled binary sleeps for a second before it exits, unless configured otherwise.
		fakeVariable + "=" + name, "GORACE=atexit_sleep_ms=0",
	}, env...)}}
}
