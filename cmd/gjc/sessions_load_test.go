package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"image"
	"image/png"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/acptest"
)

// seen is one element of a conversation in an editor.
type seen struct {
	Who string // user, agent, thought or tool
	ID  string
	// Words is the text; Call has the last state of each member of a tool call.
	Words string
	Call  map[string]any
}

// view holds the conversation that an editor shows at the end.
type view struct {
	Seen []seen
	Plan any
}

var speakers = map[string]string{"user_message_chunk": "user", "agent_message_chunk": "agent", "agent_thought_chunk": "thought"}

// viewOf combines updates as an editor does: chunks of a message, and the states of a call by its ID. Terminals are
// shown by their output.
func viewOf(t *testing.T, lines [][]byte, printed func(acp.TerminalID) string) view {
	t.Helper()
	var v view
	calls := make(map[string]int)
	for _, line := range lines {
		u := updateIn(line)
		if u == nil {
			continue
		}
		switch kind := u.SessionUpdate; {
		case speakers[kind] != "":
			words, ok := textIn(u.Content)
			if !ok {
				words = "\x00" + string(u.Content) // an image
			}
			who := speakers[kind]
			if last := len(v.Seen) - 1; last >= 0 && v.Seen[last].Who == who && v.Seen[last].ID == u.MessageID {
				v.Seen[last].Words += words
			} else {
				v.Seen = append(v.Seen, seen{Who: who, ID: u.MessageID, Words: words})
			}
		case kind == "tool_call" || kind == "tool_call_update":
			var members map[string]any
			if err := json.Unmarshal(u.raw, &members); err != nil {
				t.Fatal(err)
			}
			delete(members, "sessionUpdate")
			at, known := calls[u.ToolCallID]
			if !known {
				if kind != "tool_call" {
					t.Errorf("an update of a call that has not begun: %s", line)
				}
				at = len(v.Seen)
				calls[u.ToolCallID] = at
				v.Seen = append(v.Seen, seen{Who: "tool", ID: u.ToolCallID, Call: make(map[string]any)})
			}
			maps.Copy(v.Seen[at].Call, members)
		case kind == "plan":
			var p struct{ Entries any }
			if err := json.Unmarshal(u.raw, &p); err != nil {
				t.Fatal(err)
			}
			v.Plan = p.Entries
		}
	}
	for _, s := range v.Seen {
		content, _ := s.Call["content"].([]any)
		for i, c := range content {
			if m, ok := c.(map[string]any); ok && m["type"] == "terminal" {
				content[i] = printout(printed(acp.TerminalID(m["terminalId"].(string))))
			}
		}
	}
	return v
}

// printout is the output of a terminal.
type printout string

// equalOutputs compares the output of terminals with the text that a load shows in their place: it has the beginning
// and the end of it, but may lack some of the middle, and may have a note after it.
func equalOutputs() cmp.Option {
	plain := func(v any) (string, bool) {
		m, _ := v.(map[string]any)
		inner, _ := m["content"].(map[string]any)
		text, ok := inner["text"].(string)
		return text, ok
	}
	same := func(a, b any) bool {
		out, ok := a.(printout)
		if !ok {
			out, b = b.(printout), a
		}
		text, ok := plain(b)
		all := strings.TrimSpace(string(out))
		return ok && strings.HasPrefix(text, all[:min(len(all), 1000)]) && strings.Contains(text, all[max(len(all)-1000, 0):])
	}
	return cmp.FilterValues(func(a, b any) bool {
		_, left := a.(printout)
		_, right := b.(printout)
		return left != right
	}, cmp.Comparer(same))
}

// picture is an image that is large enough to be stored apart from the session's file.
func picture() *acp.ImageContent {
	noise := image.NewNRGBA(image.Rect(0, 0, 16, 16)) // about 1 KB, which cannot be made smaller
	seed := uint32(1)
	for i := range noise.Pix {
		seed = seed*1103515245 + 12345
		noise.Pix[i] = byte(seed >> 16)
	}
	var data bytes.Buffer
	if err := png.Encode(&data, noise); err != nil {
		panic(err) // writing to memory cannot fail
	}
	return &acp.ImageContent{MIMEType: "image/png", Data: base64.StdEncoding.EncodeToString(data.Bytes())}
}

// wantShortLines fails for a line that many editors cannot receive.
func wantShortLines(t *testing.T, lines [][]byte) {
	t.Helper()
	for _, line := range lines {
		if len(line) > 64<<10 {
			t.Errorf("a line of %d bytes: %.200s…", len(line), line)
		}
	}
}

