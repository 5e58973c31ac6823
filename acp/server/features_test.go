package server_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/acptest"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/offline"
	"github.com/gajae-code/gjc/providers/providertest"
	"github.com/gajae-code/gjc/providers/registry"
)

// as gives the editor the capabilities c.
func as(c *acp.ClientCapabilities) func(*config) {
	return func(cfg *config) { cfg.editor.Capabilities = c }
}

// kinds lists the kinds of a session's updates, without consecutive duplicates.
func kinds(updates []acp.SessionUpdate) []string {
	var all []string
	for _, u := range updates {
		raw, err := json.Marshal(u)
		var k struct{ SessionUpdate string }
		if err == nil {
			err = json.Unmarshal(raw, &k)
		}
		if err != nil {
			panic(err)
		}
		if len(all) == 0 || all[len(all)-1] != k.SessionUpdate {
			all = append(all, k.SessionUpdate)
		}
	}
	return all
}

// Clients that support switches get one, and it works.
func TestBooleanOption(t *testing.T) {
	e := start(t, scripted(
		providertest.Step{providertest.Think("hm"), providertest.Text("a")}, providertest.Step{providertest.Think("hm"), providertest.Text("b")},
	))
	id := e.session()
	resp := call[acp.SetSessionConfigOptionResponse](e, "session/set_config_option", obj{"sessionId": id, "configId": "show_thinking", "type": "boolean", "value": false})
	last := resp.ConfigOptions[len(resp.ConfigOptions)-1]
	if b, ok := last.Kind.(*acp.SessionConfigBoolean); !ok || last.ID != "show_thinking" || b.CurrentValue {
		t.Errorf("option %+v", last)
	}
	e.say(id, "think", acp.StopReasonEndTurn)
	if slices.Contains(kinds(e.Updates(id)), "agent_thought_chunk") {
		t.Error("thoughts are shown though they are switched off")
	}
	call[struct{}](e, "session/set_config_option", obj{"sessionId": id, "configId": "show_thinking", "type": "boolean", "value": true})
	e.say(id, "think", acp.StopReasonEndTurn)
	if !slices.Contains(kinds(e.Updates(id)), "agent_thought_chunk") {
		t.Error("thoughts are not shown though they are switched on")
	}
	err := e.Conn.Call(t.Context(), "session/set_config_option", obj{"sessionId": id, "configId": "show_thinking", "value": "yes"}, nil)
	wantCode(t, err, acp.ErrorCodeInvalidParams, "is boolean")
}

// A client that does not support switches is offered none, and cannot set one.
func TestBooleanOption_NotAdvertised(t *testing.T) {
	e := start(t, as(&acp.ClientCapabilities{}))
	resp := call[acp.NewSessionResponse](e, "session/new", obj{"cwd": e.dir, "mcpServers": []any{}})
	for _, o := range resp.ConfigOptions {
		if _, ok := o.Kind.(*acp.SessionConfigSelect); !ok {
			t.Errorf("option %s is of kind %T", o.ID, o.Kind)
		}
	}
	err := e.Conn.Call(t.Context(), "session/set_config_option", obj{"sessionId": resp.SessionID, "configId": "show_thinking", "type": "boolean", "value": true}, nil)
	wantCode(t, err, acp.ErrorCodeInvalidParams, "unknown config option")
}

// A client that supports plan_update receives it instead of plan, and is notified when the plan is removed.
func TestPlanUpdates(t *testing.T) {
	e := start(t, as(acptest.UnstableCapabilities()))
	id := e.session()
	e.say(id, "!plan one; two", acp.StopReasonEndTurn)
	e.say(id, "/clear", acp.StopReasonEndTurn)
	got := kinds(e.Updates(id))
	if !slices.Contains(got, "plan_update") || !slices.Contains(got, "plan_removed") || slices.Contains(got, "plan") {
		t.Errorf("updates %v", got)
	}
}

