package server_test

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/acptest"
	"github.com/gajae-code/gjc/acp/server"
	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/tools"
	"github.com/gajae-code/gjc/agent/tools/files"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/providertest"
)

// airMembers are the members of the extension in one _meta, by name.
type airMembers map[string]jsonx.Raw

// airIn returns the members of the extension in a _meta; nil for none.
func airIn(t *testing.T, m acp.Meta) airMembers {
	t.Helper()
	var vendor struct {
		Air airMembers `json:"air"`
	}
	if _, err := m.Get("jetbrains", &vendor); err != nil {
		t.Fatal(err)
	}
	if vendor.Air != nil && string(vendor.Air["version"]) != "1" {
		t.Errorf("the version is %s", vendor.Air["version"])
	}
	return vendor.Air
}

// asAir gives the editor a _meta.jetbrains.air, and no notices.
func asAir(declared string) func(*config) {
	return as(&acp.ClientCapabilities{Meta: acp.Meta{"jetbrains": jsonx.Raw(`{"air":` + declared + `}`)}})
}

const allOfAir = `{"version":1,"capabilities":["diffPatch","sessionFailure","agentFileChangeReport","asyncTasks","recommendedValue","planContentDelta","goal","sessionIndex","hologram"]}`

// notAir are declarations that declare nothing.
var notAir = map[string]string{
	"other version": strings.Replace(allOfAir, `"version":1`, `"version":0`, 1),
	"text version":  strings.Replace(allOfAir, `"version":1`, `"version":"1"`, 1),
	"malformed":     `["diffPatch"]`,
	"null":          `null`,
}

// recorded is text that is written while it is read.
type recorded struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (r *recorded) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.Write(p)
}

func (r *recorded) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.String()
}

// received records what the agent sends.
func (r *recorded) received(c *config) {
	c.editor.Trace = func(sent bool, line []byte) {
		if !sent {
			_, _ = r.Write(line)
		}
	}
}

// airSteps are a turn with all that concerns the extension.
func airSteps() func(*config) {
	return scripted(
		providertest.Step{providertest.Call("w", "write", `{"path":"a.txt","content":"one\n"}`)},
		providertest.Step{providertest.Call("b", "bash", `{"command":"true"}`)},
		providertest.Step{providertest.Fail(&providers.Error{Kind: providers.KindInvalid, Provider: "test", Message: "no"})},
	)
}

func airPrompt(t *testing.T, e *env, id acp.SessionID, request string) (*acp.PromptResponse, error) {
	t.Helper()
	r, err := tryCall[acp.PromptResponse](e, "session/prompt", obj{
		"sessionId": id, "prompt": []obj{{"type": "text", "text": "go"}},
		"_meta": obj{"jetbrains": obj{"air": obj{"agentFileChangeReportRequest": jsonx.Raw(request)}}},
	})
	return &r, err
}

// A client that has not declared the extension, or not as it should, gets nothing of it, and an error as before.
func TestAir_NotDeclared(t *testing.T) {
	without := func(t *testing.T, change func(*config), warned bool) {
		var sent, log recorded
		e := start(t, airSteps(), change, sent.received, func(c *config) { c.server.Log = zerolog.New(&log) })
		id := e.session()
		_, err := airPrompt(t, e, id, `{"version":1,"requestId":"r"}`)
		wantCode(t, err, acp.ErrorCodeInternalError, "no")
		if text := sent.String(); strings.Contains(text, "jetbrains") || strings.Contains(text, "async_task") {
			t.Errorf("sent: %s", text)
		}
		_, err = tryCall[obj](e, "_session/async_task/stop", obj{"sessionId": id, "asyncTaskId": "b"})
		wantCode(t, err, acp.ErrorCodeMethodNotFound)
		if got := strings.Contains(log.String(), `"level":"warn"`) && strings.Contains(log.String(), "malformed"); got != warned {
			t.Errorf("warned %t: %s", got, log.String())
		}
	}
	t.Run("nothing", func(t *testing.T) { without(t, as(&acp.ClientCapabilities{}), false) })
	for name, declared := range notAir {
		t.Run(name, func(t *testing.T) { without(t, asAir(declared), declared != "null") })
	}
}