// A load shows what was seen live, after a restart, with the same IDs each time: with and without the editor's
// terminals.
func TestLoaded_LooksLikeLive(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name         string
		capabilities *acp.ClientCapabilities
	}{{"terminals", nil}, {"bare", &acp.ClientCapabilities{}}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			home, work := tempDir(t), tempDir(t)
			introduced(t, home, work)
			live := startLife(t, lifeOptions{home: home, work: work, capabilities: tt.capabilities})
			id := live.begin()
			want := talk(t, live)
			usage := lastOf(live.since(0), "usage_update")
			live.stop()

			again := startLife(t, lifeOptions{home: live.home, work: live.work, capabilities: tt.capabilities})
			var loaded []view
			for range 2 {
				mark := again.mark()
				resp, lines := again.load(id)
				wantShortLines(t, lines)
				if resp.Modes == nil || resp.Modes.CurrentModeID != "plan" {
					t.Errorf("the mode is %+v", resp.Modes)
				}
				if level := choice(resp.ConfigOptions, "thinking"); level != "high" {
					t.Errorf("the thinking level is %q", level)
				}
				if model := choice(resp.ConfigOptions, "model"); model != "offline/demo" {
					t.Errorf("the model is %q", model)
				}
				loaded = append(loaded, viewOf(t, lines, again.Printed))
				infos := acptest.Update(func(u *acp.SessionInfoUpdate) bool { return u.Title.Or("") == "The long talk" })
				if err := again.Await(again.ctx, id, infos); err != nil {
					t.Errorf("the title: %v", err)
				}
				must(again.scenario, acp.MethodSessionClose, &acp.CloseSessionRequest{SessionID: id})
				if got := lastOf(again.since(mark), "usage_update"); got != usage {
					t.Errorf("the usage is %s, and was %s", got, usage)
				}
				// The conversation's updates do not follow the response.
				kinds := kindsIn(again.since(mark + len(lines)))
				for _, kind := range []string{"user_message_chunk", "agent_message_chunk", "agent_thought_chunk", "tool_call", "tool_call_update", "plan"} {
					if kinds[kind] > 0 {
						t.Errorf("%d %s after the response", kinds[kind], kind)
					}
				}
			}
			again.stop()
			if d := cmp.Diff(loaded[0], loaded[1]); d != "" {
				t.Errorf("the second load (-first +second):\n%s", d)
			}
			// The editor does not receive the IDs of its own prompts live.
			for i, s := range loaded[0].Seen {
				if s.Who == "user" {
					if s.ID == "" {
						t.Errorf("a prompt without an id: %+v", s)
					}
					loaded[0].Seen[i].ID = ""
				}
			}
			if d := cmp.Diff(want, loaded[0], equalOutputs()); d != "" {
				t.Errorf("the load (-live +loaded):\n%s", d)
			}
		})
	}
}

// talk runs a conversation with every kind of content. It returns its view, with the prompts, which the editor knows.
func talk(t *testing.T, l *life) view {
	t.Helper()
	writeFile(t, filepath.Join(l.work, "a.txt"), "one\ntwo\nthree\n")
	long := strings.Repeat("0123456789 abcde", 8<<10) // more than a line may contain
	var v view
	for _, prompt := range [][]acp.ContentBlock{
		{textBlock("!think let me see\n!say first words")},
		{textBlock("!say say " + long)},
		{textBlock("!bash echo out; echo err >&2")},
		{textBlock("!bash echo failing; exit 3")},
		{textBlock("!bash yes 0123456789 | head -c 200000")},
		{textBlock("!write new/b.txt hello there")},
		{textBlock("!edit a.txt two => 2\n!read a.txt\n!read missing.txt")},
		{textBlock("!plan look; change; test")},
		{textBlock("what is this?"), picture()},
		{textBlock("!think again\n!say last words")},
	} {
		mark := l.mark()
		l.say(acp.StopReasonEndTurn, prompt...)
		for i, block := range prompt {
			s := seen{Who: "user"}
			switch block := block.(type) {
			case *acp.TextContent:
				s.Words = block.Text
			case *acp.ImageContent:
				raw, err := json.Marshal(block)
				if err != nil {
					t.Fatal(err)
				}
				s.Words = "\x00" + string(raw)
			}
			if i > 0 {
				v.Seen[len(v.Seen)-1].Words += s.Words
				continue
			}
			v.Seen = append(v.Seen, s)
		}
		lines := l.since(mark)
		wantShortLines(t, lines)
		turn := viewOf(t, lines, l.Printed)
		v.Seen = append(v.Seen, turn.Seen...)
		if turn.Plan != nil {
			v.Plan = turn.Plan
		}
	}
	who := make(map[string]int)
	for _, s := range v.Seen {
		who[s.Who]++
	}
	if who["tool"] < 8 || who["thought"] < 2 || v.Plan == nil {
		t.Errorf("the test tests too little: %v", who)
	}
	blobs, err := os.ReadDir(filepath.Join(agentDir(l.home), "blobs"))
	if err != nil || len(blobs) == 0 {
		t.Errorf("the picture is not a blob: %v, %v", blobs, err)
	}
	must(l.scenario, acp.MethodSessionSetTitle, &acp.SetSessionTitleRequest{SessionID: l.id, Title: "Not this"})
	l.turn("/rename The long talk")
	must(l.scenario, acp.MethodSessionSetConfigOption, &acp.SetSessionConfigOptionRequest{SessionID: l.id, ConfigID: "thinking", Value: acp.SessionConfigValueID("high")})
	must(l.scenario, acp.MethodSessionSetMode, &acp.SetSessionModeRequest{SessionID: l.id, ModeID: "plan"})
	return v
}

