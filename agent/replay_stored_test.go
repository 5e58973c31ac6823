package agent_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
)

// entries returns a branch made of entries, messages and parts. A string is a prompt.
func entries(what ...any) []sessions.Entry {
	var branch []sessions.Entry
	for i, w := range what {
		ref := sessions.Base{ID: fmt.Sprintf("e%d", i+1)}
		switch w := w.(type) {
		case string:
			m := providers.Message{Role: providers.RoleUser, Parts: []providers.Part{providers.Text{Text: w}}}
			branch = append(branch, sessions.MessageEntry{Base: ref, Role: "user", Message: m})
		case []providers.Part:
			branch = append(branch, sessions.MessageEntry{Base: ref, Message: providers.Message{Role: providers.RoleAssistant, Parts: w}})
		case providers.Message:
			branch = append(branch, sessions.MessageEntry{Base: ref, Message: w})
		case sessions.MessageEntry:
			w.Base = ref
			branch = append(branch, w)
		case sessions.Custom:
			w.Base = ref
			branch = append(branch, w)
		case sessions.CustomMessage:
			w.Base = ref
			branch = append(branch, w)
		case sessions.Compaction:
			w.Base = ref
			branch = append(branch, w)
		case sessions.BranchSummary:
			w.Base = ref
			branch = append(branch, w)
		}
	}
	return branch
}

func spoken(parts ...providers.Part) []providers.Part { return parts }

func calls(id, name, input string) providers.ToolCall {
	return providers.ToolCall{ID: id, Name: name, Input: jsonx.Raw(input)}
}

func gives(id, name, text, details string) providers.Message {
	return providers.Message{
		Role: providers.RoleTool, ToolCallID: id, ToolName: name, Details: jsonx.Raw(details), Parts: []providers.Part{providers.Text{Text: text}},
	}
}

func eventsOf(branch []sessions.Entry, opts *agent.ReplayOptions) []agent.Event {
	var all []agent.Event
	for _, ev := range agent.Replay(branch, opts) {
		all = append(all, ev)
	}
	return all
}

func storyOf(branch []sessions.Entry, opts *agent.ReplayOptions) []string {
	w := new(world)
	for _, ev := range eventsOf(branch, opts) {
		w.emit(ev)
	}
	return w.story()
}

