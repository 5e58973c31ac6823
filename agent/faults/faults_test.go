package faults_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/agent/faults"
	"github.com/gajae-code/gjc/providers"
)

// corpus is a leak that a model has written.
const corpus = "~ add_function(iso, ctx, ns, \"installSystemChangeObserver\",\n os_install_system_change_observer);】【\"】【analysis to=functions.echo\n code above เงินไทยฟรีuser to=functions.echo code …"

func TestCutLeaks(t *testing.T) {
	isTool := func(name string) bool { return name == "edit" || name == "echo" }
	for _, tt := range []struct {
		name, text string
		kept       string
		leaked     bool
	}{
		{"of the corpus", corpus, corpus[:strings.Index(corpus, "】【")], true},
		{"glitch token", "return x\n}Japgolly to=functions.edit code\nmore", "return x\n}", true},
		{"channel and body", "x = 1 commentary to=functions.edit code {", "x = 1", true},
		{"cascade", "x assistant to=functions.edit code_output\nCell 1: to=functions.edit", "x", true},
		{"spam", "done 大发时时彩 to=functions.edit code", "done", true},
		{"another tool", "analysis to=functions.other code 大发时时彩", "", false},
		{"a name of its own", "analysis to=functions.NAME code …", "", false},
		{"the protocol itself", "<|start|>assistant<|channel|>commentary to=functions.edit<|message|>{}", "", false},
		{"in quotes", `want := "analysis to=functions.edit code"`, "", false},
		{"in backquotes", "the words `analysis to=functions.edit code` leak", "", false},
		{"one sign", "routing is to=functions.edit in the header", "", false},
		{"a word before", "the user to=functions.edit", "", false},
		{"code about it", "const marker = `to=functions.`\nfunc edit() {}", "", false},
		{"a language", "документация: to=functions.edit", "", false},
		{"no marker", "analysis code 大发时时彩 Japgolly", "", false},
	} {
		msg := &providers.Message{Parts: []providers.Part{providers.Text{Text: tt.text}}}
		calls, leaked := faults.CutLeaks(msg, isTool)
		want := tt.text
		if tt.leaked {
			want = tt.kept
		}
		if got := msg.Text(); leaked != tt.leaked || strings.TrimSpace(got) != strings.TrimSpace(want) || len(calls) > 0 {
			t.Errorf("%s: %v, kept %q, calls %q", tt.name, leaked, got, calls)
		}
	}
}

// A call whose arguments contain a leak is reported, and loses all its arguments.
func TestCutLeaks_Calls(t *testing.T) {
	clean := providers.ToolCall{ID: "c1", Name: "echo", Input: []byte(`{"say":"analysis to=functions.other"}`)}
	dirty := providers.ToolCall{ID: "c2", Name: "echo", Input: []byte(`{"list":[{"analysis to=functions.echo code 大发时时彩":1}]}`)}
	msg := &providers.Message{Parts: []providers.Part{clean, dirty}}
	calls, found := faults.CutLeaks(msg, func(name string) bool { return name == "echo" })
	dirty.Input = []byte("{}")
	want := &providers.Message{Parts: []providers.Part{clean, dirty}}
	if diff := cmp.Diff(want, msg); diff != "" || !found || !slices.Equal(calls, []string{"c2"}) {
		t.Errorf("calls %q, found %v\n%s", calls, found, diff)
	}
}

// CutRepetition leaves one block, and never a part of a character.
func TestCutRepetition(t *testing.T) {
	for text, want := range map[string]string{"so: " + strings.Repeat("abc", 9): "so: abc…", strings.Repeat("né", 9): "né…"} {
		msg := &providers.Message{Parts: []providers.Part{providers.Text{Text: text}}}
		if faults.CutRepetition(msg, 3); msg.Text() != want {
			t.Errorf("%q: %q, want %q", text, msg.Text(), want)
		}
	}
}

// The cost per byte of the stream does not depend on the stream's length.
func BenchmarkRepetition(b *testing.B) {
	var text strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&text, "word%d and more ", i)
	}
	b.SetBytes(int64(text.Len()))
	for b.Loop() {
		var r faults.Repetitions
		for piece := range slices.Chunk([]byte(text.String()), 16) {
			if r.Add(providers.TextDelta{Text: string(piece)}) > 0 {
				b.Fatal("a repetition")
			}
		}
	}
}
