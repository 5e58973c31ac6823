package conformance

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

func (f *fake) prompt(m *message, params object) {
	if m.session() == "" {
		f.refuse(m, codeParams, "sessionId is missing")
		return
	}
	s := f.session(m.session())
	if s == nil {
		f.refuse(m, codeNotFound, "no such session")
		return
	}
	blocks, ok := params["prompt"].([]any)
	if !ok {
		f.refuse(m, codeParams, "the prompt must be an array")
		return
	}
	needed := map[string][]string{
		"text": {"text"}, "image": {"data", "mimeType"}, "audio": {"data", "mimeType"}, "resource_link": {"uri", "name"}, "resource": {},
	}
	var texts []string
	for _, b := range blocks {
		members, known := needed[str(b, "type")]
		for _, name := range members {
			known = known && str(b, name) != ""
		}
		if !known || strings.Contains(str(b, "data"), "%") {
			f.refuse(m, codeParams, "a block that is no block")
			return
		}
		texts = append(texts, str(b, "text"))
	}
	t := &fakeTurn{s: s, f: f, request: m.id}
	t.ctx, t.cancel = context.WithCancelCause(f.ctx)
	over := make(chan struct{})
	s.mu.Lock()
	before, second := s.tail, len(s.queue) > 0
	s.tail = over
	s.queue = append(s.queue, t)
	s.mu.Unlock()
	f.turns.Go(func() {
		defer close(over)
		if f.is("one-turn-at-a-time") {
			f.lock <- struct{}{}
			defer func() { <-f.lock }()
		}
		if before != nil {
			<-before
			if f.is("drops-second") && second || f.is("drops-cancelled") && t.ctx.Err() != nil {
				return
			}
		}
		t.run(strings.Join(texts, "\n"))
	})
}

// fakeTurn is a running or queued prompt.
type fakeTurn struct {
	s       *fakeSession
	f       *fake
	request string // the ID of the prompt request
	ctx     context.Context
	cancel  context.CancelCauseFunc
	calls   int
	open    map[string]bool // tool calls that are not over
	stop    string
	failure string
}

func (t *fakeTurn) run(text string) {
	f, s := t.f, t.s
	t.open, t.stop = make(map[string]bool), "end_turn"
	if t.ctx.Err() == nil {
		t.update("user_message_chunk", text, "u", f.is("echoes"))
		for line := range strings.Lines(text) {
			t.line(strings.TrimRight(line, "\n"))
			if t.ctx.Err() != nil || t.failure != "" {
				break
			}
		}
	}
	for id := range t.open {
		if f.is("cancel-leaves-tools") {
			break
		}
		t.tool(id, object{"status": "failed"})
	}
	s.mu.Lock()
	s.queue = slices.DeleteFunc(s.queue, func(q *fakeTurn) bool { return q == t })
	s.Title = "A talk"
	s.mu.Unlock()
	s.save()
	cause := context.Cause(t.ctx)
	t.cancel(nil)
	if cause != nil && !errors.Is(cause, errCancelled) {
		return // the agent ends
	}
	s.update("usage_update", object{"used": 10, "size": 1000, "cost": object{"amount": 0.5, "currency": "USD"}})
	s.update("session_info_update", object{"title": "A talk"})
	switch {
	case cause != nil && f.is("permission-cancel-is-error") && f.noted("asking") != nil:
		f.fail(t.request, -32603, "cancelled")
	case cause != nil && (f.is("cancel-is-end-turn") || f.is("close-is-end-turn") && s.isClosed()):
		f.replyTo(t.request, object{"stopReason": "end_turn"})
	case cause != nil && s.isClosed() && f.is("delete-drops-turn"):
	case cause != nil:
		if f.is("slow-cancel") {
			f.pause()
		}
		f.replyTo(t.request, object{"stopReason": "cancelled"})
	case t.failure != "":
		f.fail(t.request, -32603, t.failure)
	default:
		f.replyTo(t.request, object{"stopReason": t.stop})
	}
	if f.is("late-chunk") {
		t.say("too late")
	}
	if f.is("forgets-after-cancel") && cause != nil || f.is("forgets-after-failure") && t.failure != "" {
		f.shut(s.ID)
	}
}

// update sends a chunk of a message, or only stores it.
func (t *fakeTurn) update(kind, text, id string, tell bool) {
	body := object{"content": object{"type": "text", "text": text}, "messageId": id + strings.Trim(t.request, `"`) + "-" + t.s.ID}
	if tell {
		t.s.update(kind, body)
		return
	}
	body["sessionUpdate"] = kind
	t.s.mu.Lock()
	t.s.Replay = append(t.s.Replay, body)
	t.s.mu.Unlock()
}

func (t *fakeTurn) say(text string) { t.update("agent_message_chunk", text, "m", true) }