// The protocol has neither phases nor abandoned steps, so both are in the content, live and in a replay.
func TestPlan_PhasesAndAbandonedSteps(t *testing.T) {
	e := start(t, scripted(providertest.Step{providertest.Call("c1", "todo_write",
		`{"todos":[{"content":"one","phase":"Build","status":"abandoned"},{"content":"two","status":"completed"}]}`)}, providertest.Step{providertest.Text("done")}))
	id := e.session()
	want := []acp.PlanEntry{
		{Content: "Build: one (abandoned)", Priority: acp.PlanEntryPriorityMedium, Status: acp.PlanEntryStatusCompleted},
		{Content: "two", Priority: acp.PlanEntryPriorityMedium, Status: acp.PlanEntryStatusCompleted},
	}
	check := func(updates []acp.SessionUpdate) {
		t.Helper()
		for _, u := range updates {
			if u, ok := u.(*acp.Plan); ok {
				if diff := cmp.Diff(want, u.Entries); diff != "" {
					t.Errorf("-want +got:\n%s", diff)
				}
				return
			}
		}
		t.Error("no plan was sent")
	}
	text, updates := e.after(id, "go")
	if text != "done" {
		t.Errorf("answer %q", text)
	}
	check(updates)
	if text, _ := e.after(id, "/todo"); text != "1. [-] Build: one\n2. [x] two\n" {
		t.Errorf("/todo: %q", text)
	}
	call[struct{}](e, "session/close", obj{"sessionId": id})
	from := len(e.Updates(id))
	call[struct{}](e, "session/load", obj{"sessionId": id, "cwd": e.dir, "mcpServers": []any{}})
	check(e.Updates(id)[from:])
}

func TestCompaction_IsShown(t *testing.T) {
	for _, able := range []bool{true, false} {
		c := acptest.AllCapabilities()
		if !able {
			c.Session = nil
		}
		e := start(t, as(c))
		id := e.session()
		e.say(id, "!say remember the milk", acp.StopReasonEndTurn)
		e.say(id, "/compact the milk", acp.StopReasonEndTurn)
		if text := e.Text(id); !strings.Contains(text, "Compaction complete.") {
			t.Errorf("got %q", text)
		}
		var statuses []acp.CompactionStatus
		for _, u := range e.Updates(id) {
			if u, ok := u.(*acp.CompactionUpdate); ok {
				statuses = append(statuses, u.Status)
			}
		}
		want := []acp.CompactionStatus{acp.CompactionStatusInProgress, acp.CompactionStatusCompleted}
		if !able {
			want = nil
		}
		if d := cmp.Diff(want, statuses); d != "" {
			t.Errorf("able %v: -want +got:\n%s", able, d)
		}
		// The whole conversation is replayed, including the compacted part.
		call[struct{}](e, "session/close", obj{"sessionId": id})
		from := len(e.Updates(id))
		call[struct{}](e, "session/load", obj{"sessionId": id, "cwd": e.dir, "mcpServers": []any{}})
		replay := e.Updates(id)[from:]
		raw, _ := json.Marshal(replay)
		if !strings.Contains(string(raw), "remember the milk") {
			t.Errorf("able %v: the replay lacks what was compacted: %s", able, raw)
		}
		if got := slices.Contains(kinds(replay), "compaction_update"); got != able {
			t.Errorf("able %v: compaction_update in the replay: %v", able, got)
		}
	}
}