// choice returns the value of a select.
func choice(options []acp.SessionConfigOption, id acp.SessionConfigID) acp.SessionConfigValueID {
	at := slices.IndexFunc(options, func(o acp.SessionConfigOption) bool { return o.ID == id })
	if at < 0 {
		return ""
	}
	if s, ok := options[at].Kind.(*acp.SessionConfigSelect); ok {
		return s.CurrentValue
	}
	return ""
}

// lastOf returns the last update of a kind.
func lastOf(lines [][]byte, kind string) string {
	for _, line := range slices.Backward(lines) {
		if u := updateIn(line); u != nil && u.SessionUpdate == kind {
			return string(u.raw)
		}
	}
	return ""
}

// gjc is killed while a call runs. The load shows the call as failed and reports that the turn was interrupted, and the
// session continues.
func TestLoaded_KilledInACall(t *testing.T) {
	t.Parallel()
	l := startLife(t, lifeOptions{capabilities: &acp.ClientCapabilities{}})
	id := l.begin()
	l.turn("!say remembered")
	began := l.holds(acptest.Update(func(u *acp.ToolCallUpdate) bool {
		raw, err := json.Marshal(u)
		return err == nil && bytes.Contains(raw, []byte("under way"))
	}))
	gone := make(chan error, 1)
	go func() {
		_, err := l.Prompt(l.ctx, id, "!bash echo under way; exec sleep 600\n!say never")
		gone <- err
	}()
	select {
	case <-began:
	case <-l.ctx.Done():
		t.Fatal("the call does not begin")
	}
	l.kill()
	if err := <-gone; err == nil {
		t.Error("the prompt was answered")
	}
	for round := range 2 { // it is marked again, and repaired equally well, each time
		again := startLife(t, lifeOptions{home: l.home, work: l.work, capabilities: &acp.ClientCapabilities{}})
		_, lines := again.load(id)
		var call map[string]any
		v := viewOf(t, lines, again.Printed)
		for _, s := range v.Seen {
			if s.Who == "tool" {
				call = s.Call
			}
		}
		if call["status"] != "failed" || !strings.Contains(call["title"].(string), "sleep 600") {
			t.Errorf("the call is %v", call)
		}
		if got := wordsIn(lines, "agent_message_chunk"); !strings.Contains(got, "remembered") || strings.Contains(got, "never") {
			t.Errorf("the agent said %q", got)
		}
		if round == 0 {
			if !bytes.Contains(bytes.Join(lines, nil), []byte("interrupted")) {
				t.Errorf("the turn is not marked:\n%s", shown(lines))
			}
			again.kill()
			continue
		}
		if got := again.turn("!say alive"); !strings.Contains(got, "alive") {
			t.Errorf("the next prompt says %q", got)
		}
		again.stop()
	}
}

// gjc is killed while the model thinks: the prompt is there, marked as unanswered.
func TestLoaded_KilledBeforeAnAnswer(t *testing.T) {
	t.Parallel()
	l := startLife(t, lifeOptions{})
	id := l.begin()
	thinks := l.holds(acptest.Update[*acp.AgentThoughtChunk](nil))
	gone := make(chan error, 1)
	go func() {
		_, err := l.Prompt(l.ctx, id, "!think first\n!wait")
		gone <- err
	}()
	select {
	case <-thinks:
	case <-l.ctx.Done():
		t.Fatal("the model does not think")
	}
	l.kill()
	if err := <-gone; err == nil {
		t.Error("the prompt was answered")
	}
	again := startLife(t, lifeOptions{home: l.home, work: l.work})
	_, lines := again.load(id)
	if !strings.Contains(wordsIn(lines, "user_message_chunk"), "!think first") || !bytes.Contains(bytes.Join(lines, nil), []byte("interrupted")) {
		t.Errorf("the load is\n%s", shown(lines))
	}
	if got := again.turn("!say alive"); !strings.Contains(got, "alive") {
		t.Errorf("the next prompt says %q", got)
	}
	again.stop()
}
