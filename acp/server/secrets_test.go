package server_test

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/secrets"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/providertest"
)

// The editor receives a call with placeholders, and the command runs with the values.
func TestSecrets(t *testing.T) {
	set, err := secrets.New([]secrets.Entry{{Content: "the-secret-value", Source: "a test"}}, []byte("key"))
	if err != nil {
		t.Fatal(err)
	}
	token := set.Hide("the-secret-value")
	script := providertest.NewScript(
		providers.ModelInfo{},
		providertest.Step{providertest.Call("c", "write", `{"path":"out.txt","content":"`+token+`"}`)},
		providertest.Step{providertest.Call("d", "read", `{"path":"out.txt"}`)},
		providertest.Step{providertest.Text("it is " + token)},
	)
	e := start(t, func(c *config) {
		c.server.Models.Models = &models{list: []providers.Model{script}}
		c.server.Sessions.Secrets = func(string) (agent.Secrets, error) { return set, nil }
	})
	id := e.session()
	e.say(id, "write the-secret-value", acp.StopReasonEndTurn)
	text, buffered := e.Buffer(filepath.Join(e.dir, "out.txt"))
	if !buffered {
		data, err := os.ReadFile(filepath.Join(e.dir, "out.txt"))
		if text = string(data); err != nil {
			t.Error(err)
		}
	}
	if !strings.Contains(text, "the-secret-value") {
		t.Errorf("the file has %q", text)
	}
	for _, u := range e.Updates(id) {
		call, ok := u.(*acp.ToolCall)
		if !ok {
			continue
		}
		if strings.Contains(call.Title+string(call.RawInput), "the-secret-value") || call.ToolCallID == "c" && !strings.Contains(string(call.RawInput), token) {
			t.Errorf("got %s %s", call.Title, call.RawInput)
		}
	}
	if got := e.Text(id); got != "it is "+token {
		t.Errorf("the agent said %q", got)
	}
	for _, req := range script.Requests() {
		for i := range req.Messages {
			if text := req.Messages[i].Text(); strings.Contains(text, "the-secret-value") {
				t.Errorf("sent %q", text)
			}
		}
	}
}

// While the secrets are unknown, nothing is sent.
func TestSecrets_Unknown(t *testing.T) {
	script := providertest.NewScript(providers.ModelInfo{}, providertest.Step{providertest.Text("ok")})
	e := start(t, func(c *config) {
		c.server.Models.Models = &models{list: []providers.Model{script}}
		c.server.Sessions.Secrets = func(string) (agent.Secrets, error) { return nil, errors.New("secrets.yml:3: mode: is wrong") }
	})
	id := e.session()
	_, err := e.Prompt(t.Context(), id, "go")
	wantCode(t, err, acp.ErrorCodeInternalError, "nothing was sent", "secrets.yml:3")
	var data struct {
		Kind string `json:"kind"`
	}
	if e, ok := errors.AsType[*acp.Error](err); !ok || jsonx.Unmarshal(e.Data, &data) != nil || data.Kind != "secrets" {
		t.Errorf("error %v", err)
	}
	if n := len(script.Requests()); n > 0 {
		t.Errorf("%d requests were sent", n)
	}
	told := false
	for _, u := range e.Updates(id) {
		notice, ok := u.(*acp.Notice)
		told = told || ok && strings.Contains(notice.Title, "so no model is called")
	}
	if !told && !strings.Contains(e.Text(id), "so no model is called") {
		t.Errorf("the user saw %q", e.Text(id))
	}
}

// A session that begins with the document of another one has the same placeholders for the secrets that an expression matched there.
func TestSecrets_Handoff(t *testing.T) {
	const key = "sk-abcdefghijkl"
	keys := func(string) (agent.Secrets, error) {
		return secrets.New([]secrets.Entry{{Regexp: regexp.MustCompile(`sk-[a-z]{12}`)}}, []byte("key"))
	}
	set, err := keys("")
	if err != nil {
		t.Fatal(err)
	}
	token := set.Hide(key)
	script := providertest.NewScript(
		providers.ModelInfo{},
		providertest.Step{providertest.Text("two")},
		providertest.Step{providertest.Text("The key is " + token + ".")},
		providertest.Step{providertest.Call("c", "write", `{"path":"out.txt","content":"`+token+`"}`)},
		providertest.Step{providertest.Text("done")},
	)
	e := start(t, func(c *config) {
		c.server.Models.Models = &models{list: []providers.Model{script}}
		c.server.Sessions.Secrets = keys
	})
	id := e.session()
	e.say(id, "it is "+key, acp.StopReasonEndTurn)
	got, _ := e.after(id, "/handoff")
	if strings.Contains(got, key) {
		t.Errorf("got %q", got)
	}
	next := acp.SessionID(strings.Fields(got)[1])
	call[acp.LoadSessionResponse](e, "session/load", obj{"sessionId": next, "cwd": e.dir, "mcpServers": []any{}})
	e.say(next, "go on", acp.StopReasonEndTurn)
	path := filepath.Join(e.dir, "out.txt")
	text, buffered := e.Buffer(path)
	if !buffered {
		data, err := os.ReadFile(path)
		if text = string(data); err != nil {
			t.Error(err)
		}
	}
	if !strings.Contains(text, key) {
		t.Errorf("the file has %q", text)
	}
	for _, req := range script.Requests() {
		for i := range req.Messages {
			if text := req.Messages[i].Text(); strings.Contains(text, key) {
				t.Errorf("sent %q", text)
			}
		}
	}
}
