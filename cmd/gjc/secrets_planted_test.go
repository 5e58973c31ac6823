package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gajae-code/gjc/providers/providertest"
)

// planted holds the planted keys by the place that contains each.
type planted struct {
	keys map[string]string
}

// plant creates a key for a place. It matches no pattern of known keys, so only code that knows the key can remove it.
func (p *planted) plant(place string) string {
	if p.keys == nil {
		p.keys = map[string]string{}
	}
	n := len(p.keys) + 1
	key := fmt.Sprintf("Planted%02dQzWx%02dKeyRtYu%02dNobodyMaySee%02dThis", n, n, n, n)
	p.keys[place] = key
	return key
}

// in fails the test if a text contains a key: whole, one of its ends, or in another spelling.
func (p *planted) in(t *testing.T, where, text string) {
	t.Helper()
	for place, key := range p.keys {
		parts := []string{key[:24], key[len(key)-24:], url.QueryEscape(key)}
		for _, user := range []string{"planted:", ""} {
			parts = append(parts, base64.StdEncoding.EncodeToString([]byte(user + key))[:32])
		}
		for _, part := range parts {
			if i := strings.Index(text, part); i >= 0 {
				t.Errorf("the key of %s is in %s: …%s…", place, where, text[max(0, i-120):i+len(part)])
				break
			}
		}
	}
}

func (p *planted) inFiles(t *testing.T, dir string, except ...string) {
	t.Helper()
	seen := 0
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || slices.Contains(except, d.Name()) {
			return err
		}
		data, err := os.ReadFile(path)
		if err == nil {
			seen++
			p.in(t, path, string(data))
		}
		return err
	})
	if err != nil || seen == 0 {
		t.Errorf("%s: %d files were looked into, %v", dir, seen, err)
	}
}

// echo is a server that repeats what it receives, including the key, in all the ways in which servers complain.
type echo struct {
	*httptest.Server
	mu       sync.Mutex
	asked    map[string]int // count of requests by path
	received strings.Builder
}

// echoShapes is the number of ways in which an echo complains.
const echoShapes = 11

func newEcho(t *testing.T) *echo {
	e := &echo{asked: map[string]int{}}
	e.Server = httptest.NewServer(e)
	t.Cleanup(e.Close)
	return e
}

