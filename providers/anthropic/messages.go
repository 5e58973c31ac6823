package anthropic

import (
	"encoding/base64"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/internal/dialect"
)

// maxID is the longest id of a call.
const maxID = 64

// A writer writes the messages of one request. All user messages and tool results between two answers become one message, results
// first.
type writer struct {
	m     *model
	found *dialect.Found
	out   []byte
	// count is the number of messages. ends holds, for each user message, the offset after the type of its last block.
	count int
	ends  []int
	block int // the offset after the type of the last block
	any   bool
}

// appendMessages appends the conversation as a JSON array.
func (m *model) appendMessages(dst []byte, list []providers.Message, found *dialect.Found) []byte {
	w := &writer{m: m, found: found, out: append(dst, '[')}
	for i := 0; i < len(list); {
		if list[i].Role == providers.RoleAssistant {
			w.assistant(&list[i])
			i++
			continue
		}
		// Continue to the next non-empty answer: an empty one produces no message.
		end := i + 1
		for end < len(list) && (list[end].Role != providers.RoleAssistant || !speaks(&list[end])) {
			end++
		}
		w.user(list[i:end])
		i = end
	}
	w.mark()
	return append(w.out, ']')
}

// open begins a message.
func (w *writer) open(role string) {
	if w.count > 0 {
		w.out = append(w.out, ',')
	}
	w.count++
	w.any = false
	w.out = append(append(append(w.out, `{"role":"`...), role...), `","content":[`...)
}

// begin begins a block.
func (w *writer) begin(kind string) {
	if w.any {
		w.out = append(w.out, ',')
	}
	w.any = true
	w.out = append(append(append(w.out, `{"type":"`...), kind...), '"')
	w.block = len(w.out)
}

func (w *writer) member(name, value string) {
	w.out = append(append(append(w.out, `,"`...), name...), `":`...)
	w.out = jsonx.AppendString(w.out, value)
}

func (w *writer) end() { w.out = append(w.out, '}') }

func (w *writer) text(s string) {
	w.begin("text")
	w.member("text", s)
	w.end()
}

func (w *writer) image(img providers.Image) {
	if !w.m.takes(img) {
		w.text(dialect.ImageOmitted)
		return
	}
	w.begin("image")
	w.out = append(append(append(w.out, `,"source":{"type":"base64","media_type":"`...), img.MIMEType...), `","data":"`...)
	w.out = base64.StdEncoding.AppendEncode(w.out, img.Data)
	w.out = append(w.out, `"}}`...)
}

// takes reports whether the model accepts an image.
func (m *model) takes(img providers.Image) bool {
	switch img.MIMEType {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return m.cfg.Info.Images && len(img.Data) > 0
	}
	return false
}

// user writes the user messages and tool results between two answers as one message, or nothing if they are empty.
func (w *writer) user(list []providers.Message) {
	start, count := len(w.out), w.count
	w.open("user")
	for i := range list {
		if list[i].Role == providers.RoleTool {
			w.result(&list[i])
		}
	}
	for i := range list {
		if list[i].Role == providers.RoleUser {
			w.parts(list[i].Parts)
		}
	}
	if !w.any {
		w.out, w.count = w.out[:start], count
		return
	}
	w.out = append(w.out, `]}`...)
	w.ends = append(w.ends, w.block)
}

func (w *writer) parts(parts []providers.Part) {
	for _, part := range parts {
		switch part := part.(type) {
		case providers.Text:
			if !blank(part.Text) {
				w.text(part.Text)
			}
		case providers.Image:
			w.image(part)
		}
	}
}

func (w *writer) result(msg *providers.Message) {
	w.begin("tool_result")
	block := w.block
	w.member("tool_use_id", dialect.ToolID(msg.ToolCallID, maxID))
	if msg.IsError {
		w.out = append(w.out, `,"is_error":true`...)
	}
	w.out = append(w.out, `,"content":[`...)
	w.any = false
	if names := w.found.By(msg.ToolCallID); names != nil {
		for _, name := range names {
			w.begin("tool_reference")
			w.member("tool_name", name)
			w.end()
		}
	} else {
		w.parts(msg.Parts)
	}
	if !w.any && msg.IsError {
		w.text(dialect.FailedSilently) // the API requires some text
	}
	w.out = append(w.out, `]}`...)
	w.block, w.any = block, true
}

// speaks reports whether an answer contains anything that the API accepts. Thinking alone does not count.
func speaks(msg *providers.Message) bool {
	for _, part := range msg.Parts {
		switch part := part.(type) {
		case providers.Text:
			if !blank(part.Text) {
				return true
			}
		case providers.ToolCall:
			return true
		}
	}
	return false
}

func (w *writer) assistant(msg *providers.Message) {
	if !speaks(msg) {
		return
	}
	w.open("assistant")
	for _, part := range msg.Parts {
		switch part := part.(type) {
		case providers.Text:
			if !blank(part.Text) {
				w.text(part.Text)
			}
		case providers.Thinking:
			w.thinking(msg, part)
		case providers.ToolCall:
			w.begin("tool_use")
			w.member("id", dialect.ToolID(part.ID, maxID))
			w.out = append(append(w.out, `,"input":`...), dialect.ToolInput(part.Input)...)
			w.member("name", dialect.ToolName(part.Name))
			w.end()
		}
	}
	w.out = append(w.out, `]}`...)
}

func (w *writer) thinking(msg *providers.Message, t providers.Thinking) {
	switch {
	case t.Signature == "" || !dialect.Own(&w.m.cfg.Info, msg):
		// Of an incomplete answer or another model: the API rejects it.
	case t.Redacted:
		w.begin("redacted_thinking")
		w.member("data", t.Signature)
		w.end()
	default:
		w.begin("thinking")
		w.member("thinking", t.Text)
		w.member("signature", t.Signature)
		w.end()
	}
}

// mark sets the conversation's cache breakpoints at the end of the last two user messages, so that the next request hits the cache
// entry of this one. With those for the tools and the system prompt, they are the four that the API allows.
func (w *writer) mark() {
	if w.m.cfg.CacheRetention == providers.CacheNone {
		return
	}
	control := `,"cache_control":{"type":"ephemeral"}`
	if w.m.ttl != "" {
		control = `,"cache_control":{"ttl":"` + string(w.m.ttl) + `","type":"ephemeral"}`
	}
	for i := len(w.ends) - 1; i >= max(0, len(w.ends)-2); i-- {
		w.out = slices.Insert(w.out, w.ends[i], []byte(control)...)
	}
}

func blank(s string) bool { return strings.TrimSpace(s) == "" }
