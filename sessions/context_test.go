package sessions_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
)

const compacted = "u The conversation before this point was replaced by this summary of it:\n\n"

func TestMessages_Compaction(t *testing.T) {
	s := newStore(t)
	l := create(t, s)
	appendMessage(t, l, user("one"))
	appendMessage(t, l, assistant("two"))
	three := appendMessage(t, l, user("three"))
	appendMessage(t, l, assistant("four"))
	appendEntry(t, l, sessions.Compaction{Summary: "A", FirstKeptEntryID: three})
	appendMessage(t, l, user("five"))
	if diff := cmp.Diff([]string{compacted + "A", "u three", "a four", "u five"}, texts(allMessages(t, l))); diff != "" {
		t.Errorf("after one compaction (-want +got):\n%s", diff)
	}
	six := appendMessage(t, l, assistant("six"))
	appendEntry(t, l, sessions.Compaction{Summary: "B", FirstKeptEntryID: six})
	if diff := cmp.Diff([]string{compacted + "B", "a six"}, texts(allMessages(t, l))); diff != "" {
		t.Errorf("after two compactions (-want +got):\n%s", diff)
	}
	appendEntry(t, l, sessions.Compaction{Summary: "C", FirstKeptEntryID: "nowhere"})
	appendMessage(t, l, user("seven"))
	if diff := cmp.Diff([]string{compacted + "C", "u seven"}, texts(allMessages(t, l))); diff != "" {
		t.Errorf("after a compaction that keeps nothing (-want +got):\n%s", diff)
	}
	if n := len(allBranch(t, l)); n != 10 {
		t.Errorf("the branch has %d entries, want all 10", n)
	}
}

func TestMessages_ActiveBranchOnly(t *testing.T) {
	s := newStore(t)
	place(t, s, "x", header3+
		entryLine("a1", "", "root")+
		entryLine("b1", "a1", "left branch")+
		entryLine("c1", "a1", "right branch")+
		entryLine("c2", "c1", "leaf"))
	l := open(t, s, "x")
	if diff := cmp.Diff([]string{"u root", "u right branch", "u leaf"}, texts(allMessages(t, l))); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
	if n := len(allEntries(t, l)); n != 4 {
		t.Errorf("%d entries, want all 4", n)
	}
	appendMessage(t, l, user("next"))
	if got := allEntries(t, l)[4].Ref().ParentID; got != "c2" {
		t.Errorf("the next message follows %s, want the leaf c2", got)
	}
}

func TestMessages_ClearedContextStartsEmpty(t *testing.T) {
	s := newStore(t)
	place(t, s, "x", header3+entryLine("a1", "", "before")+
		`{"type":"custom","id":"a2","parentId":null,"timestamp":"","customType":"context_clear"}`+"\n"+
		entryLine("a3", "a2", "after"))
	if diff := cmp.Diff([]string{"u after"}, texts(allMessages(t, open(t, s, "x")))); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
}

func TestMessages_LoopsAndDuplicateIDsEnd(t *testing.T) {
	s := newStore(t)
	place(t, s, "x", header3+entryLine("a1", "a2", "one")+entryLine("a2", "a2", "two")+entryLine("a1", "a1", "three"))
	l := open(t, s, "x")
	if diff := cmp.Diff([]string{"u one", "u three"}, texts(allMessages(t, l))); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
}

func TestState_FollowsTheEntries(t *testing.T) {
	s := newStore(t)
	l := create(t, s)
	if diff := cmp.Diff(sessions.State{Thinking: providers.ThinkingOff}, l.State()); diff != "" {
		t.Errorf("new (-want +got):\n%s", diff)
	}
	appendMessage(t, l, assistant("hello"))
	if got := l.State().Model; got != "prov/mod" {
		t.Errorf("model = %q, want the one that answered", got)
	}
	for _, e := range everyEntry() {
		appendEntry(t, l, e)
	}
	for _, title := range []string{"First", "Second"} {
		if err := l.SetTitle(title, "auto"); err != nil {
			t.Fatal(err)
		}
	}
	want := sessions.State{
		Model: "p/m", Thinking: providers.ThinkingHigh, Mode: "default", MCPTools: []string{"a", "b"},
		Title: "Second", TitleSource: "auto",
	}
	for range 2 {
		if diff := cmp.Diff(want, l.State()); diff != "" {
			t.Errorf("state (-want +got):\n%s", diff)
		}
		closeLog(t, l)
		l = open(t, s, l.ID())
	}
}