func (t *fakeTurn) line(line string) {
	name, args, _ := strings.Cut(line, " ")
	switch name {
	case "!say":
		t.sayWords(args)
	case "!think":
		t.update("agent_thought_chunk", args, "t", true)
	case "!wait":
		if !t.f.is("buffers") {
			<-t.ctx.Done()
		}
	case "!read":
		t.read(args)
	case "!write":
		file, text, _ := strings.Cut(args, " ")
		t.write("Write "+file, file, func(string, bool) (string, bool) { return text, true })
	case "!edit":
		file, change, _ := strings.Cut(args, " ")
		before, after, _ := strings.Cut(change, " => ")
		t.write("Edit "+file, file, func(text string, there bool) (string, bool) {
			return strings.Replace(text, before, after, 1), there
		})
	case "!bash":
		t.bash(args)
	case "!plan":
		t.plan(args)
	case "!ask":
		t.ask(args)
	case "!stop":
		t.say("enough")
		t.stop = map[string]string{"length": "max_tokens", "refusal": "refusal"}[args]
	case "!fail":
		t.failure = "the model failed: " + args
	default:
		if !strings.HasPrefix(line, "!") && strings.TrimSpace(line) != "" && t.calls == 0 {
			t.calls++
			t.say("You said something.")
		}
	}
}

func (t *fakeTurn) sayWords(args string) {
	n, err := strconv.Atoi(args)
	if err != nil {
		t.say(args)
		return
	}
	for range min(n, 3) {
		t.say("word ")
	}
}

// begin announces a tool call.
func (t *fakeTurn) begin(kind, title string, more object) string {
	t.calls++
	id := "call-" + strings.Trim(t.request, `"`) + "-" + strconv.Itoa(t.calls)
	body := object{"toolCallId": id, "title": title, "kind": kind, "status": "pending", "rawInput": object{"title": title}}
	maps.Copy(body, more)
	t.open[id] = true
	t.s.update("tool_call", body)
	return id
}

// tool sends an update of a tool call.
func (t *fakeTurn) tool(id string, change object) {
	if s := change["status"]; s == "completed" || s == "failed" {
		delete(t.open, id)
	}
	t.s.update("tool_call_update", with(change, "toolCallId", id))
}

func textContent(text string) []any {
	return []any{object{"type": "content", "content": object{"type": "text", "text": text}}}
}

// end ends a tool call. If the turn is cancelled, the open calls fail with its end.
func (t *fakeTurn) end(id, text string, err error) {
	switch {
	case t.ctx.Err() != nil:
	case err != nil && t.f.is("tool-error-ends-turn"):
		t.failure = err.Error()
	case err != nil:
		t.tool(id, object{"status": "failed", "content": textContent(err.Error())})
	default:
		t.tool(id, object{"status": "completed", "content": textContent(text), "rawOutput": object{"text": text}})
	}
}

// load reads a file, from the client if it supports that.
func (t *fakeTurn) load(path string) (string, error) {
	if !t.f.can("fs", "readTextFile") || t.f.is("reads-itself") {
		data, err := os.ReadFile(path)
		return string(data), err
	}
	r, err := t.f.ask(t.ctx, "fs/read_text_file", object{"sessionId": t.s.ID, "path": path, "line": 1})
	if err != nil {
		return "", err
	}
	text, ok := at(r, "content").(string)
	if !ok {
		if t.f.is("dies-of-malformed") {
			t.f.die()
		}
		return "", errors.New("the client's answer makes no sense")
	}
	return text, nil
}

func (t *fakeTurn) read(file string) {
	path := filepath.Join(t.s.Cwd, file)
	if t.f.is("own-cwd") {
		path = filepath.Join(t.f.store, file)
	}
	id := t.begin("read", "Read "+file, object{"locations": []any{object{"path": path, "line": 1}}})
	t.tool(id, object{"status": "in_progress"})
	text, err := t.load(path)
	t.end(id, text, err)
}

func (t *fakeTurn) write(title, file string, change func(string, bool) (string, bool)) {
	path := filepath.Join(t.s.Cwd, file)
	id := t.begin("edit", title, object{"locations": []any{object{"path": path}}})
	t.tool(id, object{"status": "in_progress"})
	before, err := t.load(path)
	there := err == nil
	if t.ctx.Err() != nil {
		return
	}
	after, ok := change(before, there)
	if !ok {
		t.end(id, "", errors.New("there is no such file"))
		return
	}
	if t.f.can("fs", "writeTextFile") && !t.f.is("writes-itself") {
		_, err = t.f.ask(t.ctx, "fs/write_text_file", object{"sessionId": t.s.ID, "path": path, "content": after})
		if err != nil && t.f.is("writes-anyway") {
			_ = os.WriteFile(path, []byte(after), 0o666)
		}
	} else {
		err = os.WriteFile(path, []byte(after), 0o666)
	}
	if err == nil {
		diff := object{"type": "diff", "path": path, "newText": after, "oldText": before}
		if !there {
			diff["oldText"] = nil
		}
		t.tool(id, object{"content": []any{diff}})
		if t.ctx.Err() == nil {
			t.tool(id, object{"status": "completed"})
		}
		return
	}
	t.end(id, "", err)
}