// The model continues from the summary alone.
func TestCompaction_ReachesTheModel(t *testing.T) {
	var script *providertest.Script
	e := start(t, scripted(
		providertest.Step{providertest.Text("first answer")},
		providertest.Step{providertest.Text("THE SUMMARY")},
		providertest.Step{providertest.Text("on it")},
	), func(c *config) { script = c.server.Models.Models.(*models).list[0].(*providertest.Script) })
	id := e.session()
	e.say(id, "a long story", acp.StopReasonEndTurn)
	e.say(id, "/compact", acp.StopReasonEndTurn)
	e.say(id, "go on", acp.StopReasonEndTurn)
	reqs := script.Requests()
	var texts []string
	for _, m := range reqs[2].Messages {
		texts = append(texts, m.Text())
	}
	all := strings.Join(texts, "|")
	if !strings.Contains(all, "THE SUMMARY") || strings.Contains(all, "a long story") || !strings.HasSuffix(all, "go on") {
		t.Errorf("the model sees %q", all)
	}
	if !strings.Contains(reqs[1].System, "compaction") || len(reqs[1].Tools) > 0 {
		t.Errorf("the summary was asked for with %d tools and the prompt %q", len(reqs[1].Tools), reqs[1].System)
	}
}

// A summary that fails or is cancelled leaves the conversation unchanged.
func TestCompaction_Failures(t *testing.T) {
	gate := providertest.NewGate()
	defer gate.Open()
	var script *providertest.Script
	e := start(t, scripted(
		providertest.Step{providertest.Text("answer")},
		providertest.Step{providertest.Fail(&providers.Error{Kind: providers.KindInvalid, Provider: "test", Message: "no"})},
		providertest.Step{providertest.Text("half a"), gate.Hold()},
		providertest.Step{providertest.Text("fine")},
	), func(c *config) { script = c.server.Models.Models.(*models).list[0].(*providertest.Script) })
	id := e.session()
	e.say(id, "the story", acp.StopReasonEndTurn)
	e.say(id, "/compact", acp.StopReasonEndTurn)
	if text := e.Text(id); !strings.Contains(text, "the conversation is unchanged") {
		t.Errorf("got %q", text)
	}
	done := make(chan acp.StopReason, 1)
	go func() {
		resp, err := e.Prompt(t.Context(), id, "/compact")
		if err != nil {
			t.Error(err)
			resp = new(acp.PromptResponse)
		}
		done <- resp.StopReason
	}()
	e.await(id, acptest.Update(func(u *acp.CompactionSummaryChunk) bool { return true }))
	if err := e.Conn.Notify(t.Context(), "session/cancel", obj{"sessionId": id}); err != nil {
		t.Fatal(err)
	}
	if got := <-done; got != acp.StopReasonCancelled {
		t.Errorf("stopped with %s", got)
	}
	var last acp.CompactionStatus
	for _, u := range e.Updates(id) {
		if u, ok := u.(*acp.CompactionUpdate); ok {
			last = u.Status
		}
	}
	if last != acp.CompactionStatusCancelled {
		t.Errorf("the last status is %s", last)
	}
	e.say(id, "next", acp.StopReasonEndTurn)
	reqs := script.Requests()
	if got := reqs[len(reqs)-1].Messages[0].Text(); got != "the story" {
		t.Errorf("the conversation begins with %q", got)
	}
}

// A client without terminals that supports output in _meta receives the output as it arrives, and the exit status.
func TestTerminalOutputMeta(t *testing.T) {
	for _, key := range []string{"terminal_output", "terminal_output_delta"} {
		c := &acp.ClientCapabilities{Meta: acp.Meta{key: []byte("true")}}
		e := start(t, as(c))
		id := e.session()
		e.say(id, "!bash printf 'one\\ntwo\\n'; exit 3", acp.StopReasonEndTurn)
		var output strings.Builder
		var info, exited bool
		for _, u := range e.Updates(id) {
			u, ok := u.(*acp.ToolCallUpdate)
			if !ok {
				continue
			}
			var data struct {
				TerminalID string `json:"terminal_id"`
				Data       string `json:"data"`
				ExitCode   *int   `json:"exit_code"`
			}
			if ok, err := u.Meta.Get(key, &data); ok && err == nil {
				output.WriteString(data.Data)
			}
			if ok, err := u.Meta.Get("terminal_info", &data); ok && err == nil {
				info = data.TerminalID == string(u.ToolCallID)
			}
			if ok, err := u.Meta.Get("terminal_exit", &data); ok && err == nil {
				exited = data.ExitCode != nil && *data.ExitCode == 3
			}
		}
		if output.String() != "one\r\ntwo\r\n" || !info || !exited {
			t.Errorf("%s: output %q, info %v, exit %v", key, output.String(), info, exited)
		}
	}
}