func (e *echo) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var said []string
	for name, values := range r.Header {
		if n := strings.ToLower(name); strings.Contains(n, "auth") || strings.Contains(n, "key") || strings.Contains(n, "planted") || strings.Contains(n, "token") {
			said = append(said, values...)
			for _, v := range values {
				if _, token, ok := strings.Cut(v, " "); ok && n != "proxy-authorization" { // no server repeats half of a proxy's key
					said = append(said, token)
				}
			}
		}
	}
	said = append(said, r.URL.String())
	for _, values := range r.URL.Query() {
		said = append(said, values...)
	}
	if r.URL.Path == "/token" { // the token endpoint of Google's accounts
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"access_token":%q,"expires_in":3600,"token_type":"Bearer"}`, r.URL.Query().Get("gives"))
		return
	}
	slices.Sort(said)
	text := strings.Join(said, ", ")
	if user, password, ok := r.BasicAuth(); ok {
		text += ", " + user + ":" + password
	}
	e.mu.Lock()
	shape := e.asked[r.URL.Path] % echoShapes
	e.asked[r.URL.Path]++
	e.received.WriteString(text)
	e.mu.Unlock()
	quoted, _ := json.Marshal("the key is wrong: " + text)
	body := fmt.Sprintf(`{"type":"error","error":{"type":"authentication_error","code":"invalid_api_key","message":%s}}`, quoted)
	send := func(code int, kind, body string) {
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(code)
		_, _ = w.Write([]byte(body))
	}
	switch shape {
	case 0:
		send(http.StatusUnauthorized, "application/json", body)
	case 1:
		send(http.StatusForbidden, "application/json", `{"message":`+string(quoted)+`}`)
	case 2:
		send(http.StatusBadRequest, "text/plain", "bad request: "+text)
	case 3:
		send(http.StatusOK, "text/html", "<html><title>"+text+"</title><body>"+text+"</body></html>")
	case 4:
		send(http.StatusBadGateway, "text/html", "<html><body><h1>"+text+"</h1></body></html>")
	case 5:
		w.Header().Set("Location", "http://user:"+url.QueryEscape(said[0])+"@elsewhere.invalid/?key="+url.QueryEscape(text))
		w.WriteHeader(http.StatusTemporaryRedirect)
	case 6:
		send(http.StatusOK, "text/event-stream", "event: error\ndata: "+body+"\n\n")
	case 7:
		send(http.StatusOK, "text/event-stream", "data: {\"choices\": "+text+"\n\n")
	case 8: // a truncated text can contain a part of a key
		send(http.StatusBadRequest, "text/plain", strings.Repeat("x", 270)+" "+said[len(said)-1])
	case 9:
		send(http.StatusTooManyRequests, "application/json", "["+body+"]")
	default:
		send(http.StatusNotFound, "application/json", `{"error":`+string(quoted)+`,"detail":{"a":`+string(quoted)+`}}`)
	}
}

// tryAll prompts a model until its server has complained in every way.
func tryAll(t *testing.T, p *peer, session, model string) {
	t.Helper()
	p.call("session/set_config_option", object{"sessionId": session, "configId": "model", "value": model})
	for range echoShapes {
		if m, _ := p.answer(p.prompt(session, "hello")); m.Error == nil {
			t.Errorf("%s: the prompt got %s", model, m.line)
		}
	}
}

// TestSecrets_Planted puts a key in every place that can have one, does everything in one run, with servers that repeat
// what they receive, and checks everything that is left. Only the places themselves may contain a key.
func TestSecrets_Planted(t *testing.T) {
	t.Parallel()
	var keys planted
	model, bad := providertest.NewServer(), newEcho(t)
	defer model.Close()
	home, logs, cloud := tempDir(t), tempDir(t), tempDir(t)
	agent := filepath.Join(home, ".gjc", "agent")
	address, err := url.Parse(bad.URL)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(agent, "auth.json"), fmt.Sprintf(
		`{"openai":{"type":"api_key","key":%q,"keys":[%q,%q]},"groq":{"type":"api_key","key":%q}}`,
		keys.keys["auth.json"], keys.plant("auth.json, first"), keys.plant("auth.json, second"), keys.plant("auth.json"),
	))
	writeFile(t, filepath.Join(agent, "models.yml"), fmt.Sprintf(`providers:
  literal: {api: openai-completions, baseUrl: %[1]q, apiKey: %[2]q, models: [{id: m}]}
  named: {api: anthropic-messages, baseUrl: "%[1]s/named", apiKeyEnv: CORP_GATEWAY, models: [{id: m}]}
  headers:
    api: openai-completions
    baseUrl: "%[1]s/headers"
    auth: none
    headers: {Authorization: "Bearer %[3]s", X-Planted-One: %[4]q}
    models: [{id: m, headers: {X-Planted-Two: "%[5]s more"}}]
  transform:
    api: openai-completions
    baseUrl: "%[1]s/transform"
    auth: none
    requestTransform: {setHeaders: {Authorization: "Bearer %[6]s"}}
    models: [{id: m, requestTransform: {setHeaders: {X-Planted-Three: %[7]q}}}]
  address: {api: openai-completions, baseUrl: "http://planted:%[8]s@%[9]s/address?key=%[10]s", auth: none, models: [{id: m}]}
  closed: {api: openai-completions, baseUrl: "http://planted:%[8]s@127.0.0.1:1/closed?key=%[10]s", auth: none, models: [{id: m}]}
  far: {api: openai-completions, baseUrl: "http://models.invalid/far", auth: none, models: [{id: m}]}
