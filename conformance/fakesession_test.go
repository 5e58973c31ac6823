package conformance

import (
	"cmp"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// fakeSession is an open session. Exported fields are stored.
type fakeSession struct {
	f *fake

	ID      string         `json:"id"`
	Cwd     string         `json:"cwd"`
	Dirs    []any          `json:"dirs"`
	Title   string         `json:"title"`
	Updated string         `json:"updated"`
	Values  map[string]any `json:"values"`
	Replay  []object       `json:"replay"`

	mu     sync.Mutex // guards all other fields
	queue  []*fakeTurn
	tail   chan struct{} // closed when the last turn is over
	closed bool
}

var errCancelled = errors.New("cancelled")

func (s *fakeSession) cancel() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.queue {
		t.cancel(errCancelled)
	}
}

// over waits for the end of the current turns.
func (s *fakeSession) over() {
	s.mu.Lock()
	last := s.tail
	s.mu.Unlock()
	if last != nil {
		<-last
	}
}

func (s *fakeSession) cancelRequest(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.queue {
		if t.request == id {
			t.cancel(errCancelled)
		}
	}
}

func (f *fake) session(id string) *fakeSession {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.sessions[id]
}

func (f *fake) file(id string) string { return filepath.Join(f.store, id+".json") }

func (s *fakeSession) save() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Updated = time.Now().UTC().Format(time.RFC3339)
	if !s.f.is("keeps-nothing") {
		_ = os.WriteFile(s.f.file(s.ID), encode(s), 0o666)
	}
}

// stored reads a session from the disk.
func (f *fake) stored(id string) *fakeSession {
	if strings.ContainsAny(id, "/\\.") {
		return nil
	}
	data, err := os.ReadFile(f.file(id))
	s := &fakeSession{f: f}
	if err != nil || jsonx.Unmarshal(data, s) != nil {
		return nil
	}
	return s
}

// workspace checks the directories of a request.
func (f *fake) workspace(m *message, params object) (cwd string, ok bool) {
	cwd, _ = params["cwd"].(string)
	if !filepath.IsAbs(cwd) && !f.is("relative-cwd") {
		f.refuse(m, codeParams, "cwd must be absolute")
		return "", false
	}
	for _, d := range list(params, "additionalDirectories") {
		if path, _ := d.(string); !filepath.IsAbs(path) && !f.is("relative-directories") {
			f.refuse(m, codeParams, "a directory must be absolute")
			return "", false
		}
	}
	return cwd, true
}

func (f *fake) newSession(m *message, params object) {
	cwd, ok := f.workspace(m, params)
	if !ok {
		return
	}
	if servers := params["mcpServers"]; servers != nil {
		if _, ok := servers.([]any); !ok {
			f.refuse(m, codeParams, "mcpServers must be an array")
			return
		}
	}
	f.mu.Lock()
	f.next++
	if f.is("first-cwd") {
		first, _ := f.noted("cwd").(string)
		cwd = cmp.Or(first, cwd)
		f.note("cwd", cwd)
	}
	s := &fakeSession{
		f: f, ID: strconv.FormatInt(time.Now().UnixNano(), 36) + "-" + strconv.Itoa(f.next), Cwd: cwd,
		Dirs: list(params, "additionalDirectories"), Values: map[string]any{"mode": "ask", "model": "small", "thinking": "off", "verbose": false},
	}
	f.sessions[s.ID] = s
	f.note("own "+s.ID, true)
	f.mu.Unlock()
	r := s.state()
	r["sessionId"] = s.ID
	if f.is("early-commands") {
		f.commands(s)
	}
	f.reply(m, r)
	f.commands(s)
}

func (f *fake) commands(s *fakeSession) {
	s.update("available_commands_update", object{"availableCommands": []any{object{
		"name": "help", "description": "What can be done", "input": object{"hint": "a topic"},
	}}})
}

// reopen returns a session, open or stored.
func (f *fake) reopen(m *message, params object) *fakeSession {
	cwd, ok := f.workspace(m, params)
	if !ok {
		return nil
	}
	id, _ := params["sessionId"].(string)
	s := f.session(id)
	if s == nil {
		s = f.stored(id)
	}
	if s == nil && (f.is("knows-all") || f.is("follows-paths") && strings.Contains(id, "/")) {
		s = &fakeSession{f: f, ID: id, Values: map[string]any{"mode": "ask", "model": "small", "thinking": "off", "verbose": false}}
	}
	if s == nil || f.noted("hidden") == id {
		f.refuse(m, codeNotFound, "no session "+id)
		return nil
	}
	s.Cwd, s.closed = cwd, false
	f.mu.Lock()
	f.sessions[id] = s
	f.mu.Unlock()
	return s
}

