package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/providers/providertest"
)

// messageOf returns the ID of the first message with a text.
func messageOf(t *testing.T, lines [][]byte, kind, words string) string {
	t.Helper()
	for _, line := range lines {
		if u := updateIn(line); u != nil && u.SessionUpdate == kind {
			if said, _ := textIn(u.Content); strings.Contains(said, words) && u.MessageID != "" {
				return u.MessageID
			}
		}
	}
	t.Fatalf("no message says %q in\n%s", words, shown(lines))
	return ""
}

// fork forks a session at a message and returns the fork and the prompt to send again.
func (l *life) fork(id acp.SessionID, message string) (fork acp.SessionID, prompt string) {
	l.t.Helper()
	var resp struct {
		SessionID acp.SessionID
		Meta      struct{ Prompt json.RawMessage } `json:"_meta"`
	}
	l.extension("session/fork", object{"sessionId": id, "cwd": l.work, "mcpServers": []any{}, "_meta": object{"messageId": message}}, &resp)
	return resp.SessionID, string(resp.Meta.Prompt)
}

// said loads a session after closing it, and returns the texts of the user and the agent.
func (l *life) said(id acp.SessionID) (user, agent string) {
	l.t.Helper()
	must(l.scenario, acp.MethodSessionClose, &acp.CloseSessionRequest{SessionID: id})
	_, lines := l.load(id)
	return wordsIn(lines, "user_message_chunk"), wordsIn(lines, "agent_message_chunk")
}

// A session is forked after an answer, and before a prompt. The fork and the original stay independent, also after a
// restart.
func TestFork_AtMessages(t *testing.T) {
	t.Parallel()
	l := startLife(t, lifeOptions{})
	id := l.begin()
	l.turn("!say answer-one\n!write one.txt text")
	l.turn("!say answer-two\n!bash echo two")
	l.turn("!say answer-three")
	must(l.scenario, acp.MethodSessionClose, &acp.CloseSessionRequest{SessionID: id})
	_, all := l.load(id)

	after, prompt := l.fork(id, messageOf(t, all, "agent_message_chunk", "answer-two"))
	if prompt != "" {
		t.Errorf("after an answer there is the prompt %s", prompt)
	}
	before, prompt := l.fork(id, messageOf(t, all, "user_message_chunk", "answer-three"))
	if !strings.Contains(prompt, "!say answer-three") {
		t.Errorf("before a prompt it is %s", prompt)
	}
	first, prompt := l.fork(id, messageOf(t, all, "user_message_chunk", "answer-one"))
	if !strings.Contains(prompt, "!say answer-one") {
		t.Errorf("before the first prompt it is %s", prompt)
	}
	for _, session := range []acp.SessionID{after, before, first} {
		l.id = session
		l.say(acp.StopReasonEndTurn, textBlock("!say its-own-way"))
	}
	want := map[acp.SessionID][]string{
		id: {"answer-one", "answer-two", "answer-three"}, after: {"answer-one", "answer-two", "its-own-way"},
		before: {"answer-one", "answer-two", "its-own-way"}, first: {"its-own-way"},
	}
	l.stop()
	again := startLife(t, lifeOptions{home: l.home, work: l.work})
	for session, words := range want {
		_, lines := again.load(session)
		got := regexp.MustCompile(`answer-\w+|its-own-way`).FindAllString(wordsIn(lines, "agent_message_chunk"), -1)
		if d := cmp.Diff(words, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", session, d)
		}
		for _, line := range lines {
			if u := updateIn(line); u != nil && strings.Contains(string(u.raw), `"pending"`) && u.SessionUpdate == "tool_call_update" {
				t.Errorf("%s has an open call: %s", session, line)
			}
		}
		if bytes.Contains(bytes.Join(lines, nil), []byte("interrupted")) {
			t.Errorf("%s is loaded as one that was cut off:\n%s", session, shown(lines))
		}
	}
	_, err := acp.MethodSessionFork.Call(again.ctx, again.Conn, &acp.ForkSessionRequest{SessionID: "nobody", Cwd: l.work})
	if err == nil {
		t.Error("a session that is not there was forked")
	}
	again.stop()
}

type branched struct {
	Moved  bool
	LeafID *string
	Left   int
	Prompt []struct{ Text string }
}