`, bad.URL, keys.plant("models.yml, apiKey"), keys.plant("models.yml, headers"), keys.plant("models.yml, a short header"),
		keys.plant("models.yml, headers of a model"), keys.plant("setHeaders"), keys.plant("setHeaders of a model"),
		keys.plant("password of a base URL"), address.Host, keys.plant("query of a base URL")))
	writeFile(t, filepath.Join(agent, "config.yml"), fmt.Sprintf("network: {proxy: 'http://planted:%s@%s'}\nretry: {enabled: false}\ntitle: {generate: false}\n",
		keys.plant("network.proxy"), address.Host))
	credentials, err := json.Marshal(object{
		"type": "authorized_user", "client_id": "id", "client_secret": keys.plant("client_secret"), "refresh_token": keys.plant("refresh_token"),
		"token_uri": bad.URL + "/token?gives=" + keys.plant("access token"),
	})
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(cloud, "credentials.json"), string(credentials))
	env := []string{
		"ANTHROPIC_BASE_URL=" + model.AnthropicURL(), "CORP_GATEWAY=" + keys.plant("models.yml, apiKeyEnv"),
		"GOOGLE_APPLICATION_CREDENTIALS=" + filepath.Join(cloud, "credentials.json"), "GOOGLE_CLOUD_PROJECT=p", "GOOGLE_CLOUD_LOCATION=global",
		"GOOGLE_VERTEX_BASE_URL=" + bad.URL + "/vertex", "VERTEX_ANTHROPIC_BASE_URL=" + bad.URL + "/claude", "AMAZON_BEDROCK_BASE_URL=" + bad.URL + "/bedrock",
		"OPENAI_BASE_URL=" + bad.URL + "/openai", "GOOGLE_GEMINI_BASE_URL=" + bad.URL + "/gemini", "AZURE_OPENAI_BASE_URL=" + bad.URL + "/azure",
		"MISTRAL_BASE_URL=" + bad.URL + "/mistral", "GROQ_BASE_URL=" + bad.URL + "/groq",
	}
	for _, name := range []string{
		"ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "AZURE_OPENAI_API_KEY", "MISTRAL_API_KEY", "AWS_BEARER_TOKEN_BEDROCK",
		"DEEPSEEK_API_KEY", "GJC_OWN_TOKEN",
	} {
		env = append(env, name+"="+keys.plant(name))
	}
	flag := keys.plant("--api-key")
	flags := []string{
		"--model", "anthropic/claude-opus-5-5", "--api-key", flag, "--log-level", "trace",
		"--log-file", filepath.Join(logs, "log"), "--rpc-log", filepath.Join(logs, "rpc"),
	}
	p := startPeer(t, peerOptions{home: home, args: flags, env: env})

	// Tools see no key, in gjc's own children and in the editor's terminals.
	model.Add(providertest.Step{providertest.Call("c1", "bash", `{"command":"env; env >env.txt"}`)}, providertest.Step{providertest.Text("done")})
	p.initialize(nil)
	id := p.session("auto")
	if m, _ := p.answer(p.prompt(id, "go")); m.Error != nil {
		t.Errorf("the prompt got %s", m.line)
	}
	p.initialize(withTerminals)
	model.Add(providertest.Step{providertest.Call("c2", "bash", `{"command":"env"}`)}, providertest.Step{providertest.Text("done")})
	prompt := p.prompt(p.session("auto"), "go")
	create := p.called("terminal/create")
	keys.in(t, "terminal/create", create.line)
	p.send(`{"jsonrpc":"2.0","id":` + string(create.ID) + `,"error":{"code":-32603,"message":"no terminal today"}}`)
	p.answer(prompt)
	p.initialize(nil)

	// A cancelled turn, a summary, and a model that repeats its key.
	gate := providertest.NewGate()
	model.Add(providertest.Step{providertest.Text("wait"), gate.Hold()})
	prompt = p.prompt(id, "a long one")
	p.until("the first word", func(m message) bool { return strings.Contains(m.line, "agent_message_chunk") })
	p.notify("session/cancel", object{"sessionId": id})
	p.answer(prompt)
	gate.Open()
	model.Add(providertest.Step{providertest.Text("what was said")})
	p.answer(p.prompt(id, "/compact"))
	for _, status := range []providertest.Action{
		providertest.Status(http.StatusUnauthorized, `{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key: `+flag+`"}}`, nil),
		providertest.Status(http.StatusBadRequest, "oops Bearer "+flag, nil),
		providertest.Status(http.StatusTemporaryRedirect, "", map[string]string{"Location": "http://elsewhere.invalid/?key=" + flag}),
		providertest.Status(http.StatusOK, "<html>"+flag+"</html>", map[string]string{"Content-Type": "text/html"}),
	} {
		model.Add(providertest.Step{status})
		if m, _ := p.answer(p.prompt(id, "again")); m.Error == nil {
			t.Errorf("the prompt got %s", m.line)
		}
	}

	// Every provider, with a server that complains. The editor's setting applies to DeepSeek.
	p.call("providers/set", object{"providerId": "deepseek", "apiType": "openai", "baseUrl": bad.URL + "/set?key=" + keys.plant("query of providers/set"), "headers": object{
		"Authorization": "Bearer " + keys.plant("headers of providers/set"), "X-Planted-Set": keys.plant("a short header of providers/set"),
	}})
	p.answer(p.request("providers/set", object{"providerId": "nobody", "apiType": "openai", "baseUrl": "http://planted:" + keys.plant("a refused providers/set") + "@h.example/", "headers": object{"A": "b"}}))
	other := p.session("auto")
	for _, ref := range []string{
		"openai/gpt-6.2-sol", "google/gemini-3.8-flash", "google-vertex/gemini-3.8-flash", "vertex-anthropic/claude-opus-5-5", "azure-openai/gpt-6.2-sol",
		"amazon-bedrock/global.anthropic.claude-opus-5-5", "mistral/mistral-medium-3.5", "groq/openai/gpt-oss-120b", "deepseek/deepseek-flash",
		"literal/m", "named/m", "headers/m", "transform/m", "address/m", "closed/m", "far/m",
	} {
		tryAll(t, p, other, ref)
	}

	// All reports of the state, and of the sessions.
	p.call("auth/status", object{})
	p.call("providers/list", object{})
	p.call("session/list", object{})
	for _, command := range []string{"/usage", "/model", "/mcp", "/help", "/export"} {
		p.answer(p.prompt(id, command))
	}
	p.call("session/close", object{"sessionId": id})
	p.call("session/load", object{"sessionId": id, "cwd": p.work, "mcpServers": []any{object{
		"name": "gone", "command": "/nowhere", "args": []any{}, "env": []any{object{"name": "TOKEN", "value": keys.plant("environment of an MCP server")}},
	}}})
	p.call("session/fork", object{"sessionId": id, "cwd": p.work, "mcpServers": []any{object{
		"type": "http", "name": "gone too", "url": "http://127.0.0.1:1/?key=" + keys.plant("query of an MCP server"),
		"headers": []any{object{"name": "Authorization", "value": "Bearer " + keys.plant("headers of an MCP server")}},
	}}})

	// The command line, with the same keys.
	cli := func(stdin string, args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), self(t), append(args, "--api-key", flag, "--model", "anthropic/claude-opus-5-5", "--log-level", "trace")...)
		cmd.Env, cmd.Dir, cmd.Stdin, cmd.WaitDelay = environment(home, env...), p.work, strings.NewReader(stdin), 10*time.Second
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		err := cmd.Run() // some must fail
		if out.Len() == 0 {
			t.Errorf("gjc %q said nothing, %v", args, err)
		}
		keys.in(t, fmt.Sprintf("the output of gjc %q", args), out.String())
	}
	cli("", "doctor", "--json")
	cli("", "models", "--all")
	for _, format := range []string{"html", "md", "json"} {
		cli("", "sessions", "export", id, "--format", format, "-o", filepath.Join(logs, "export."+format))
	}
	cli("", "sessions", "list", "--all")
	cli("", "sessions", "show", id)
	for range echoShapes {
		cli(keys.plant("login --test, "+fmt.Sprint(len(keys.keys)))+"\n", "login", "mistral", "--test")
	}
	p.call("logout", object{})
	if runtime.GOOS == "windows" {
		p.stop()
	} else {
		p.crash()
	}
	<-p.drained

	// The keys of AWS also belong to the user's commands, so they stay in the environment; gjc itself does not print
	// them.
	aws := startPeer(t, peerOptions{
		home: tempDir(t), args: []string{"--log-level", "trace", "--log-file", filepath.Join(logs, "aws-log"), "--rpc-log", filepath.Join(logs, "aws-rpc")},
		env: []string{
			"AMAZON_BEDROCK_BASE_URL=" + bad.URL + "/aws", "AWS_ACCESS_KEY_ID=AKIAPLANTED",
			"AWS_SECRET_ACCESS_KEY=" + keys.plant("AWS_SECRET_ACCESS_KEY"), "AWS_SESSION_TOKEN=" + keys.plant("AWS_SESSION_TOKEN"),
		},
	})
	aws.initialize(nil)
	tryAll(t, aws, aws.session("auto"), "amazon-bedrock/global.anthropic.claude-opus-5-5")
	aws.stop()
	<-aws.drained
	keys.in(t, "stderr", aws.stderrText.String())
	keys.inFiles(t, aws.home)

	// The test must not pass for a program that uses no key.
	for _, place := range []string{
		"auth.json, first", "auth.json, second", "auth.json", "models.yml, apiKey", "models.yml, headers", "models.yml, a short header", "models.yml, headers of a model",
		"setHeaders", "setHeaders of a model", "password of a base URL", "query of a base URL", "network.proxy", "access token", "models.yml, apiKeyEnv",
		"GEMINI_API_KEY", "AZURE_OPENAI_API_KEY", "MISTRAL_API_KEY", "AWS_BEARER_TOKEN_BEDROCK",
		"AWS_SESSION_TOKEN", "query of providers/set", "headers of providers/set", "a short header of providers/set",
	} {
		heard, key := bad.received.String(), keys.keys[place]
		if !strings.Contains(heard, key) && !strings.Contains(heard, base64.StdEncoding.EncodeToString([]byte("planted:"+key))) {
			t.Errorf("the key of %s reached no server", place)
		}
	}
	requests := model.Requests()
	if len(requests) < 8 || requests[0].Header.Get("X-Api-Key") != flag {
		t.Errorf("the model was asked %d times", len(requests))
	}
	for _, r := range requests {
		keys.in(t, "a model request's body", string(r.Body))
	}
	if data, err := os.ReadFile(filepath.Join(p.work, "env.txt")); err != nil || !strings.Contains(string(data), "PATH=") {
		t.Errorf("the command's environment was not written: %q, %v", data, err)
	}
	if rpc, err := os.ReadFile(filepath.Join(logs, "rpc")); err != nil || !strings.Contains(string(rpc), "providers/set") {
		t.Errorf("the message log lacks what was sent: %v", err)
	}
	keys.in(t, "stderr", p.stderrText.String())
	for m := range p.in {
		keys.in(t, "a message to the editor", m.line)
	}
	keys.inFiles(t, logs)
	keys.inFiles(t, p.work)
	keys.inFiles(t, home, "auth.json", "models.yml", "config.yml")
}

// crash ends gjc with a dump of its goroutines.
func (p *peer) crash() {
	p.t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGQUIT); err != nil {
		p.t.Fatal(err)
	}
	select {
	case <-p.ended:
	case <-time.After(hang):
		p.t.Fatal("gjc does not end")
	}
	if !strings.Contains(p.stderrText.String(), "goroutine 1") {
		p.t.Errorf("a crash says %.200q", p.stderrText.String())
	}
}