func (f *fake) load(m *message, params object) {
	s := f.reopen(m, params)
	if s == nil {
		return
	}
	replay := func() {
		stored := slices.Clone(s.Replay)
		if f.is("replays-backwards") {
			slices.Reverse(stored)
		}
		if f.is("replays-all") {
			files, _ := filepath.Glob(filepath.Join(f.store, "*.json"))
			for _, path := range files {
				if other := f.stored(strings.TrimSuffix(filepath.Base(path), ".json")); other != nil && other.ID != s.ID {
					stored = append(stored, other.Replay...)
				}
			}
		}
		for _, u := range stored {
			f.notify("session/update", object{"sessionId": s.ID, "update": u})
		}
	}
	if f.is("replays-late") {
		f.reply(m, s.state())
		replay()
		return
	}
	replay()
	f.reply(m, s.state())
	if f.is("load-opens-nothing") {
		f.shut(s.ID)
	}
	if !f.is("load-without-commands") {
		f.commands(s)
	}
}

func (f *fake) resume(m *message, params object) {
	if s := f.reopen(m, params); s != nil {
		if f.is("resume-replays") {
			for _, u := range slices.Clone(s.Replay) {
				f.notify("session/update", object{"sessionId": s.ID, "update": u})
			}
		}
		f.reply(m, s.state())
		if f.is("resume-opens-nothing") {
			f.shut(s.ID)
		}
		f.commands(s)
	}
}

func (f *fake) list(m *message, params object) {
	files, _ := filepath.Glob(filepath.Join(f.store, "*.json"))
	slices.Sort(files)
	var all []any
	for _, path := range files {
		s := f.stored(strings.TrimSuffix(filepath.Base(path), ".json"))
		filtered := params["cwd"] != nil && params["cwd"] != s.Cwd && !f.is("lists-all")
		if s == nil || filtered || f.noted("hidden") == s.ID || f.is("lists-own") && f.noted("own "+s.ID) == nil {
			continue
		}
		all = append(all, object{
			"sessionId": s.ID, "cwd": s.Cwd, "title": s.Title, "updatedAt": s.Updated, "additionalDirectories": append([]any{}, s.Dirs...),
		})
	}
	begin := 0
	if cursor, ok := params["cursor"].(string); ok {
		rest, issued := strings.CutPrefix(cursor, "after:")
		n, err := strconv.Atoi(rest)
		if f.is("any-cursor") {
			issued, n, err = true, max(n, 0), nil
		}
		if !issued || err != nil || n > len(all) {
			f.refuse(m, codeParams, "the cursor was never issued")
			return
		}
		begin = n
	}
	const page = 2
	r := object{"sessions": append([]any{}, all[begin:min(begin+page, len(all))]...)}
	if begin+page < len(all) {
		r["nextCursor"] = "after:" + strconv.Itoa(begin+page)
		if f.is("page-skips") {
			r["nextCursor"] = "after:" + strconv.Itoa(begin+page+1)
		}
	}
	f.reply(m, r)
}

func (f *fake) close(m *message, params object) {
	id, _ := params["sessionId"].(string)
	switch {
	case f.is("close-leaves-open"):
		if s := f.session(id); s != nil {
			s.cancel()
		}
	case f.is("close-closes-all"):
		for other := range f.sessions {
			f.shut(other)
		}
	default:
		f.shut(id)
	}
	if f.is("close-deletes") {
		_ = os.Remove(f.file(id))
	}
	f.reply(m, object{})
}

func (f *fake) shut(id string) {
	s := f.session(id)
	if s == nil {
		return
	}
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.cancel()
	f.mu.Lock()
	delete(f.sessions, id)
	f.mu.Unlock()
}

func (s *fakeSession) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

