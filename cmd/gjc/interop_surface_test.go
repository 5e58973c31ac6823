package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/internal/testenv"
)

// sdkSurface is the output of testdata/interop/sdk-surface.mjs.
type sdkSurface struct {
	Errors map[string]int
	Forms  []struct {
		Mode, Message, URL string
		Fields             []string
	}
	Tools                              map[string][]sdkOutput
	Permissions, PermissionsForFurther int
	MCP                                []string
	Before, After                      string
	Options, Compaction, Listed        []string
	Further                            []sdkOutput
	Toggled                            []bool
	Hidden, Shown, Left, Aborted       bool
	Steered, IdleSteering              struct{ Outcome, Reason string }
	SteeredStop                        string
	Unstable                           *struct {
		Forked, Unarchived, Disabled, Usage            bool
		Fork, Title, Provider, Set, ChildSaid, Stalled string
		ParentSaid, Elsewhere                          string
		Status, PlanKinds, Children, Gone              []string
		Archived                                       []bool
		Prompts                                        []int
		Plan                                           struct{ Type, PlanID string }
		Removed                                        int
		Whisper, Sign                                  []sdkOutput
	}
	Exit struct {
		Code   *int
		Signal string
	}
}

type sdkOutput struct{ Title, Kind, Status, Output string }

// The official TypeScript SDK, with its stable entry point and with its unstable one, drives the features beyond a
// plain session: accounts, forms, switches, steering; forks, the archive, providers, children, and an MCP server of its
// own.
func TestInterop_TypeScriptSDK_Surface(t *testing.T) {
	t.Parallel()
	for _, flavour := range []string{"stable", "unstable"} {
		for _, transport := range transports {
			t.Run(flavour+" over "+transport, func(t *testing.T) {
				t.Parallel()
				driveSurface(t, flavour, transport)
			})
		}
	}
}

func driveSurface(t *testing.T, flavour, transport string) {
	t.Helper()
	dir := testenv.NeedsInterop(t)
	home, work, further := tempDir(t), tempDir(t), tempDir(t)
	keys := filepath.Join(home, ".gjc", "agent", "auth.json")
	writeFile(t, keys, `{"anthropic":{"type":"api_key","key":"sk-ant-interop"}}`)
	writeFile(t, filepath.Join(further, "far.txt"), "far\n")
	log := filepath.Join(home, "rpc.log")
	// The offline model is named explicitly: sessions that have it only by default change to the client's
	// model.
	agent, env := agentOver(t, transport, home, append([]string{"--model", "offline/demo"}, rpcLog(transport, log)...)...)
	out, err := node(t, env, home, append([]string{filepath.Join(dir, "sdk-surface.mjs"), flavour, work, further}, agent...)...)
	if err != nil {
		t.Fatal(err)
	}
	var got sdkSurface
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	if transport == "stdio" {
		newWireCheck(t).replay(log)
	}
	checkSurface(t, &got, further)
	if got.Unstable != nil {
		checkUnstable(t, &got)
	}
	if (got.Unstable != nil) != (flavour == "unstable") {
		t.Errorf("%s: %+v", flavour, got.Unstable)
	}
	if data, err := os.ReadFile(keys); err != nil || string(data) != "{}\n" {
		t.Errorf("after the logout the keys are %s, %v", data, err)
	}
	wantEmptyExcept(t, work)
}

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func checkSurface(t *testing.T, got *sdkSurface, further string) {
	t.Helper()
	errors := map[string]int{"terminal method": invalidParams, "load of a deleted session": notFound}
	if got.Unstable != nil {
		errors["status of an unknown session"], errors["unknown provider"] = notFound, invalidParams
	}
	same(t, "errors", got.Errors, errors)
	same(t, "options", got.Options, []string{"mode select", "model select", "thinking select", "show_thinking boolean"})
	same(t, "a file of a further directory", got.Further, []sdkOutput{{"Read " + filepath.Join(further, "far.txt"), "read", "completed", "    1|far"}})
	same(t, "questions about it", got.PermissionsForFurther, 0)
	same(t, "listed", got.Listed, []string{further})
	same(t, "answers", got.Tools, map[string][]sdkOutput{
		"accept":  {{"Ask: Which way?", "other", "completed", "The user answered: right, words"}},
		"decline": {{"Ask: Which way?", "other", "failed", "the user declined to answer; continue without it, or stop and say what you need"}},
		"cancel":  {{"Ask: Which way?", "other", "failed", "the user closed the question without an answer; do not ask it again; continue without it or stop"}},
	})
	for _, form := range got.Forms[:3] {
		same(t, "form", form.Mode+": "+form.Message, "form: Which way?")
	}
	same(t, "the switch", got.Toggled, []bool{false, true})
	same(t, "thoughts while it is off and on", []bool{got.Hidden, got.Shown}, []bool{false, true})
	same(t, "compaction", got.Compaction, []string{"compaction_summary_chunk", "compaction_update"})
	same(t, "steering", []string{got.Steered.Outcome, got.SteeredStop, got.IdleSteering.Outcome, got.IdleSteering.Reason},
		[]string{"injected", "cancelled", "promptRequired", "noRunningTurn"})
	same(t, "in the list after its deletion", got.Left, false)
	if got.Exit.Code == nil || *got.Exit.Code != 0 {
		t.Errorf("gjc ended with %+v", got.Exit)
	}
}

func checkUnstable(t *testing.T, got *sdkSurface) {
	t.Helper()
	u := got.Unstable
	same(t, "account", []string{got.Before, got.After}, []string{"authenticated", "not_required"})
	same(t, "fork, its return and the provider's end", []bool{u.Forked, u.Unarchived, u.Disabled, u.Usage}, []bool{true, true, true, true})
	same(t, "fork", u.Fork, "in the fork\n\nDone.")
	same(t, "status", u.Status, []string{"open", "saved"})
	same(t, "title", u.Title, "The fork")
	same(t, "in the list without, with only, and with the archive", u.Archived, []bool{false, true, true})
	if p := u.Prompts; len(p) != 3 || p[0] >= p[1] || p[1] >= p[2] || p[0] == 0 {
		t.Errorf("system prompts of one's own, gjc's, and both have %v tokens", p)
	}
	same(t, "provider", u.Set, "http://127.0.0.1:1/v1")
	same(t, "plans", u.PlanKinds, []string{"plan_update"})
	same(t, "plan", u.Plan.Type, "items")
	same(t, "plans that were taken away", u.Removed, 1)
	same(t, "child", u.Children, []string{"running", "idle"})
	same(t, "the child's words", u.ChildSaid, "child speaks\n\nDone.")
	same(t, "the parent's words", u.ParentSaid, "\nDone: 1 tool call, all of them succeeded.")
	same(t, "tool of the editor's MCP server", u.Whisper, []sdkOutput{{"pocket: whisper", "read", "completed", "whispered hush"}})
	same(t, "question of the editor's MCP server", u.Sign, []sdkOutput{{"pocket: sign", "read", "completed", "the user chose accept"}})
	if last := got.Forms[len(got.Forms)-1]; last.Mode != "url" || last.URL != "https://sign.invalid/here" {
		t.Errorf("the last question is %+v", last)
	}
	same(t, "the tool in another session", u.Elsewhere, "This session offers no tool called whisper.\n\nDone.")
	same(t, "a call that was cancelled", u.Stalled, "cancelled")
	same(t, "and the server heard", got.Aborted, true)
	same(t, "after the server's end", u.Gone, []string{"failed"})
	same(t, "MCP", got.MCP, []string{"server/discover", "tools/list", "tools/call", "tools/call", "tools/call", "tools/call"})
}