// A client with terminals uses them, even if its _meta advertises output.
func TestTerminalOutputMeta_NotWithTerminals(t *testing.T) {
	c := acptest.AllCapabilities()
	c.Meta = acp.Meta{"terminal_output": []byte("true")}
	e := start(t, as(c))
	id := e.session()
	e.say(id, "!bash echo hi", acp.StopReasonEndTurn)
	if !slices.Contains(e.Calls(), "terminal/create") {
		t.Error("no terminal was created")
	}
	for _, u := range e.Updates(id) {
		if u, ok := u.(*acp.ToolCallUpdate); ok && len(u.Meta) > 0 {
			t.Errorf("update with %v", u.Meta)
		}
	}
}

// A question is a form if the client has forms, otherwise a choice, and otherwise text.
func TestAsk(t *testing.T) {
	const question = "!ask Which way? | left | right"
	answered := func(e *env, id acp.SessionID) string {
		for _, u := range slices.Backward(e.Updates(id)) {
			if u, ok := u.(*acp.ToolCallUpdate); ok {
				raw, _ := json.Marshal(u)
				return string(raw)
			}
		}
		return ""
	}
	t.Run("form", func(t *testing.T) {
		var asked *acp.CreateElicitationRequest
		e := start(t, func(c *config) {
			c.editor.Elicit = func(_ context.Context, p *acp.CreateElicitationRequest) (*acp.CreateElicitationResponse, error) {
				asked = p
				return &acp.CreateElicitationResponse{Action: &acp.ElicitationAcceptAction{Content: map[string]acp.ElicitationContentValue{"value": acp.ElicitationString("right")}}}, nil
			}
		})
		id := e.session()
		e.say(id, question, acp.StopReasonEndTurn)
		form, ok := asked.Mode.(*acp.ElicitationFormMode)
		if !ok || asked.Message != "Which way?" {
			t.Fatalf("asked %+v", asked)
		}
		scope, ok := form.Scope.(*acp.ElicitationSessionScope)
		if !ok || scope.SessionID != id || scope.ToolCallID == "" {
			t.Errorf("scope %+v", form.Scope)
		}
		if p, ok := form.RequestedSchema.Properties["value"].(*acp.StringPropertySchema); !ok || !slices.Equal(p.Enum, []string{"left", "right"}) {
			t.Errorf("field %+v", form.RequestedSchema.Properties["value"])
		}
		if got := answered(e, id); !strings.Contains(got, "The user answered: right") {
			t.Errorf("the call ended with %s", got)
		}
	})
	for name, action := range map[string]acp.ElicitationAction{"decline": &acp.ElicitationDeclineAction{}, "cancel": &acp.ElicitationCancelAction{}} {
		t.Run(name, func(t *testing.T) {
			e := start(t, func(c *config) {
				c.editor.Elicit = func(context.Context, *acp.CreateElicitationRequest) (*acp.CreateElicitationResponse, error) {
					return &acp.CreateElicitationResponse{Action: action}, nil
				}
			})
			id := e.session()
			e.say(id, question, acp.StopReasonEndTurn)
			if got := answered(e, id); !strings.Contains(got, `"failed"`) {
				t.Errorf("the call ended with %s", got)
			}
			e.say(id, "!say alive", acp.StopReasonEndTurn)
		})
	}
	for name, content := range map[string]map[string]acp.ElicitationContentValue{
		"wrong type":   {"value": acp.ElicitationBoolean(true)},
		"not a choice": {"value": acp.ElicitationString("up")},
	} {
		t.Run(name, func(t *testing.T) {
			e := start(t, func(c *config) {
				c.editor.Elicit = func(context.Context, *acp.CreateElicitationRequest) (*acp.CreateElicitationResponse, error) {
					return &acp.CreateElicitationResponse{Action: &acp.ElicitationAcceptAction{Content: content}}, nil
				}
			})
			id := e.session()
			e.say(id, question, acp.StopReasonEndTurn)
			if got := answered(e, id); !strings.Contains(got, "does not fit the form") {
				t.Errorf("the call ended with %s", got)
			}
		})
	}
	t.Run("options", func(t *testing.T) {
		c := acptest.AllCapabilities()
		c.Elicitation = &acp.ElicitationCapabilities{} // advertises no mode
		var options []string
		e := start(t, as(c), func(c *config) {
			c.editor.Permission = func(_ context.Context, p *acp.RequestPermissionRequest) (*acp.RequestPermissionResponse, error) {
				for _, o := range p.Options {
					options = append(options, o.Name)
				}
				return acptest.Choose(p.Options[0].OptionID), nil
			}
		})
		id := e.session()
		e.say(id, question, acp.StopReasonEndTurn)
		other := "Something else (type it as your next message)"
		if d := cmp.Diff([]string{"left", "right", other, "None of these"}, options); d != "" {
			t.Errorf("-want +got:\n%s", d)
		}
		if got := answered(e, id); !strings.Contains(got, "The user answered: left") {
			t.Errorf("the call ended with %s", got)
		}
		if slices.Contains(e.Calls(), "elicitation/create") {
			t.Error("elicitation was not advertised and is called")
		}
	})
	t.Run("none of the options", func(t *testing.T) {
		c := acptest.AllCapabilities()
		c.Elicitation = nil
		e := start(t, as(c), func(c *config) {
			c.editor.Permission = func(_ context.Context, p *acp.RequestPermissionRequest) (*acp.RequestPermissionResponse, error) {
				return acptest.Choose(p.Options[2].OptionID), nil
			}
		})
		id := e.session()
		e.say(id, question, acp.StopReasonEndTurn)
		if got := answered(e, id); !strings.Contains(got, "The answer is the next message.") || !strings.Contains(got, `"completed"`) {
			t.Errorf("the call ended with %s", got)
		}
		if text := e.Text(id); !strings.HasSuffix(text, "Type your answer as the next message.") {
			t.Errorf("got %q", text)
		}
		e.say(id, "!say straight on", acp.StopReasonEndTurn)
	})
	t.Run("words", func(t *testing.T) {
		c := acptest.AllCapabilities()
		c.Elicitation = nil
		e := start(t, as(c))
		id := e.session()
		e.say(id, "!ask What is your name? |", acp.StopReasonEndTurn)
		if text := e.Text(id); !strings.Contains(text, "What is your name?") {
			t.Errorf("got %q", text)
		}
	})
}

