package sessions_test

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/internal/testenv"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
)

// everyPart is a conversation with all kinds of parts.
func everyPart() []providers.Message {
	return []providers.Message{
		{
			ID: "m1", Role: providers.RoleUser, Time: epoch, Parts: []providers.Part{
				providers.Text{Text: "fix <this> & \"that\"\n\u2028 🦐"},
				providers.Image{MIMEType: "image/png", Data: []byte{0, 1, 254, 255}},
			},
		},
		{
			ID: "m2", Role: providers.RoleAssistant, Time: epoch.Add(1_500_000_000),
			Parts: []providers.Part{
				providers.Thinking{Text: "look first", Signature: "sig"},
				providers.Thinking{Redacted: true, Signature: "opaque"},
				providers.Thinking{Text: "plain", Field: "reasoning_content"},
				providers.Thinking{Text: "plain", Field: "content"},
				providers.Text{Text: "I will.", Signature: "ts"},
				providers.ToolCall{ID: "c1", Name: "read", Input: raw(`{"path":"a.go","n":1e3,"big":12345678901234567890}`), Signature: "cs"},
				providers.ToolCall{ID: "c2", Name: "bash", Input: raw(`{"command": "go te`)},
				providers.ToolCall{ID: "c3", Name: "bash", Input: raw(`"a string"`)},
				providers.ToolCall{ID: "c4", Name: "bash", Input: raw(`{"a":1,"a":2}`)},
				providers.ToolCall{ID: "c5", Name: "bash", Input: raw(`{}`)},
			},
			API: "anthropic-messages", Provider: "anthropic", Model: "m", StopReason: providers.StopTools,
			Usage: providers.Usage{Input: 1, Output: 2, CacheRead: 3, CacheWrite: 4, Thinking: 1},
		},
		{
			Role: providers.RoleTool, Time: epoch, ToolCallID: "c1", ToolName: "read", IsError: true,
			Parts: []providers.Part{providers.Text{Text: ""}}, Details: raw(`{"diff":[{"path":"/w/a.go"}]}`),
		},
		{
			Role: providers.RoleAssistant, Time: epoch, API: "a", Provider: "p", Model: "m",
			StopReason: providers.StopError, Error: "overloaded", Parts: []providers.Part{},
		},
	}
}

func TestMessages_SurviveTheFile(t *testing.T) {
	s := newStore(t)
	l := create(t, s)
	want := everyPart()
	for _, m := range want {
		appendMessage(t, l, m)
	}
	// A model does not receive details.
	lean := slices.Clone(want)
	for i := range lean {
		lean[i].Details = nil
	}
	check := func(when string) {
		t.Helper()
		if diff := cmp.Diff(lean, allMessages(t, l)); diff != "" {
			t.Errorf("%s: messages (-want +got):\n%s", when, diff)
		}
		var got []providers.Message
		for _, e := range allBranch(t, l) {
			got = append(got, e.(sessions.MessageEntry).Message)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: messages of the branch (-want +got):\n%s", when, diff)
		}
	}
	check("live")
	closeLog(t, l)
	l = open(t, s, l.ID())
	check("loaded")
	if notices := l.Notices(); len(notices) > 0 {
		t.Errorf("notices: %q", notices)
	}
}

func everyEntry() []sessions.Entry {
	return []sessions.Entry{
		sessions.ModelChange{Model: "p/m", Role: "default", PreviousModel: "p/n", Reason: "user", ThinkingLevel: "low"},
		sessions.ModelChange{Model: "p/m"},
		sessions.ThinkingChange{Level: providers.ThinkingHigh},
		sessions.ModeChange{Mode: "plan", Data: raw(`{"planFile":"/w/p.md"}`)},
		sessions.ModeChange{Mode: "default"},
		sessions.Compaction{
			Summary: "s", ShortSummary: "ss", FirstKeptEntryID: "00000000", TokensBefore: 9, Details: raw(`[]`),
			PreserveData: raw(`{"a":1}`), FromExtension: true,
		},
		sessions.BranchSummary{FromID: "root", Summary: "s", Details: raw(`1`), FromExtension: true},
		sessions.Custom{CustomType: "ext", Data: raw(`{"state":1}`)},
		sessions.Custom{CustomType: "ext"},
		sessions.CustomMessage{
			CustomType: "ext", Parts: []providers.Part{providers.Text{Text: "t"}}, Display: true, Details: raw(`{}`),
			Attribution: "agent",
		},
		sessions.Label{TargetID: "00000000", Label: "here"},
		sessions.Label{TargetID: "00000000"},
		sessions.SessionInit{SystemPrompt: "p", Task: "t", Tools: []string{"read"}, OutputSchema: raw(`{}`), ForkContext: raw(`{}`)},
		sessions.ServiceTierChange{ServiceTier: raw(`"flex"`)},
		sessions.ServiceTierChange{ServiceTier: raw(`null`)},
		sessions.RuleInjection{InjectedRules: []string{"r"}},
		sessions.ToolSelection{SelectedToolNames: []string{"a", "b"}},
	}
}