// branch continues a session from a message. Like a prompt it waits for its turn, so the check allows a turn's messages meanwhile.
func (l *life) branch(id acp.SessionID, message string) (done branched) {
	l.t.Helper()
	busy := func(n int) {
		l.check.mu.Lock()
		defer l.check.mu.Unlock()
		l.check.rules.session(string(id)).busy += n
	}
	busy(1)
	defer busy(-1)
	l.extension("_gjc/session/branch", object{"sessionId": id, "messageId": message}, &done)
	return done
}

// The conversation continues from an earlier point of the same session: by _gjc/session/branch and by /tree. The abandoned branch
// stays in the tree, and can be restored.
func TestBranch_AndTree(t *testing.T) {
	t.Parallel()
	l := startLife(t, lifeOptions{})
	id := l.begin()
	l.turn("!say trunk-words")
	mark := l.mark()
	l.turn("!say left-words")
	left := messageOf(t, l.since(mark), "agent_message_chunk", "left-words")
	must(l.scenario, acp.MethodSessionClose, &acp.CloseSessionRequest{SessionID: id})
	_, all := l.load(id)
	done := l.branch(id, messageOf(t, all, "user_message_chunk", "left-words"))
	if !done.Moved || done.LeafID == nil || done.Left == 0 || len(done.Prompt) != 1 || done.Prompt[0].Text != "!say left-words" {
		t.Errorf("the branch is %+v", done)
	}
	l.turn("!say right-words")
	if user, agent := l.said(id); strings.Contains(user+agent, "left-words") || !strings.Contains(agent, "right-words") || !strings.Contains(agent, "trunk-words") {
		t.Errorf("the new branch is %q, %q", user, agent)
	}
	drawn := l.turn("/tree")
	for _, words := range []string{"trunk-words", "left-words", "right-words", "here"} {
		if !strings.Contains(drawn, words) {
			t.Errorf("%q is not in the tree\n%s", words, drawn)
		}
	}
	// Back, by the command, with the ID that the tree shows.
	entry := regexp.MustCompile(`(\w+) agent: left-words`).FindStringSubmatch(drawn)
	if entry == nil {
		t.Fatalf("no entry of the left branch in\n%s", drawn)
	}
	if got := l.turn("/tree go " + entry[1]); !strings.Contains(got, "continues after "+entry[1]) {
		t.Errorf("going back says %q", got)
	}
	if got := l.turn("/tree label " + entry[1] + " the left one"); !strings.Contains(got, "the left one") {
		t.Errorf("the label says %q", got)
	}
	l.turn("!say grown-words")
	l.stop()
	again := startLife(t, lifeOptions{home: l.home, work: l.work})
	_, lines := again.load(id)
	if got := wordsIn(lines, "agent_message_chunk"); !strings.Contains(got, "left-words") || !strings.Contains(got, "grown-words") || strings.Contains(got, "right-words") {
		t.Errorf("after the restart the branch is %q", got)
	}
	if messageOf(t, lines, "agent_message_chunk", "left-words") != left {
		t.Error("the message has another id than it had live")
	}
	if got := again.turn("/tree labels"); !strings.Contains(got, "the left one") {
		t.Errorf("the labels are %q", got)
	}
	for _, bad := range []object{{"entryId": "nothing"}, {"messageId": "nothing"}, {}, {"entryId": "a", "messageId": "b"}} {
		bad["sessionId"] = id
		if err := again.Conn.Call(again.ctx, "_gjc/session/branch", bad, new(branched)); err == nil {
			t.Errorf("%v is taken", bad)
		}
	}
	if _, agent := again.said(id); !strings.Contains(agent, "grown-words") {
		t.Errorf("after bad requests the branch is %q", agent)
	}
	again.stop()
}