// A client that supports child sessions sees the child as a session. For any other client the child's calls are calls of the
// parent.
func TestSubagents(t *testing.T) {
	steps := []providertest.Step{
		{providertest.Call("c1", "task", `{"tasks":[{"id":"a","description":"look","assignment":"look around"}]}`)},
		{providertest.Text("child speaks"), providertest.Call("c2", "bash", `{"command":"true"}`)},
		{providertest.Text("the report")},
		{providertest.Text("parent is done")},
	}
	t.Run("known", func(t *testing.T) {
		var asked acp.SessionID
		e := start(t, scripted(steps...), as(acptest.UnstableCapabilities()), func(c *config) {
			c.editor.Permission = func(_ context.Context, p *acp.RequestPermissionRequest) (*acp.RequestPermissionResponse, error) {
				asked = p.SessionID
				return acptest.Choose("allow_once"), nil
			}
		})
		id := e.session()
		e.say(id, "delegate", acp.StopReasonEndTurn)
		var child acp.SessionID
		var states []string
		for _, u := range e.Updates(id) {
			if u, ok := u.(*acp.SubagentUpdate); ok {
				child = u.SessionID
				state, _ := u.State.Get()
				raw, _ := json.Marshal(state)
				states = append(states, string(raw))
			}
		}
		if len(states) != 2 || !strings.Contains(states[0], "running") || !strings.Contains(states[1], "end_turn") {
			t.Fatalf("states %v", states)
		}
		if asked != child {
			t.Errorf("the child's question came from session %s, want %s", asked, child)
		}
		if text := e.Text(child); !strings.Contains(text, "child speaks") || !strings.Contains(text, "the report") {
			t.Errorf("the child said %q", text)
		}
		if text := e.Text(id); strings.Contains(text, "child speaks") || !strings.Contains(text, "parent is done") {
			t.Errorf("the parent said %q", text)
		}
	})
	t.Run("unknown", func(t *testing.T) {
		e := start(t, scripted(steps...))
		id := e.session()
		e.say(id, "delegate", acp.StopReasonEndTurn)
		ended := make(map[acp.ToolCallID]acp.ToolCallStatus)
		parent := ""
		for _, u := range e.Updates(id) {
			switch u := u.(type) {
			case *acp.ToolCall:
				ended[u.ToolCallID] = u.Status
				if _, err := u.Meta.Get("gjc/parentToolCallId", &parent); err != nil {
					t.Error(err)
				}
			case *acp.ToolCallUpdate:
				if s, ok := u.Status.Get(); ok {
					ended[u.ToolCallID] = s
				}
			}
		}
		want := map[acp.ToolCallID]acp.ToolCallStatus{"c1": acp.ToolCallStatusCompleted, "c1/a/c2": acp.ToolCallStatusCompleted}
		if d := cmp.Diff(want, ended); d != "" || parent != "c1" {
			t.Errorf("calls (-want +got):\n%s parent %q", d, parent)
		}
	})
}