// allowed asks the user for permission.
func (t *fakeTurn) allowed(id string) bool {
	options := []any{
		object{"optionId": "yes", "name": "Yes", "kind": "allow_once"},
		object{"optionId": "always", "name": "Always", "kind": "allow_always"},
		object{"optionId": "no", "name": "No", "kind": "reject_once"},
	}
	t.f.note("asking", true)
	r, err := t.f.ask(t.ctx, permission, object{"sessionId": t.s.ID, "toolCall": object{"toolCallId": id}, "options": options})
	if allow := t.f.defect; allow != nil && allow.allows != nil {
		return allow.allows(t, r, err)
	}
	if err != nil {
		return false
	}
	if str(r, "outcome", "outcome") == "cancelled" {
		t.cancel(errCancelled)
		return false
	}
	option := str(r, "outcome", "optionId")
	return str(r, "outcome", "outcome") == "selected" && (option == "yes" || option == "always")
}

func (t *fakeTurn) bash(line string) {
	id := t.begin("execute", "Run "+line, nil)
	if t.f.is("runs-first") {
		_ = t.local(line)
	}
	if !t.allowed(id) {
		t.end(id, "", errors.New("the user said no"))
		return
	}
	if t.f.is("allowed-in-vain") {
		t.end(id, "done", nil)
		return
	}
	if t.f.can("terminal") && !t.f.is("own-terminal") {
		t.inTerminal(id, line)
		return
	}
	t.tool(id, object{"status": "in_progress"})
	t.end(id, "done", t.local(line))
}

// local runs a command that writes a word to a file, or a long operation.
func (t *fakeTurn) local(line string) error {
	words := strings.Fields(line)
	if len(words) == 4 && words[0] == "echo" {
		return os.WriteFile(filepath.Join(t.s.Cwd, words[3]), []byte(words[1]+"\n"), 0o666)
	}
	ctx := t.ctx
	return t.f.command(ctx)
}

func (t *fakeTurn) inTerminal(id, line string) {
	f := t.f
	r, err := f.ask(t.ctx, "terminal/create", object{
		"sessionId": t.s.ID, "command": "/bin/sh", "args": []any{"-c", line}, "cwd": t.s.Cwd, "outputByteLimit": 1000,
	})
	terminal, ok := at(r, "terminalId").(string)
	if err == nil && !ok {
		if f.is("dies-of-malformed") {
			f.die()
		}
		err = errors.New("the client's answer makes no sense")
	}
	if err != nil {
		if f.is("no-terminal-no-matter") {
			err = nil
		}
		t.end(id, "", err)
		return
	}
	about := object{"sessionId": t.s.ID, "terminalId": terminal}
	release := func() { _, _ = f.ask(f.ctx, "terminal/release", with(about, "sessionId", t.s.ID)) }
	if f.is("releases-twice") {
		defer release()
	}
	t.tool(id, object{"status": "in_progress", "content": []any{object{"type": "terminal", "terminalId": terminal}}})
	if f.is("releases-only-success") {
		defer func() {
			if t.ctx.Err() == nil && err == nil {
				release()
			}
		}()
	} else if !f.is("never-releases") {
		defer func() {
			if !t.s.isClosed() || !f.is("close-leaves-terminal") {
				release()
			}
		}()
	}
	exit, err := f.ask(t.ctx, "terminal/wait_for_exit", with(about, "sessionId", t.s.ID))
	if err != nil {
		t.end(id, "", err)
		return
	}
	out, err := f.ask(t.ctx, "terminal/output", with(about, "sessionId", t.s.ID))
	if code, _ := at(exit, "exitCode").(float64); code != 0 && err == nil {
		err = errors.New("the command failed")
	}
	if t.ctx.Err() == nil {
		status := map[bool]string{true: "completed", false: "failed"}[err == nil]
		t.tool(id, object{"status": status, "rawOutput": object{"text": str(out, "output")}})
	}
}

func (t *fakeTurn) plan(args string) {
	entries := []any{}
	for step := range strings.SplitSeq(args, ";") {
		step = strings.TrimSpace(step)
		status := "pending"
		for mark, s := range map[string]string{"[x] ": "completed", "[>] ": "in_progress"} {
			if rest, ok := strings.CutPrefix(step, mark); ok {
				step, status = rest, s
			}
		}
		entries = append(entries, object{"content": step, "priority": "medium", "status": status})
	}
	t.s.update("plan", object{"entries": entries})
}

func (t *fakeTurn) ask(args string) {
	parts := strings.Split(args, "|")
	if !t.f.can("elicitation", "form") && !t.f.is("forms-for-all") {
		t.say(args)
		return
	}
	values := []any{}
	for _, p := range parts[1:] {
		values = append(values, strings.TrimSpace(p))
	}
	r, err := t.f.ask(t.ctx, elicitation, object{
		"sessionId": t.s.ID, "mode": "form", "message": strings.TrimSpace(parts[0]),
		"requestedSchema": object{
			"type": "object", "required": []any{"answer"},
			"properties": object{"answer": object{"type": "string", "enum": values}},
		},
	})
	if d := t.f.defect; d != nil && d.form != nil {
		d.form(t, r, err)
		return
	}
	if t.ctx.Err() == nil {
		t.say("The answer is " + str(r, "content", "answer"))
	}
}