func (f *fake) remove(m *message, params object) {
	id, _ := params["sessionId"].(string)
	if !f.is("delete-leaves-open") {
		f.shut(id)
	}
	switch {
	case f.is("delete-deletes-all"):
		files, _ := filepath.Glob(filepath.Join(f.store, "*.json"))
		for _, path := range files {
			_ = os.Remove(path)
		}
	case f.is("delete-does-nothing"):
	case f.is("delete-hides"):
		f.note("hidden", id)
	case !strings.ContainsAny(id, "/\\."):
		_ = os.Remove(f.file(id))
	}
	f.reply(m, object{})
}

// update sends an update, and stores it for a replay if it belongs to the conversation.
func (s *fakeSession) update(kind string, body object) {
	body["sessionUpdate"] = kind
	if turnKind(kind) {
		s.mu.Lock()
		s.Replay = append(s.Replay, with(body, "sessionUpdate", kind))
		s.mu.Unlock()
	}
	s.f.notify("session/update", object{"sessionId": s.ID, "update": body})
}

func (s *fakeSession) value(id string) any {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Values[id]
}

var fakeModes = []string{"ask", "code"}

// state returns the modes and options.
func (s *fakeSession) state() object {
	modes := []any{}
	for _, id := range fakeModes {
		modes = append(modes, object{"id": id, "name": strings.ToUpper(id)})
	}
	return object{"modes": object{"currentModeId": s.value("mode"), "availableModes": modes}, "configOptions": s.options()}
}

func (s *fakeSession) options() []any {
	values := func(ids ...string) []any {
		all := []any{}
		for _, id := range ids {
			all = append(all, object{"value": id, "name": strings.ToUpper(id)})
		}
		return all
	}
	all := []any{
		object{"type": "select", "id": "mode", "name": "Mode", "category": "mode", "currentValue": s.value("mode"), "options": values(fakeModes...)},
		object{"type": "select", "id": "model", "name": "Model", "category": "model", "currentValue": s.value("model"), "options": []any{
			object{"group": "all", "name": "All", "options": values("small", "large")},
		}},
		object{"type": "select", "id": "thinking", "name": "Thinking", "category": "thought_level", "currentValue": s.value("thinking"), "options": values("off", "high")},
	}
	if s.f.can("session", "configOptions", "boolean") || s.f.is("booleans-for-all") {
		all = append(all, object{"type": "boolean", "id": "verbose", "name": "Verbose", "category": "_fake", "currentValue": s.value("verbose")})
	}
	return all
}

func (s *fakeSession) set(id string, value any) {
	s.mu.Lock()
	s.Values[id] = value
	has := len(s.Replay) > 0
	s.mu.Unlock()
	if has {
		s.save()
	}
}

func (f *fake) setMode(m *message, params object) {
	s := f.session(m.session())
	mode, _ := params["modeId"].(string)
	switch {
	case s == nil:
		f.refuse(m, codeNotFound, "no such session")
	case !slices.Contains(fakeModes, mode):
		f.refuse(m, codeParams, "there are only the modes ask and code")
	default:
		s.set("mode", mode)
		f.reply(m, object{})
		if f.is("mode-for-all") {
			f.mu.Lock()
			others := slices.Collect(maps.Values(f.sessions))
			f.mu.Unlock()
			for _, o := range others {
				o.update("current_mode_update", object{"currentModeId": mode})
			}
		}
		s.update("config_option_update", object{"configOptions": s.options()})
	}
}

func (f *fake) setOption(m *message, params object) {
	s := f.session(m.session())
	if s == nil {
		f.refuse(m, codeNotFound, "no such session")
		return
	}
	id, _ := params["configId"].(string)
	o := findOption(object{"configOptions": s.options()}, id)
	value, given := params["value"]
	text, isText := value.(string)
	_, isBool := value.(bool)
	if o == nil || !given || o.boolean && !isBool || !o.boolean && (!isText || !slices.Contains(o.values, text)) {
		f.refuse(m, codeParams, "no such option or value")
		return
	}
	s.set(id, value)
	if f.is("options-for-all") {
		f.mu.Lock()
		others := slices.Collect(maps.Values(f.sessions))
		f.mu.Unlock()
		for _, o := range others {
			o.set(id, value)
			o.update("config_option_update", object{"configOptions": o.options()})
		}
	}
	f.reply(m, object{"configOptions": s.options()})
	if id == "mode" {
		s.update("current_mode_update", object{"currentModeId": value})
	}
}