// The user can stop only a child, or the whole turn through the child's question.
func TestSubagents_Cancel(t *testing.T) {
	gate := providertest.NewGate()
	defer gate.Open()
	e := start(t, scripted(
		providertest.Step{providertest.Call("c1", "task", `{"tasks":[{"id":"a","description":"look","assignment":"look around"}]}`)},
		providertest.Step{providertest.Text("child works"), gate.Hold()},
		providertest.Step{providertest.Text("then without it")},
	), as(acptest.UnstableCapabilities()))
	id := e.session()
	stop := make(chan acp.StopReason, 1)
	go func() {
		resp, err := e.Prompt(t.Context(), id, "delegate")
		if err != nil {
			t.Error(err)
			resp = new(acp.PromptResponse)
		}
		stop <- resp.StopReason
	}()
	var child acp.SessionID
	e.await(id, acptest.Update(func(u *acp.SubagentUpdate) bool { child = u.SessionID; return true }))
	e.await(child, acptest.Update(func(u *acp.AgentMessageChunk) bool { return true }))
	if err := e.Conn.Notify(t.Context(), "session/cancel", obj{"sessionId": child}); err != nil {
		t.Fatal(err)
	}
	if got := <-stop; got != acp.StopReasonEndTurn {
		t.Errorf("the parent stopped with %s", got)
	}
	if text := e.Text(id); !strings.Contains(text, "then without it") {
		t.Errorf("the parent said %q", text)
	}
}

func TestSubagents_CancelledQuestionStopsAll(t *testing.T) {
	e := start(t, scripted(
		providertest.Step{providertest.Call("c1", "task", `{"tasks":[{"id":"a","description":"look","assignment":"look around"}]}`)},
		providertest.Step{providertest.Call("c2", "bash", `{"command":"true"}`)},
	), func(c *config) {
		c.editor.Permission = func(context.Context, *acp.RequestPermissionRequest) (*acp.RequestPermissionResponse, error) {
			return &acp.RequestPermissionResponse{Outcome: &acp.CancelledPermissionOutcome{}}, nil
		}
	})
	e.say(e.session(), "delegate", acp.StopReasonCancelled)
}

