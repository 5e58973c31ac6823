package secrets

import (
	"context"
	"iter"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
)

// Model returns a model that is asked with placeholders. What it says stays as it is.
//
// Signed thinking is sent as it came: an API refuses what was changed. It was made from placeholders, unless the session
// had no secrets then.
func (s *Set) Model(m providers.Model) providers.Model { return hiding{m, s} }

type hiding struct {
	providers.Model
	set *Set
}

// Stream implements [providers.Model].
func (h hiding) Stream(ctx context.Context, req *providers.Request) iter.Seq2[providers.Event, error] {
	return h.Model.Stream(ctx, h.set.request(req))
}

// cacheKey tells the conversations of a session and its helpers apart, and from other requests of theirs.
type cacheKey struct {
	session string
	tools   bool
}

// conversation is a request as it came and as it went: the next one is the same but for its end.
type conversation struct {
	in, out providers.Request
	used    int
}

// mostCached is how many conversations are kept.
const mostCached = 4

// request returns a request without secrets. It shares with req what has none.
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

// keep remembers a request for the next one, and forgets the one that was not used for longest.
func (s *Set) keep(key cacheKey, in, out *providers.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turns++
	s.cached[key] = &conversation{*in, *out, s.turns}
	if len(s.cached) <= mostCached {
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

// sameParts reports whether two messages have the same parts. Of those that do it looks at no more than where they lie.
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

// parts returns parts of a message without secrets; the same slice if there are none. Only what tools say is foreign to the
// models: the user may mean a placeholder that they were shown.
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

// Learns implements [agent.Learner]. What expressions find is known once it was seen, all else from the beginning.
func (s *Set) Learns() bool { return len(s.find.exprs) > 0 }

// Learn implements [agent.Learner].
func (s *Set) Learn(m *providers.Message) { s.parts(m.Role, m.Parts) }

// hideInput is the input of a call as a model may see it.
func (s *Set) hideInput(input jsonx.Raw) jsonx.Raw {
	if jsonx.Valid(input) {
		return eachString(input, s.Hide)
	}
	if text := s.Hide(string(input)); text != string(input) {
		return jsonx.Raw(text)
	}
	return input
}