// The answer to initialize has what gjc serves, for a client that declares anything.
func TestAir_Initialize(t *testing.T) {
	for _, declared := range []string{allOfAir, `{"version":1,"capabilities":[]}`, `{"version":1,"capabilities":{}}`} {
		e := start(t, asAir(declared))
		resp, err := e.Initialize(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		want := `["diffPatch","sessionFailure","agentFileChangeReport","asyncTasks","recommendedValue","planContentDelta"]`
		if declared == allOfAir {
			want = strings.TrimSuffix(want, "]") + `,"sessionIndex"]`
		}
		if got := string(airIn(t, resp.Meta)["capabilities"]); got != want {
			t.Errorf("%s: %s", declared, got)
		}
		if _, ok := resp.Meta["steering"]; !ok {
			t.Error("the other extensions are gone")
		}
	}
}

// airReports returns the reports on changed files in updates.
func airReports(t *testing.T, updates []acp.SessionUpdate) (all []map[string]any) {
	t.Helper()
	for _, u := range updates {
		info, ok := u.(*acp.SessionInfoUpdate)
		if !ok {
			continue
		}
		if raw := airIn(t, info.Meta)["agentFileChangeReport"]; raw != nil {
			var report map[string]any
			if err := jsonx.Unmarshal(raw, &report); err != nil {
				t.Fatal(err)
			}
			delete(report, "uncertainty")
			all = append(all, report)
		}
	}
	return all
}

func TestAir_FileChangeReport(t *testing.T) {
	e := start(t, asAir(allOfAir), scripted(
		// 1: a new file, a changed one, and a call that fails before it changes anything.
		providertest.Step{providertest.Call("w", "write", `{"path":"dir/a.txt","content":"one\n"}`)},
		providertest.Step{providertest.Call("r", "read", `{"path":"b.txt"}`)},
		providertest.Step{providertest.Call("x", "write", `{"path":"b.txt","content":"three\n"}`)},
		providertest.Step{providertest.Call("f", "edit", `{"path":"c.txt","edits":"no such thing"}`)},
		providertest.Step{providertest.Call("s", "grep", `{"pattern":"one"}`)},
		providertest.Step{providertest.Text("Done.")},
		// 2: a command.
		providertest.Step{providertest.Call("v", "write", `{"path":"dir/a.txt","content":"four\n"}`)},
		providertest.Step{providertest.Call("b", "bash", `{"command":"true"}`)},
		providertest.Step{providertest.Text("Done.")},
		// 3: nothing, 4: a malformed request, 5: a failure.
		providertest.Step{providertest.Text("Done.")},
		providertest.Step{providertest.Text("Done.")},
		providertest.Step{providertest.Fail(&providers.Error{Kind: providers.KindInvalid, Provider: "test", Message: "no"})},
	))
	e.write("b.txt", "two\n")
	id := e.session()
	a, b := filepath.Join(e.dir, "dir", "a.txt"), filepath.Join(e.dir, "b.txt")
	reported := func(id string, complete bool, paths ...any) []map[string]any {
		return []map[string]any{{"version": 1.0, "requestId": id, "status": "reported", "paths": append([]any{}, paths...), "declaredComplete": complete, "truncated": false}}
	}
	for _, tt := range []struct {
		request string
		want    []map[string]any
	}{
		{`{"version":1,"requestId":"1"}`, reported("1", true, a, b)},
		{`{"version":1,"requestId":"2"}`, reported("2", false, a)},
		{`{"version":1,"requestId":"3"}`, reported("3", true)},
		{`{"version":1,"requestId":"a b"}`, nil},
		{`{"version":1,"requestId":"5"}`, []map[string]any{{"version": 1.0, "requestId": "5", "status": "unavailable", "reason": "providerError"}}},
	} {
		from := len(e.Updates(id))
		if _, err := airPrompt(t, e, id, tt.request); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, airReports(t, e.Updates(id)[from:])); diff != "" {
			t.Errorf("%s: %s", tt.request, diff)
		}
	}
	from := len(e.Updates(id))
	if r, err := tryCall[acp.PromptResponse](e, "session/prompt", obj{
		"sessionId": id, "prompt": []obj{{"type": "text", "text": "/help"}},
		"_meta": obj{"jetbrains": obj{"air": obj{"agentFileChangeReportRequest": obj{"version": 1, "requestId": "6"}}}},
	}); err != nil || r.StopReason != acp.StopReasonEndTurn {
		t.Fatal(err)
	}
	want := []map[string]any{{"version": 1.0, "requestId": "6", "status": "unavailable", "reason": "notReported"}}
	if diff := cmp.Diff(want, airReports(t, e.Updates(id)[from:])); diff != "" {
		t.Error(diff)
	}
}