func TestReplay_Stored(t *testing.T) {
	const silent = "__gjc.silent_abort__"
	aborted := func(why string) providers.Message {
		return providers.Message{Role: providers.RoleAssistant, StopReason: providers.StopAborted, Error: why}
	}
	for name, tt := range map[string]struct {
		branch []sessions.Entry
		want   []string
	}{
		"thoughts and texts": {
			entries("hi", spoken(providers.Thinking{Text: "hm"}, providers.Text{Text: "yo"})), []string{"user: hi", "thought: hm", "agent: yo"},
		},
		"an error alone":                    {entries("hi", aborted("the network is gone")), []string{"user: hi", "agent: the network is gone"}},
		"a silent abort":                    {entries("hi", aborted(silent)), []string{"user: hi"}},
		"a prompt without an answer":        {entries("hi"), []string{"user: hi", "notice The turn was interrupted."}},
		"what is no message stands after":   {entries("hi", sessions.Custom{CustomType: "x"}), []string{"user: hi", "notice The turn was interrupted."}},
		"a prompt in the middle":            {entries("hi", "there", spoken(providers.Text{Text: "yo"})), []string{"user: hi", "user: there", "agent: yo"}},
		"another program's command, hidden": {entries(sessions.MessageEntry{Role: "bashExecution", Hidden: true, Message: providers.Message{Role: providers.RoleUser, Parts: spoken(providers.Text{Text: "I ran ls"})}}), []string{"user: I ran ls"}},
		"an open call": {
			entries("hi", spoken(calls("c1", "bash", `{"command":"ls  -l"}`))),
			[]string{"user: hi", "start c1 bash: ls -l", "fail c1: $ ls  -l: The call was interrupted.", "notice The turn was interrupted."},
		},
		"one call of two is open": {
			entries("hi", spoken(calls("c1", "x", `{}`), calls("c2", "x", `{}`)), gives("c1", "x", "done", "")),
			[]string{"user: hi", "start c1 x", "end c1: done", "start c2 x", "fail c2: The call was interrupted.", "notice The turn was interrupted."},
		},
		"two calls of one id, one open": {
			entries("hi", spoken(calls("c1", "x", `{}`), calls("c1", "x", `{}`)), gives("c1", "x", "done", "")),
			[]string{"user: hi", "start c1 x", "end c1: done", "start c1 x", "fail c1: The call was interrupted.", "notice The turn was interrupted."},
		},
		"a result that no answer follows": {
			entries("hi", spoken(calls("c1", "x", `{}`)), gives("c1", "x", "done", "")),
			[]string{"user: hi", "start c1 x", "end c1: done", "notice The turn was interrupted."},
		},
		"a turn that has ended with a result": {
			entries("hi", spoken(calls("c1", "x", `{}`)), gives("c1", "x", "done", ""), sessions.Custom{CustomType: "gjc.ended", Data: jsonx.Raw(`{"stop":"cancelled"}`)}),
			[]string{"user: hi", "start c1 x", "end c1: done"},
		},
		"a prompt after a turn that has ended with a result": {
			entries("hi", spoken(calls("c1", "x", `{}`)), gives("c1", "x", "done", ""), sessions.Custom{CustomType: "gjc.ended", Data: jsonx.Raw(`{"stop":"cancelled"}`)}, "more"),
			[]string{"user: hi", "start c1 x", "end c1: done", "user: more", "notice The turn was interrupted."},
		},
		"an open call in the middle": {
			entries("hi", spoken(calls("c1", "x", `{}`)), "go on", spoken(providers.Text{Text: "yo"})),
			[]string{"user: hi", "start c1 x", "fail c1: The call was interrupted.", "user: go on", "agent: yo"},
		},
		"a result without its call": {
			entries(gives("c9", "read", "text", "")), []string{"start c9 read", "end c9: text"},
		},
		"messages that are not for the user": {
			entries(sessions.CustomMessage{Parts: spoken(providers.Text{Text: "no"})}, sessions.CustomMessage{Display: true, Parts: spoken(providers.Text{Text: "yes"})}),
			[]string{"user: yes"},
		},
		"another branch's summary": {entries(sessions.BranchSummary{Summary: "tried"}), []string{"user: tried"}},
		"a cleared conversation": {
			entries("old", spoken(providers.Text{Text: "gone"}), sessions.Custom{CustomType: "context_clear"}, "new", spoken(providers.Text{Text: "yo"})),
			[]string{"user: new", "agent: yo"},
		},
		"what the user typed": {
			entries(sessions.Custom{CustomType: "gjc.shown", Data: jsonx.Raw(`"/fix it"`)}, "a long prompt", spoken(providers.Text{Text: "yo"}), "plain", spoken(providers.Text{Text: "yo"})),
			[]string{"user: /fix it", "agent: yo", "user: plain", "agent: yo"},
		},
		"arguments in a string": {
			entries(spoken(calls("c1", "bash", `"{\"command\":\"npm test\"}"`)), gives("c1", "bash", "passed", "")),
			[]string{"start c1 bash: npm test", "end c1: $ npm test: passed", "notice The turn was interrupted."},
		},
		"arguments that are broken": {
			entries(spoken(calls("c1", "bash", `{not json`)), gives("c1", "bash", "passed", "")), []string{"start c1 bash", "end c1: passed", "notice The turn was interrupted."},
		},
		"a plan of phases": {
			entries(spoken(calls("c1", "todo_write", `{"ops":[]}`)), gives("c1", "todo_write", "ok", `{"phases":[{"name":"Replay","tasks":[{"content":"Restore plan","status":"pending"},{"content":"b","status":"abandoned"}]}]}`)),
			[]string{"start c1 todo_write", "plan 2", "end c1: ok", "notice The turn was interrupted."},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, storyOf(tt.branch, nil)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if got := storyOf(entries("hi"), &agent.ReplayOptions{Running: true}); !slices.Equal(got, []string{"user: hi"}) {
		t.Errorf("in a turn: %q", got)
	}
}

// The parts of one message arrive as one delta for each speaker, with the message's ID. The IDs are the same each time.
func TestReplay_Ids(t *testing.T) {
	named := providers.Message{ID: "m7", Role: providers.RoleAssistant, Parts: spoken(
		providers.Thinking{Text: "a"}, providers.Thinking{Text: "b"}, providers.Text{Text: "c"}, providers.Text{}, providers.Text{Text: "d"},
		calls("c1", "x", `{}`), providers.Text{Text: "e"},
	)}
	branch := entries(
		providers.Message{Role: providers.RoleUser, Parts: spoken(providers.Text{Text: "1"}, providers.Text{Text: "2"}, providers.Image{MIMEType: "image/png"}, providers.Text{Text: "3"})},
		named, gives("c1", "x", "", ""), sessions.Compaction{Summary: "s"}, "more", spoken(providers.Text{Text: "ok"}),
	)
	var got []string
	for e, ev := range agent.Replay(branch, nil) {
		switch ev := ev.(type) {
		case agent.MessageDelta:
			if ev.Content != nil {
				ev.Text = "image"
			}
			got = append(got, fmt.Sprint(e.Ref().ID, " ", ev.MessageID, " ", ev.Speaker, " ", ev.Text))
		case agent.CompactionChanged:
			got = append(got, fmt.Sprint(e.Ref().ID, " ", ev.ID, " ", ev.Status, " ", ev.Summary))
		case agent.ToolStarted, agent.ToolEnded:
			got = append(got, e.Ref().ID+" call")
		}
	}
	want := []string{
		"e1 e1 0 12", "e1 e1 0 image", "e1 e1 0 3", "e2 m7 2 ab", "e2 m7 1 cd", "e2 call", "e2 call", "e2 m7 1 e", "e4 e4 completed s", "e5 e5 0 more", "e6 e6 1 ok",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(eventsOf(branch, nil), eventsOf(branch, nil)); diff != "" {
		t.Errorf("the second time (-first +second):\n%s", diff)
	}
	for range agent.Replay(branch, nil) {
		break // the consumer may stop early
	}
	if got := agent.MessageID(branch[1]) + agent.MessageID(branch[4]); got != "m7e5" {
		t.Errorf("message ids %s", got)
	}
}

// Calls that another program stored are shown like gjc's own.
func TestReplay_ForeignCalls(t *testing.T) {
	ws := agent.Workspace{Cwd: "/repo"}
	branch := entries(
		spoken(calls("c1", "read", `"{\"path\":\"src/foo.ts\"}"`), calls("c2", "custom_tool", `raw custom payload`), calls("c3", "edit", `{"path":"a"}`), calls("c4", "bash", `{not json`)),
		gives("c1", "read", "text", ""), gives("c2", "custom_tool", "ok", ""),
		gives("c3", "edit", "ok", `{"path":"a","oldText":"1","newText":"2","perFileResults":[{"path":"b","newText":"new"},{"path":"c"}]}`), gives("c4", "bash", "", ""),
	)
	var started []agent.ToolStarted
	var ended []agent.ToolEnded
	for _, ev := range agent.Replay(branch, &agent.ReplayOptions{Workspace: ws}) {
		switch ev := ev.(type) {
		case agent.ToolStarted:
			started = append(started, ev)
		case agent.ToolEnded:
			ended = append(ended, ev)
		}
	}
	want := []agent.ToolStarted{
		{CallID: "c1", Name: "read", Title: "read: src/foo.ts", Kind: agent.KindRead, Input: jsonx.Raw(`{"path":"src/foo.ts"}`), Locations: []agent.Location{{Path: ws.Resolve("src/foo.ts")}}},
		{CallID: "c2", Name: "custom_tool", Title: "custom_tool", Kind: agent.KindOther, Input: jsonx.Raw(`"raw custom payload"`)},
		{CallID: "c3", Name: "edit", Title: "edit: a", Kind: agent.KindEdit, Input: jsonx.Raw(`{"path":"a"}`), Locations: []agent.Location{{Path: ws.Resolve("a")}}},
		{CallID: "c4", Name: "bash", Title: "bash", Kind: agent.KindExecute, Input: jsonx.Raw(`"{not json"`)},
	}
	if diff := cmp.Diff(want, started); diff != "" {
		t.Errorf("started (-want +got):\n%s", diff)
	}
	old := "1"
	content := []agent.Content{
		agent.DiffContent{Path: ws.Resolve("b"), New: "new"}, agent.DiffContent{Path: ws.Resolve("a"), Old: &old, New: "2"}, agent.TextContent{Text: "ok"},
	}
	if diff := cmp.Diff(content, ended[2].Content); diff != "" {
		t.Errorf("diffs (-want +got):\n%s", diff)
	}
	if n := len(ended[2].Locations); n != 3 {
		t.Errorf("%d locations", n)
	}
}

// A tool describes its stored calls from their input alone, and may fail to do so.
func TestReplay_DescribedByTheTool(t *testing.T) {
	reads := agent.NewTool(agent.ToolFuncs[input]{
		Name: "reads", Kind: agent.KindRead,
		Plan: func(ctx context.Context, call *agent.Call, in *input) (*agent.CallPlan, error) {
			if _, err := call.FS.ReadFile(ctx, "/w/a"); err == nil {
				t.Error("a call of long ago reads files")
			}
			if in.Say == "panic" {
				panic("no")
			}
			return &agent.CallPlan{Title: "Reads " + in.Say, Content: []agent.Content{agent.TextContent{Text: strings.Repeat("x", 40<<10)}}}, nil
		},
		Run: func(context.Context, *agent.Call, *input) (*agent.Result, error) { t.Error("it runs"); return nil, nil },
	})
	branch := entries(spoken(calls("c1", "reads", `{"say":"a"}`), calls("c2", "reads", `{"say":"panic"}`)),
		gives("c1", "reads", "", ""), gives("c2", "reads", "", ""), spoken(providers.Text{Text: "done"}))
	var titles []string
	for _, ev := range agent.Replay(branch, &agent.ReplayOptions{Tools: []agent.Tool{reads}}) {
		if s, ok := ev.(agent.ToolStarted); ok {
			titles = append(titles, s.Title)
		}
	}
	if diff := cmp.Diff([]string{"Reads a", "reads"}, titles); diff != "" {
		t.Errorf("titles (-want +got):\n%s", diff)
	}
}

// Many clients reject lines longer than 64 KiB.
func TestReplay_Bounded(t *testing.T) {
	long := strings.Repeat("0123456789abcde\n", 20<<10/16*10)
	var many strings.Builder
	for i := range 20 {
		if i > 0 {
			many.WriteByte(',')
		}
		fmt.Fprintf(&many, `{"type":"text","text":%s}`, jsonx.AppendString(nil, long))
	}
	details := fmt.Sprintf(`{"title":%s,"kind":"other","start":[%s],"content":[%[2]s],"raw":{"a":%[3]s}}`,
		jsonx.AppendString(nil, strings.Repeat("t", 4000)), many.String(), jsonx.AppendString(nil, long))
	input := fmt.Sprintf(`{"path":%s}`, jsonx.AppendString(nil, long))
	branch := entries(spoken(calls("c1", "x", input), calls("c2", "bash", input)), gives("c1", "x", long, details), gives("c2", "bash", long, ""))
	for _, ev := range eventsOf(branch, nil) {
		size := 0
		add := func(title string, input jsonx.Raw, content []agent.Content) {
			size += len(title) + len(input)
			for _, c := range content {
				size += len(c.(agent.TextContent).Text)
			}
		}
		switch ev := ev.(type) {
		case agent.ToolStarted:
			add(ev.Title, ev.Input, ev.Content)
		case agent.ToolEnded:
			add("", ev.Raw, ev.Content)
		}
		if size > 56<<10 {
			t.Errorf("%T has %d bytes", ev, size)
		}
	}
	// Content that was cut before it was stored is not cut again.
	cut := strings.Repeat("x", 8<<10) + "\n… 1000 bytes left out …\n" + strings.Repeat("y", 8<<10)
	branch = entries(spoken(calls("c1", "x", `{}`)), gives("c1", "x", "", fmt.Sprintf(`{"title":"t","kind":"other","content":[{"type":"text","text":%s}]}`, jsonx.AppendString(nil, cut))))
	for _, ev := range eventsOf(branch, nil) {
		if e, ok := ev.(agent.ToolEnded); ok && e.Content[0].(agent.TextContent).Text != cut {
			t.Error("a text is cut twice")
		}
	}
}