func TestEntries_SurviveTheFile(t *testing.T) {
	s := newStore(t)
	l := create(t, s)
	for _, e := range everyEntry() {
		appendEntry(t, l, e)
	}
	live := allEntries(t, l)
	closeLog(t, l)
	l = open(t, s, l.ID())
	if diff := cmp.Diff(live, allEntries(t, l)); diff != "" {
		t.Errorf("entries (-live +loaded):\n%s", diff)
	}
	parent := ""
	for i, e := range live {
		ref := e.Ref()
		if ref.ParentID != parent || !regexp.MustCompile(`^[0-9a-f]{8}$`).MatchString(ref.ID) || ref.Time.IsZero() {
			t.Errorf("entry %d: %+v, want parent %q", i, ref, parent)
		}
		parent = ref.ID
	}
}

var anyID = regexp.MustCompile(`"(id|parentId)":"[0-9a-f]{8}"`)

// Other installations read the file, so it is compared byte for byte.
func TestFile_IsTheProductsFormat(t *testing.T) {
	s := newStore(t)
	l, err := s.Create(t.Context(), sessions.Header{
		Cwd: "/w/demo", AdditionalDirectories: []string{"/w/lib"}, Title: "T", TitleSource: "user", ParentSession: "s0",
	})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, m := range everyPart() {
		appendMessage(t, l, m)
	}
	for _, e := range everyEntry() {
		appendEntry(t, l, e)
	}
	for _, err := range []error{
		l.SetTitle("New", "user"), l.SetDirectories([]string{"/w/other"}), l.SetDirectories(nil),
		l.SetSystemPrompt("append", "Be brief."), l.Clear(), l.SetSystemPrompt("append", ""),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	got := anyID.ReplaceAllString(readFile(t, l.Path()), `"$1":"<id>"`)
	golden := filepath.Join("testdata", "written.golden.jsonl")
	if testenv.Update() {
		if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(strings.Split(readFile(t, golden), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("%s (-want +got), rewrite it with -update:\n%s", golden, diff)
	}
}

func TestFile_NameAndRights(t *testing.T) {
	s := newStore(t)
	l := create(t, s)
	want := filepath.Join(s.Dir(), "--w-demo--", "2026-02-16T10-20-31-000Z_s1.jsonl")
	if l.Path() != want {
		t.Errorf("path = %s, want %s", l.Path(), want)
	}
	if l.ArtifactDir() != strings.TrimSuffix(want, ".jsonl") {
		t.Errorf("artifacts in %s", l.ArtifactDir())
	}
	if runtime.GOOS == "windows" {
		return
	}
	for path, want := range map[string]os.FileMode{l.Path(): 0o600, filepath.Dir(l.Path()): 0o700} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s has rights %o, want %o", path, got, want)
		}
	}
}

func TestAppend_RefusesWhatItCouldNotRead(t *testing.T) {
	s := newStore(t)
	l := create(t, s)
	for name, e := range map[string]sessions.Entry{
		"details": sessions.MessageEntry{Message: providers.Message{Role: providers.RoleTool, Details: raw(`{"a`)}},
		"role":    sessions.MessageEntry{Message: providers.Message{Role: "narrator"}},
		"data":    sessions.Custom{CustomType: "x", Data: raw(`{"a`)},
		"unknown": sessions.Unknown{Type: "x", Raw: raw(`{}`)},
	} {
		if _, err := l.Append(e); err == nil || errors.Is(err, sessions.ErrReadOnly) {
			t.Errorf("%s: err = %v", name, err)
		}
	}
	appendMessage(t, l, user("still writable"))
	if n := lines(readFile(t, l.Path())); n != 2 {
		t.Errorf("the file has %d lines, want 2", n)
	}
}