// A failed turn ends with a record of the failure, and a rejected key with the error that makes clients offer to sign in.
func TestAir_SessionFailure(t *testing.T) {
	for _, tt := range []struct {
		kind    providers.ErrorKind
		want    string
		retried bool
	}{
		{providers.KindNetwork, `connection ["retry"]`, true},
		{providers.KindRateLimit, `limit ["retry"]`, true},
		{providers.KindQuota, `limit []`, false},
		{providers.KindInvalid, `request []`, false},
		{providers.KindServer, `service ["retry"]`, true},
	} {
		t.Run(string(tt.kind), func(t *testing.T) {
			fails := providertest.Step{providertest.Fail(&providers.Error{Kind: tt.kind, Provider: "test", Message: "why", Status: 500})}
			set := server.DefaultSettings()
			set.Retry = providers.RetryPolicy{Attempts: 2, Base: time.Millisecond}
			e := start(t, asAir(`{"version":1,"capabilities":["sessionFailure"]}`), scripted(fails, fails), func(c *config) {
				c.server.Sessions.Settings = func(string) (*server.Settings, error) { return set, nil }
			})
			id := e.session()
			resp, err := e.Prompt(t.Context(), id, "go")
			if err != nil || resp.StopReason != acp.StopReasonEndTurn {
				t.Fatalf("%+v, %v", resp, err)
			}
			var f struct {
				ID       string    `json:"id"`
				Revision int       `json:"revision"`
				Category string    `json:"category"`
				Severity string    `json:"severity"`
				Title    string    `json:"title"`
				Actions  jsonx.Raw `json:"actions"`
			}
			if err := jsonx.Unmarshal(airIn(t, resp.Meta)["sessionFailure"], &f); err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprintf("%s %s", f.Category, f.Actions); got != tt.want || f.ID == "" || f.Revision != 1 || f.Severity != "error" || !containsAll(f.Title, "test", "why") {
				t.Errorf("%+v: %s", f, got)
			}
			// A retry is a warning, which is no message of the model.
			warnings := 0
			for _, u := range e.Updates(id) {
				if info, ok := u.(*acp.SessionInfoUpdate); ok && containsAll(string(airIn(t, info.Meta)["sessionFailure"]), `"severity":"warning"`, "trying again") {
					warnings++
				}
			}
			if want := map[bool]int{true: 1}[tt.retried]; warnings != want || e.Text(id) != "" {
				t.Errorf("%d warnings, want %d; text %q", warnings, want, e.Text(id))
			}
		})
	}
	e := start(t, asAir(allOfAir), scripted(providertest.Step{providertest.Fail(&providers.Error{Kind: providers.KindAuth, Provider: "test", Message: "no key"})}))
	_, err := e.Prompt(t.Context(), e.session(), "go")
	wantCode(t, err, acp.ErrorCodeAuthenticationRequired, "no key")
}