// A session hands over to a new one, which begins with only the document.
func TestHandoff_NewSession(t *testing.T) {
	t.Parallel()
	model := providertest.NewServer(providertest.Step{providertest.Text("The shed is half done.")}, providertest.Step{providertest.Text("DOCUMENT: paint the shed.")})
	t.Cleanup(model.Close)
	l := startLife(t, lifeOptions{home: scripted(t, model, 100_000, noTitles)})
	id := l.begin()
	if got := l.turn("/handoff"); !strings.Contains(got, "Nothing to hand off") || len(model.Requests()) != 0 {
		t.Errorf("of nothing it says %q after %d requests", got, len(model.Requests()))
	}
	l.turn("build a shed, oldwords")
	got := l.turn("/handoff the paint")
	requests := model.Requests()
	if last := string(requests[len(requests)-1].Body); !strings.Contains(last, "the paint") || !strings.Contains(last, "oldwords") {
		t.Errorf("the document is asked for with %.3000s", last)
	}
	name := regexp.MustCompile(`Session (\S+) begins`).FindStringSubmatch(got)
	if name == nil || !strings.Contains(got, "DOCUMENT: paint the shed.") {
		t.Fatalf("it says %q", got)
	}
	l.stop()
	again := startLife(t, lifeOptions{home: l.home, work: l.work})
	listed := again.walk(l.work)
	if len(listed) != 2 || !strings.HasPrefix(listed[acp.SessionID(name[1])].Title, "Handoff: ") {
		t.Errorf("the list is %+v", listed)
	}
	if _, lines := again.load(acp.SessionID(name[1])); !strings.Contains(shown(lines), "DOCUMENT: paint the shed.") {
		t.Errorf("the new session is\n%s", shown(lines))
	}
	model.Add(providertest.Step{providertest.Text("Painting.")})
	again.turn("go on")
	requests = model.Requests()
	if last := string(requests[len(requests)-1].Body); !strings.Contains(last, "DOCUMENT: paint the shed.") || strings.Contains(last, "oldwords") {
		t.Errorf("the new session asks with %.3000s", last)
	}
	if _, lines := again.load(id); wordsIn(lines, "agent_message_chunk") != "The shed is half done." {
		t.Errorf("the old session is\n%s", shown(lines))
	}
	again.stop()
}

// /export and "gjc sessions export" write the same conversation into one file that needs no network.
func TestExport_BothWays(t *testing.T) {
	t.Parallel()
	l := startLife(t, lifeOptions{})
	id := l.begin()
	writeFile(t, filepath.Join(l.work, "a.txt"), "one\ntwo\n")
	l.turn("!think deep-thoughts\n!say <script>alert('words')</script> & more\n!plan look; change\n!edit a.txt two => zwei\n!bash echo printed; exit 3")
	l.say(acp.StopReasonEndTurn, textBlock("and this?"), picture())
	path := filepath.Join(l.work, "x.html")
	if got := l.turn("/export x.html"); !strings.Contains(got, path) {
		t.Errorf("it says %q", got)
	}
	byCommand, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := l.turn("/export x.html"); !strings.Contains(got, "exists; name another file") {
		t.Errorf("over a file it says %q", got)
	}
	if got := l.turn("/export " + filepath.Join(tempDir(t), "y.html")); !strings.Contains(got, "not in the session's directories") {
		t.Errorf("elsewhere it says %q", got)
	}
	l.stop()
	out := filepath.Join(tempDir(t), "y.html")
	if said, errs, err := sessionsCommand(t, l.home, "export", string(id), "-o", out); err != nil {
		t.Fatal(err, said, errs)
	}
	byProgram, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	for name, page := range map[string]string{"/export": string(byCommand), "gjc sessions export": string(byProgram)} {
		for _, part := range []string{"<!DOCTYPE html>", "deep-thoughts", "&lt;script&gt;alert(", "zwei", "echo printed", "data:image/png;base64,", string(id)} {
			if !strings.Contains(page, part) {
				t.Errorf("%s has no %q", name, part)
			}
		}
		if strings.Contains(page, "<script>alert(") || regexp.MustCompile(`(src|href)="?(https?:)?//`).MatchString(page) {
			t.Errorf("%s has markup of the conversation's, or needs the network", name)
		}
	}
	if !bytes.Equal(byCommand, byProgram) {
		at := 0
		for at < min(len(byCommand), len(byProgram)) && byCommand[at] == byProgram[at] {
			at++
		}
		t.Errorf("the pages differ from byte %d on:\n%.400q\n%.400q", at, byCommand[max(at-100, 0):], byProgram[max(at-100, 0):])
	}
	for _, format := range []string{"md", "json"} {
		text, errs, err := sessionsCommand(t, l.home, "export", string(id), "--format", format, "-o", "-")
		if err != nil || !strings.Contains(text, "deep-thoughts") && format == "json" || !strings.Contains(text, "zwei") || format == "json" && !json.Valid([]byte(text)) {
			t.Errorf("%s: %v %s\n%.2000s", format, err, errs, text)
		}
	}
	if files := sessionFiles(t, l.home); len(files) != 1 || !slices.ContainsFunc(files, func(f string) bool { return strings.Contains(f, string(id)) }) {
		t.Errorf("the session files are %q", files)
	}
}
