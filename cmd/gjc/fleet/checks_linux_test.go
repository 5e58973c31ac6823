package fleet

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gajae-code/gjc/acp"
)

func said(text string) acp.SessionUpdate {
	return &acp.AgentMessageChunk{Content: &acp.TextContent{Text: text}}
}

func wrote(text string) acp.SessionUpdate {
	return &acp.UserMessageChunk{Content: &acp.TextContent{Text: text}}
}

// The numbers of updates rise by one, except where the client's own prompt is left out.
func TestView_Numbers(t *testing.T) {
	for _, c := range []struct {
		name    string
		own     string
		numbers []int64
		answer  int64 // to the prompt; 0 for none
		want    string
	}{
		{name: "rising", numbers: []int64{7, 8, 9}},
		{name: "gap", numbers: []int64{7, 9}, want: "update 9 follows update 7"},
		{name: "double", numbers: []int64{7, 7}, want: "update 7 follows update 7"},
		{name: "back", numbers: []int64{7, 8, 7}, want: "update 7 follows update 8"},
		{name: "none", numbers: []int64{7, 0}, want: "an update has no number"},
		{name: "own prompt", own: "x", numbers: []int64{7, 9}, answer: 8},
		{name: "own prompt without updates", own: "x", numbers: []int64{7}, answer: 8},
		{name: "own prompt and a gap", own: "x", numbers: []int64{7, 10}, want: "update 10 follows update 7"},
		{name: "a second gap", own: "x", numbers: []int64{7, 9, 11}, want: "update 11 follows update 9"},
		{name: "the wrong number of the prompt", own: "x", numbers: []int64{7}, answer: 9, want: "the prompt has the number 9"},
	} {
		v := &view{own: c.own}
		for _, n := range c.numbers {
			v.add(n, said("a"), false)
		}
		if c.answer > 0 {
			v.answered(c.answer)
		}
		if got := strings.Join(v.errs, "; "); (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// What replaces a view may differ in the last answer only.
func TestView_Differences(t *testing.T) {
	show := func(updates ...acp.SessionUpdate) *view {
		v := new(view)
		for i, u := range updates {
			v.add(int64(i+1), u, false)
		}
		return v
	}
	one, two := wrote(beginOfPrompt+"w1-0."), wrote(beginOfPrompt+"w1-1.")
	shown := show(one, said("a"), said("b"), two, said("c"))
	for _, c := range []struct {
		name   string
		stored *view
		equal  bool
	}{
		{"the same", show(one, said("ab"), two, said("c")), true},
		{"a cut answer", show(one, said("ab"), two), true},
		{"more", show(one, said("ab"), two, said("cd"), wrote(beginOfPrompt+"w1-2.")), true},
		{"a lost update", show(one, said("a"), two, said("c")), false},
		{"a doubled update", show(one, said("abb"), two, said("c")), false},
		{"a lost prompt", show(one, said("ab")), false},
		{"a lost answer", show(one, two), false},
		{"another order", show(two, said("c"), one, said("ab")), false},
		{"nothing", new(view), false},
	} {
		if got := shown.differences(c.stored); (len(got) == 0) != c.equal {
			t.Errorf("%s: %q", c.name, got)
		}
	}
}

func TestView_Cut(t *testing.T) {
	v := new(view)
	v.add(1, wrote(beginOfPrompt+"w1-0.\n!say end-w1-0."), false)
	if !v.cut() {
		t.Error("a turn without an answer is whole")
	}
	v.add(2, &acp.ToolCall{ToolCallID: "c", Status: acp.ToolCallStatusInProgress}, false)
	if !v.cut() {
		t.Error("a turn with an open call is whole")
	}
	v.add(2, &acp.ToolCallUpdate{ToolCallID: "c", Status: acp.Value(acp.ToolCallStatusCompleted)}, true)
	if !v.cut() {
		t.Error("a turn whose call no answer follows is whole")
	}
	v.add(3, said("end-w1-0."), false)
	if v.cut() {
		t.Error("a whole turn is cut")
	}
	v.add(4, &acp.Notice{Title: wordsOfInterruption}, false)
	if !v.interrupted {
		t.Error("the notice does not count")
	}
	if v.add(5, wrote("x"), false); v.interrupted {
		t.Error("the notice counts for the next turn")
	}
}

// turnOf is a whole turn, as a client shows it.
func turnOf(v *view, word, status string) {
	v.say(itemUser, beginOfPrompt+word)
	v.say(itemAgent, "begin-"+word)
	v.call(acp.ToolCallID("call-"+word), acp.ToolCallStatus(status))
	v.say(itemAgent, "end-"+word)
}

func TestSession_Check(t *testing.T) {
	at := time.Now()
	make3 := func() *session {
		s := &session{number: 1, dir: t.TempDir(), calls: map[string]string{"call-w1-0.": "completed"}}
		for i, answered := range []bool{true, false, true} {
			p := &prompt{word: "w1-" + string(rune('0'+i)) + ".", sent: at.Add(time.Duration(2*i) * time.Second)}
			if answered {
				p.answered = p.sent.Add(time.Second)
			}
			s.prompts = append(s.prompts, p)
		}
		return s
	}
	whole := []string{"w1-0.", "w1-2."}
	for _, c := range []struct {
		name, status string
		turns, ran   []string
		want         string
	}{
		{"without the prompt that was not answered", "completed", whole, whole, ""},
		{"with it", "completed", []string{"w1-0.", "w1-1.", "w1-2."}, []string{"w1-0.", "w1-1.", "w1-2."}, ""},
		{"a lost prompt", "completed", whole[:1], whole, "the answered prompt w1-2. is there 0 times"},
		{"a doubled prompt", "completed", []string{"w1-0.", "w1-0.", "w1-2."}, whole, "the prompt w1-0. is there 2 times"},
		{"a doubled prompt that was not answered", "completed", []string{"w1-0.", "w1-1.", "w1-1.", "w1-2."}, whole, "the prompt w1-1. is there 2 times"},
		{"another order", "completed", []string{"w1-2.", "w1-0."}, whole, "w1-0. was answered before one was sent that stands in front of it"},
		{"a foreign prompt", "completed", []string{"w1-0.", "w1-2.", "w9-9."}, whole, "has sent w9-9."},
		{"a command that ran twice", "completed", whole, []string{"w1-0.", "w1-0.", "w1-2."}, "the command of the prompt w1-0. ran 2 times"},
		{"a command that did not run", "completed", whole, whole[:1], "its command ran 0 times"},
		{"a call that ended otherwise", "failed", whole, whole, "the call call-w1-0. was shown as completed"},
	} {
		s, stored := make3(), new(view)
		for _, word := range c.turns {
			turnOf(stored, word, c.status)
		}
		got := s.check(stored, []byte(strings.Join(c.ran, "\n")+"\n"))
		if c.want == "" && len(got) > 0 || c.want != "" && !slices.ContainsFunc(got, func(e string) bool { return strings.Contains(e, c.want) }) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	cutOff := new(view)
	turnOf(cutOff, "w1-0.", "completed")
	cutOff.say(itemUser, beginOfPrompt+"w1-2.")
	cutOff.say(itemAgent, "begin-w1-2.")
	if got := make3().check(cutOff, []byte("w1-0.\nw1-2.\n")); len(got) == 0 {
		t.Error("half of an answer is enough")
	}
}
