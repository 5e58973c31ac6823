package secrets

import (
	"context"
	"iter"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
)

// Model returns a model that receives placeholders. Its output is unchanged.
//
// Signed thinking is sent unchanged, because an API refuses modified thinking. It was made from placeholders, unless
// the session had no secrets at that time.
func (s *Set) Model(m providers.Model) providers.Model { return hiding{m, s} }

type hiding struct {
	providers.Model
	set *Set
}

// Stream implements [providers.Model].
func (h hiding) Stream(ctx context.Context, req *providers.Request) iter.Seq2[providers.Event, error] {
	return h.Model.Stream(ctx, h.set.request(req))
}

// cacheKey distinguishes the conversations of a session and its sub-agents from their other requests.
type cacheKey struct {
	session string
	tools   bool
}

// conversation is a request before and after hiding: the next request usually differs only at its end.
type conversation struct {
	in, out providers.Request
	used    int
}

// maxCached is the maximum number of cached conversations.
const maxCached = 4

// request returns a request without secrets. It shares the parts that contain none with req.
func (s *Set) request(req *providers.Request) *providers.Request {
	key := cacheKey{req.SessionID, len(req.Tools) > 0}
	s.mu.Lock()
	before := s.cached[key]
	s.mu.Unlock()
	if before == nil {
		before = new(conversation)
	}
	out := *req
	if out.System = before.out.System; before.in.System != req.System {
		out.System = s.HideForeign(req.System)
	}
	out.Tools = make([]providers.Tool, len(req.Tools))
	for i, tool := range req.Tools {
		if i < len(before.in.Tools) && sameTool(&before.in.Tools[i], &tool) {
			out.Tools[i] = before.out.Tools[i]
			continue
		}
		tool.Description = s.HideForeign(tool.Description)
		tool.Schema = eachString(tool.Schema, s.HideForeign)
		out.Tools[i] = tool
	}
	if req.Output != nil {
		out.Output = &providers.OutputFormat{Name: req.Output.Name, Schema: eachString(req.Output.Schema, s.HideForeign)}
	}
	out.Messages = make([]providers.Message, len(req.Messages))
	for i := range req.Messages {
		m := req.Messages[i]
		if i < len(before.in.Messages) && sameParts(&before.in.Messages[i], &m) {
			m.Parts = before.out.Messages[i].Parts
		} else {
			m.Parts = s.parts(m.Role, m.Parts)
		}
		out.Messages[i] = m
	}
	s.keep(key, req, &out)
	return &out
}

// keep caches a request for the next one and evicts the least recently used one.
func (s *Set) keep(key cacheKey, in, out *providers.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turns++
	s.cached[key] = &conversation{*in, *out, s.turns}
	if len(s.cached) <= maxCached {
		return
	}
	oldest := key
	for k, c := range s.cached {
		if c.used < s.cached[oldest].used {
			oldest = k
		}
	}
	delete(s.cached, oldest)
}

func sameTool(a, b *providers.Tool) bool {
	return a.Name == b.Name && a.Description == b.Description && string(a.Schema) == string(b.Schema)
}

// sameParts reports whether two messages have the same parts. For parts that share memory it compares only addresses.
func sameParts(a, b *providers.Message) bool {
	if a.Role != b.Role || len(a.Parts) != len(b.Parts) {
		return false
	}
	for i, p := range a.Parts {
		switch p := p.(type) {
		case providers.ToolCall:
			q, ok := b.Parts[i].(providers.ToolCall)
			if !ok || p.ID != q.ID || p.Name != q.Name || p.Signature != q.Signature || !sameBytes(p.Input, q.Input) {
				return false
			}
		case providers.Image:
			q, ok := b.Parts[i].(providers.Image)
			if !ok || p.MIMEType != q.MIMEType || !sameBytes(p.Data, q.Data) {
				return false
			}
		default:
			switch b.Parts[i].(type) {
			case providers.ToolCall, providers.Image:
				return false
			}
			if p != b.Parts[i] {
				return false
			}
		}
	}
	return true
}

func sameBytes(a, b []byte) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// parts returns the parts of a message with secrets hidden, or the same slice if there are none. Only tool results are foreign
// text: a user may quote a placeholder.
func (s *Set) parts(role providers.Role, parts []providers.Part) []providers.Part {
	hide := s.Hide
	if role == providers.RoleTool {
		hide = s.HideForeign
	}
	var out []providers.Part
	put := func(i int, p providers.Part) {
		if out == nil {
			out = append(make([]providers.Part, 0, len(parts)), parts...)
		}
		out[i] = p
	}
	for i, p := range parts {
		switch p := p.(type) {
		case providers.Text:
			if text := hide(p.Text); text != p.Text {
				p.Text = text
				put(i, p)
			}
		case providers.Thinking:
			if p.Signature != "" || p.Redacted {
				continue
			}
			if text := hide(p.Text); text != p.Text {
				p.Text = text
				put(i, p)
			}
		case providers.ToolCall:
			if input := s.hideInput(p.Input); !sameBytes(input, p.Input) {
				p.Input = input
				put(i, p)
			}
		default:
		}
	}
	if out == nil {
		return parts
	}
	return out
}

// Learns implements [agent.Learner]. Values that expressions match become known when they are seen. All others are known from the
// start.
func (s *Set) Learns() bool { return len(s.find.exprs) > 0 }

// Learn implements [agent.Learner].
func (s *Set) Learn(m *providers.Message) { s.parts(m.Role, m.Parts) }

// hideInput returns the input of a call with secrets hidden.
func (s *Set) hideInput(input jsonx.Raw) jsonx.Raw {
	if jsonx.Valid(input) {
		return eachString(input, s.Hide)
	}
	if text := s.Hide(string(input)); text != string(input) {
		return jsonx.Raw(text)
	}
	return input
}