// The terminal method is offered only to clients that can run it and cannot be authenticated otherwise. Every client has a method
// that works.
func TestAuthMethods(t *testing.T) {
	for _, tt := range []struct {
		name   string
		client *acp.ClientCapabilities
		want   []string
	}{
		{"none", &acp.ClientCapabilities{}, []string{"agent agent"}},
		{"terminal", &acp.ClientCapabilities{Auth: acp.AuthCapabilities{Terminal: true}}, []string{"agent agent", "terminal terminal"}},
		{"older", &acp.ClientCapabilities{Meta: acp.Meta{"terminal-auth": []byte("true")}}, []string{"agent agent", "terminal-login agent gjc"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := start(t, as(tt.client), func(c *config) { c.server.Login = []string{"gjc", "acp", "--acp-terminal-auth"} })
			resp, err := e.Initialize(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, m := range resp.AuthMethods {
				switch m := m.(type) {
				case *acp.AuthMethodAgent:
					var how struct {
						Command string   `json:"command"`
						Args    []string `json:"args"`
						Label   string   `json:"label"`
					}
					line := string(m.ID) + " agent"
					if ok, err := m.Meta.Get("terminal-auth", &how); ok && err == nil {
						line += " " + how.Command
					}
					got = append(got, line)
				case *acp.AuthMethodTerminal:
					got = append(got, string(m.ID)+" terminal")
					if d := cmp.Diff([]string{"--acp-terminal-auth"}, m.Args); d != "" {
						t.Error(d)
					}
				}
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
			wantCode(t, e.Conn.Call(t.Context(), "authenticate", obj{"methodId": "terminal"}, nil), acp.ErrorCodeInvalidParams, "client")
			call[struct{}](e, "authenticate", obj{"methodId": "agent"})
		})
	}
}

// A client that has asked for the status receives its changes; any other client does not.
func TestAuthStatus_Changes(t *testing.T) {
	for _, asks := range []bool{true, false} {
		e := start(t, func(c *config) {
			models := registry.New(registry.Options{
				AgentDir: c.agent, Fallback: offline.Info(), Factories: map[string]providers.Factory{offline.API: offline.Open, "anthropic-messages": offline.Open},
			})
			if err := models.StoreKey("anthropic", "sk-ant-secret-of-the-test", registry.StoreOptions{}); err != nil {
				t.Fatal(err)
			}
			c.server.Models.Models = models
		})
		if asks {
			st := call[acp.AuthStatusResponse](e, "auth/status", obj{})
			if st.State != acp.AuthStateAuthenticated || len(st.Accounts) != 1 || st.Accounts[0].Active == nil || !*st.Accounts[0].Active {
				t.Errorf("with a key: %+v", st)
			}
			if raw, _ := json.Marshal(st); strings.Contains(string(raw), "secret-of-the-test") {
				t.Errorf("the status has the key: %s", raw)
			}
		}
		call[struct{}](e, "logout", obj{})
		if asks { // a client that asks again before the update arrives needs none
			e.await("", acptest.Called("auth/status_update", 1))
		}
		call[struct{}](e, "logout", obj{}) // no further change
		if st := call[acp.AuthStatusResponse](e, "auth/status", obj{}); st.State != acp.AuthStateNotRequired || len(st.Accounts) > 0 {
			t.Errorf("without a key: %+v", st)
		}
		want := 0
		if asks {
			want = 1
		}
		n := 0
		for _, method := range e.Calls() {
			if method == "auth/status_update" {
				n++
			}
		}
		if n != want {
			t.Errorf("a client that asks (%v) received %d updates", asks, n)
		}
	}
}
