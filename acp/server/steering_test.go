package server_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/acptest"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/providertest"
)

type steered struct {
	Outcome string `json:"outcome"`
	Reason  string `json:"reason"`
}

func TestSteering_JoinsTheRunningTurn(t *testing.T) {
	gate := providertest.NewGate()
	defer gate.Open()
	var script *providertest.Script
	e := start(t, scripted(
		providertest.Step{providertest.Text("working"), gate.Hold()},
		providertest.Step{providertest.Text("as you wish")},
	), func(c *config) { script = c.server.Models.Models.(*models).list[0].(*providertest.Script) })
	id := e.session()
	answered := make(chan *acp.PromptResponse, 1)
	go func() {
		resp, err := e.Prompt(t.Context(), id, "begin")
		if err != nil {
			t.Error(err)
		}
		answered <- resp
	}()
	e.await(id, acptest.Update(func(*acp.AgentMessageChunk) bool { return true }))
	prompt := []any{obj{"type": "text", "text": "use tabs"}}
	if got := call[steered](e, "_session/steering", obj{"sessionId": id, "prompt": prompt}); got.Outcome != "injected" {
		t.Errorf("outcome %+v", got)
	}
	gate.Open()
	if resp := <-answered; resp.StopReason != acp.StopReasonEndTurn {
		t.Errorf("stopped with %s", resp.StopReason)
	}
	reqs := script.Requests()
	if len(reqs) != 2 {
		t.Fatalf("%d model requests, want 2: the second for what was steered in", len(reqs))
	}
	last := reqs[1].Messages[len(reqs[1].Messages)-1]
	if last.Role != providers.RoleUser || last.Text() != "use tabs" {
		t.Errorf("the second request ends with %s %q", last.Role, last.Text())
	}
	if text := e.Text(id); !strings.Contains(text, "as you wish") || strings.Contains(text, "use tabs") {
		t.Errorf("the client received %q", text)
	}
}

func TestSteering_WithoutATurn(t *testing.T) {
	e := start(t, scripted(providertest.Step{providertest.Text("on my own")}))
	id := e.session()
	prompt := []any{obj{"type": "text", "text": "go"}}
	opted := call[steered](e, "_session/steering", obj{"sessionId": id, "prompt": prompt, "_meta": obj{"steering": obj{"idleBehavior": "promptRequired"}}})
	if d := cmp.Diff(steered{"promptRequired", "noRunningTurn"}, opted); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	if got := call[steered](e, "_session/steering", obj{"sessionId": id, "prompt": prompt}); got.Outcome != "startedNewTurn" {
		t.Errorf("outcome %+v", got)
	}
	e.await(id, acptest.Update(func(u *acp.AgentMessageChunk) bool { return true }))
	if text := e.Text(id); !strings.Contains(text, "on my own") {
		t.Errorf("the client received %q", text)
	}
}

// Steering is not lost if its turn is canceled before the model receives it: the next turn includes it.
func TestSteering_SurvivesCancel(t *testing.T) {
	gate := providertest.NewGate()
	defer gate.Open()
	var script *providertest.Script
	e := start(t, scripted(
		providertest.Step{providertest.Text("working"), gate.Hold()},
		providertest.Step{providertest.Text("fine")},
	), func(c *config) { script = c.server.Models.Models.(*models).list[0].(*providertest.Script) })
	id := e.session()
	answered := make(chan acp.StopReason, 1)
	go func() {
		resp, err := e.Prompt(t.Context(), id, "begin")
		if err != nil {
			t.Error(err)
			resp = new(acp.PromptResponse)
		}
		answered <- resp.StopReason
	}()
	e.await(id, acptest.Update(func(*acp.AgentMessageChunk) bool { return true }))
	call[steered](e, "_session/steering", obj{"sessionId": id, "prompt": []any{obj{"type": "text", "text": "remember me"}}})
	if err := e.Conn.Notify(t.Context(), "session/cancel", obj{"sessionId": id}); err != nil {
		t.Fatal(err)
	}
	if got := <-answered; got != acp.StopReasonCancelled {
		t.Errorf("stopped with %s", got)
	}
	e.say(id, "next", acp.StopReasonEndTurn)
	reqs := script.Requests()
	found := false
	for _, m := range reqs[len(reqs)-1].Messages {
		found = found || m.Text() == "remember me"
	}
	if !found {
		t.Error("the next request does not have what was steered in")
	}
}
