package reconnect

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"sync"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// ids knows the requests in both directions that have no answer yet, and gives the agent's requests IDs of their own: two connections must not
// have the same, because the editor may still answer what the last one has asked.
type ids struct {
	mu sync.Mutex // guards the fields below
	// hello is the editor's initialize, with its ID and the version in the answer that the editor has had; empty if it has not.
	hello      []byte
	helloID    string
	version    string
	unanswered []request         // the editor's
	asked      map[string]string // the agent's: its ID by the one that the editor has
	connection int               // counted from 0; the agent's IDs are as they are in the first
	book       book
	reopening  map[string]*opened // the requests without an answer that open sessions again
	report     func(line string)
}

// request is a request without an answer.
type request struct {
	id         string // as JSON
	initialize bool
}

// message has the parts of a message that are needed here.
type message struct {
	ID     jsonx.Raw `json:"id,omitzero"`
	Method any       `json:"method,omitzero"`
	Params jsonx.Raw `json:"params,omitzero"`
	Result jsonx.Raw `json:"result,omitzero"`
	Error  jsonx.Raw `json:"error,omitzero"`
}

// parse returns the parts of a message, and its ID in one form; empty for none. ok is false if the agent or the editor has to deal with it.
func parse(line []byte) (m message, method, id string, ok bool) {
	if jsonx.Unmarshal(line, &m) != nil {
		return m, "", "", false
	}
	method, _ = m.Method.(string)
	if len(m.ID) > 0 && !jsonx.IsNull(m.ID) {
		id = canonical(m.ID)
	}
	return m, method, id, true
}

// canonical returns a JSON value in one form, so that an ID is the same after a peer has written it again.
func canonical(raw jsonx.Raw) string {
	if text, ok := jsonx.Text(raw); ok {
		return string(jsonx.AppendString(nil, text))
	}
	return string(bytes.TrimSpace(raw))
}

// fromEditor records a message of the editor's, and returns it for the agent; nil if the agent would not know it.
func (s *ids) fromEditor(line []byte) []byte {
	m, method, id, ok := parse(line)
	if !ok || id == "" {
		return line
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if method != "" {
		initialize := method == "initialize"
		if initialize && s.version == "" {
			s.hello, s.helloID = bytes.Clone(line), id
			s.book.declared = declares(lookup(m.Params, "clientCapabilities", "_meta"), false)
		}
		s.book.asked(id, method, m.Params)
		s.unanswered = append(s.unanswered, request{id, initialize && s.helloID == id})
		return line
	}
	if s.connection == 0 {
		return line
	}
	theirs, ok := s.asked[id]
	if !ok {
		return nil // an earlier connection's
	}
	delete(s.asked, id)
	return replace(line, "id", m.ID, theirs)
}

// fromAgent records a message of the agent's, and returns it for the editor; nil if it is not for the editor.
func (s *ids) fromAgent(line []byte) []byte {
	m, method, id, ok := parse(line)
	if !ok {
		return line
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if o := s.reopening[id]; o != nil && method == "" {
		delete(s.reopening, id)
		if len(m.Error) > 0 {
			s.book.remove(o.id)
			s.report(fmt.Sprintf("session %s could not be opened again: %s", o.id, cmp.Or(text(m.Error, "message"), string(m.Error))))
		}
		return nil
	}
	switch {
	case method == "" && id != "":
		s.book.answered(id, &m)
		if i := slices.IndexFunc(s.unanswered, func(r request) bool { return r.id == id }); i >= 0 {
			switch {
			case !s.unanswered[i].initialize:
			case len(m.Error) > 0:
				s.hello, s.helloID = nil, ""
			default:
				s.version = version(m.Result)
				s.book.initialized(m.Result)
			}
			s.unanswered = slices.Delete(s.unanswered, i, i+1)
		}
	case method == "session/update":
		s.book.updated(m.Params)
	case s.connection == 0:
	case id != "":
		ours := s.rename(id)
		s.asked[ours] = id
		return replace(line, "id", m.ID, ours)
	case method == "$/cancel_request":
		if which := jsonx.Lookup(m.Params, "requestId"); which != nil {
			return replace(line, "params", m.Params, string(replace(m.Params, "requestId", which, s.rename(canonical(which)))))
		}
	}
	return line
}

// rename returns the ID that a request of the agent's has for the editor. The caller holds s.mu.
func (s *ids) rename(id string) string {
	return string(jsonx.AppendString(nil, fmt.Sprintf("gjc-connect-%d-%s", s.connection, id)))
}

// replace returns an object, or a line with one, with another value of the member called name.
func replace(line []byte, name string, old jsonx.Raw, value string) []byte {
	var out []byte
	first := true
	for member, raw := range jsonx.Members(line) {
		if first {
			out = append(out, '{')
			first = false
		} else {
			out = append(out, ',')
		}
		out = append(jsonx.AppendString(out, member), ':')
		if member == name && string(raw) == string(old) {
			out = append(out, value...)
		} else {
			out = append(out, raw...)
		}
	}
	out = append(out, '}')
	if bytes.HasSuffix(line, []byte("\n")) {
		out = append(out, '\n')
	}
	return out
}

// version returns the protocol's version of an answer to initialize, as JSON.
func version(result jsonx.Raw) string {
	if v := jsonx.Lookup(result, "protocolVersion"); v != nil {
		return string(v)
	}
	return "null"
}

// lose answers the editor's requests of a connection that is lost, by write, with a text for whether the sessions will be opened again. An
// initialize stays: the next connection begins with it.
func (s *ids) lose(write func(line []byte) error, name string, say words) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := fmt.Sprintf(say.load, name)
	if s.book.resumes && !s.book.declared {
		text = fmt.Sprintf(say.again, name)
	}
	for _, line := range s.book.lose(fmt.Sprintf(say.reason, name)) {
		if err := write(line); err != nil {
			return err
		}
	}
	var stay []request
	for _, r := range s.unanswered {
		if r.initialize {
			stay = append(stay, r)
			continue
		}
		line := append([]byte(`{"jsonrpc":"2.0","id":`), r.id...)
		line = append(line, `,"error":{"code":-32603,"message":`...)
		line = append(jsonx.AppendString(line, text), "}}\n"...)
		if err := write(line); err != nil {
			return err
		}
	}
	s.unanswered, s.asked, s.reopening = stay, nil, nil
	return nil
}

// reopen returns the requests that open the editor's sessions over the present connection.
func (s *ids) reopen() (lines [][]byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reopening, lines = s.book.reopen(s.connection)
	return lines
}

// renew begins the next connection. It returns the message with which it begins; nil if the editor has sent none. greeted is set if the
// editor has had its answer.
func (s *ids) renew() (hello []byte, greeted bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.connection++
	s.asked = make(map[string]string)
	return s.hello, s.version != ""
}

// greeted reports whether a message is the answer to the hello of a new connection. The error says why the editor cannot go on with it.
func (s *ids) greeted(line []byte) (bool, error) {
	m, method, id, ok := parse(line)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !ok || method != "" || id != s.helloID:
		return false, nil
	case len(m.Error) > 0:
		return true, fmt.Errorf("the agent answers %s", m.Error)
	case version(m.Result) != s.version:
		return true, fmt.Errorf("the agent now speaks version %s of the protocol, and spoke %s; restart the agent in the editor", version(m.Result), s.version)
	default:
		s.book.initialized(m.Result)
		return true, nil
	}
}