// Diffs are patches for a client that has asked for them.
func TestAir_DiffPatch(t *testing.T) {
	for _, patched := range []bool{true, false} {
		declared := `{"version":1,"capabilities":["sessionFailure"]}`
		if patched {
			declared = allOfAir
		}
		e := start(t, asAir(declared), scripted(
			providertest.Step{providertest.Call("w", "write", `{"path":"a.txt","content":"one\n"}`)},
			providertest.Step{providertest.Text("Done.")},
		))
		id := e.session()
		e.say(id, "go", acp.StopReasonEndTurn)
		diffs := 0
		for _, u := range e.Updates(id) {
			ended, ok := u.(*acp.ToolCallUpdate)
			if !ok {
				continue
			}
			content, _ := ended.Content.Get()
			for _, c := range content {
				d, ok := c.(*acp.Diff)
				if !ok {
					continue
				}
				diffs++
				raw := string(airIn(t, d.Meta)["diffPatch"])
				if patched != (d.NewText == "") || patched != containsAll(raw, `"format":"git_patch"`, `new file mode 100644\n--- /dev/null\n+++ b/`, `+one\n`) {
					t.Errorf("patched %t: %+v %s", patched, d, raw)
				}
			}
		}
		if diffs == 0 {
			t.Error("no diffs")
		}
	}
}

// The options have what a new session would have, apart from what this one has.
func TestAir_RecommendedValue(t *testing.T) {
	for _, shown := range []bool{true, false} {
		declared := `{"version":1,"capabilities":["sessionFailure"]}`
		if shown {
			declared = allOfAir
		}
		e := start(t, asAir(declared), scripted())
		id := e.session()
		resp := call[acp.SetSessionConfigOptionResponse](e, "session/set_config_option", obj{"sessionId": id, "configId": "model", "value": "test/plain"})
		got := make(map[acp.SessionConfigID]string)
		for _, o := range resp.ConfigOptions {
			if raw := airIn(t, o.Meta)["recommendedValue"]; raw != nil {
				got[o.ID] = string(raw)
			}
		}
		want := map[acp.SessionConfigID]string{}
		if shown {
			want = map[acp.SessionConfigID]string{"model": `"test/script"`, "thinking": `"off"`}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
}

// The report has deletions and moves under the names that the files had and have, and what helper agents have changed.
func TestAir_FileChangeReport_OfOthers(t *testing.T) {
	patch := `{"input": "*** Begin Patch\n*** Delete File: b.txt\n*** Update File: c.txt\n*** Move to: sub/d.txt\n@@\n-c\n+C\n*** End Patch"}`
	e := start(t, asAir(allOfAir), scripted(
		providertest.Step{providertest.Call("p", "apply_patch", patch)},
		providertest.Step{providertest.Call("t", "task", `{"tasks":[{"id":"a","description":"look","assignment":"look around"}]}`)},
		providertest.Step{providertest.Call("w", "write", `{"path":"e.txt","content":"one\n"}`)},
		providertest.Step{providertest.Text("the report")},
		providertest.Step{providertest.Text("Done.")},
		// A refused command has not run.
		providertest.Step{providertest.Call("b", "bash", `{"command":"touch x"}`)},
		providertest.Step{providertest.Text("Done.")},
	), func(c *config) {
		c.server.Sessions.Tools = func() []agent.Tool {
			return tools.All(&tools.Settings{Edit: files.EditSettings{Mode: files.EditApplyPatch}})
		}
		c.editor.Permission = func(_ context.Context, p *acp.RequestPermissionRequest) (*acp.RequestPermissionResponse, error) {
			if strings.HasSuffix(string(p.ToolCall.ToolCallID), "b") {
				return acptest.Choose("reject_once"), nil
			}
			return acptest.Choose("allow_once"), nil
		}
	})
	e.write("b.txt", "b\n")
	e.write("c.txt", "c\n")
	id := e.session()
	for _, request := range []string{`{"version":1,"requestId":"1"}`, `{"version":1,"requestId":"2"}`} {
		if _, err := airPrompt(t, e, id, request); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for _, r := range airReports(t, e.Updates(id)) {
		var names []string
		for _, path := range r["paths"].([]any) {
			rel, _ := filepath.Rel(e.dir, path.(string))
			names = append(names, filepath.ToSlash(rel))
		}
		slices.Sort(names)
		got = append(got, fmt.Sprint(names, r["declaredComplete"]))
	}
	if diff := cmp.Diff([]string{"[b.txt c.txt e.txt sub/d.txt] true", "[] true"}, got); diff != "" {
		t.Error(diff)
	}
}
