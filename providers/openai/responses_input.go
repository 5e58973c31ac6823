package openai

import (
	"slices"
	"strconv"
	"strings"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/internal/dialect"
)

// An input writes the items of a conversation.
type input struct {
	cfg   *providers.Config
	out   []byte
	ids   callIDs
	items int
	// found are the tools that the conversation adds, by name in added; nil if it adds none. searches holds the calls that found them.
	found    *dialect.Found
	added    map[string]responsesTool
	searches map[string]bool
	err      error
	// waiting is reasoning that nothing has followed yet; the API rejects it alone.
	waiting []string
}

// appendInput appends the conversation to dst, as an array of items.
func (m *responsesModel) appendInput(dst []byte, req *providers.Request, found *dialect.Found, added map[string]responsesTool) ([]byte, error) {
	in := &input{cfg: &m.cfg, out: append(dst, '['), ids: callIDs{most: 64}, found: found, added: added}
	for i := range req.Messages {
		switch msg := &req.Messages[i]; msg.Role {
		case providers.RoleUser:
			in.user(msg)
		case providers.RoleAssistant:
			in.assistant(msg)
		case providers.RoleTool:
			in.result(msg)
		}
	}
	return append(in.out, ']'), in.err
}

// add writes its arguments alternately as raw bytes and as JSON strings, starting with raw bytes.
func (in *input) add(turns ...string) {
	for i, s := range turns {
		if i%2 == 0 {
			in.out = append(in.out, s...)
		} else {
			in.out = jsonx.AppendString(in.out, s)
		}
	}
}

// begin begins an item.
func (in *input) begin() {
	if in.items > 0 {
		in.out = append(in.out, ',')
	}
	in.items++
}

// content writes the parts of a message of the user.
func (in *input) content(parts []providers.Part) {
	comma := "["
	for _, p := range parts {
		if img, ok := p.(providers.Image); ok && in.cfg.Info.Images {
			in.image(comma, img)
			comma = ","
		} else if text := inputText(p); text != "" {
			in.add(comma+`{"type":"input_text","text":`, text, "}")
			comma = ","
		}
	}
	in.out = append(in.out, ']')
}

func (in *input) image(comma string, img providers.Image) {
	in.add(comma+`{"type":"input_image","detail":"auto","image_url":`, dataURL(img), "}")
}

// inputText returns a text part of the user.
func inputText(p providers.Part) string {
	switch p := p.(type) {
	case providers.Text:
		return p.Text
	case providers.Image:
		return dialect.ImageOmitted
	}
	return ""
}

func (in *input) user(msg *providers.Message) {
	only, texts, images := "", 0, 0
	for _, p := range msg.Parts {
		if _, ok := p.(providers.Image); ok && in.cfg.Info.Images {
			images++
		} else if text := inputText(p); text != "" {
			only = text
			texts++
		}
	}
	if texts+images == 0 {
		return
	}
	in.begin()
	if texts == 1 && images == 0 {
		in.add(`{"type":"message","role":"user","content":`, only, "}")
		return
	}
	in.add(`{"type":"message","role":"user","content":`)
	in.content(msg.Parts)
	in.out = append(in.out, '}')
}

func (in *input) result(msg *providers.Message) {
	if in.searches[msg.ToolCallID] {
		in.foundTools(msg)
		return
	}
	text, shown := resultText(msg, in.cfg.Info.Images)
	in.begin()
	in.add(`{"type":"function_call_output","call_id":`, in.ids.result(msg.ToolCallID), `,"output":`)
	if shown == nil {
		in.add("", text, "}")
		return
	}
	in.add(`[{"type":"input_text","text":`, text, "}")
	for _, img := range shown {
		in.image(",", img)
	}
	in.out = append(in.out, "]}"...)
}

// foundTools writes the result of a search: the definitions of the tools that it adds.
func (in *input) foundTools(msg *providers.Message) {
	tools := []responsesTool{}
	for _, name := range in.found.By(msg.ToolCallID) {
		tools = append(tools, in.added[name])
	}
	raw, err := jsonx.Marshal(tools)
	if err != nil && in.err == nil {
		in.err = err
	}
	in.begin()
	in.add(`{"type":"tool_search_output","execution":"client","call_id":`, in.ids.result(msg.ToolCallID), `,"status":"completed","tools":`)
	in.out = append(append(in.out, raw...), '}')
}

// search writes a call that searches for tools.
func (in *input) search(call *providers.ToolCall, own bool) {
	if in.searches == nil {
		in.searches = make(map[string]bool)
	}
	in.searches[call.ID] = true
	in.begin()
	in.add(`{"type":"tool_search_call","execution":"client","call_id":`, in.ids.call(call.ID, own), `,"status":"completed","arguments":`)
	in.out = append(append(in.out, dialect.ToolInput(call.Input)...), '}')
}

func (in *input) assistant(msg *providers.Message) {
	own := dialect.Own(&in.cfg.Info, msg)
	// By their ids, the server knows which reasoning the other items followed. If that reasoning is lost, the items are sent
	// without ids; otherwise the server would require the reasoning.
	named := own && !slices.ContainsFunc(msg.Parts, lost)
	in.waiting = in.waiting[:0]
	for _, p := range msg.Parts {
		switch p := p.(type) {
		case providers.Thinking:
			if own && (named || !lost(p)) {
				in.waiting = append(in.waiting, in.thought(&p))
			}
		case providers.Text:
			if p.Text != "" {
				in.reasoning()
				in.text(&p, named)
			}
		case providers.ToolCall:
			in.reasoning()
			if in.found != nil && p.Name == in.found.Search {
				in.search(&p, own)
				continue
			}
			in.begin()
			in.add(`{"type":"function_call"`)
			if named && p.Signature != "" {
				in.add(`,"id":`, p.Signature)
			}
			in.add(`,"call_id":`, in.ids.call(p.ID, own), `,"name":`, dialect.ToolName(p.Name), `,"arguments":`, string(dialect.ToolInput(p.Input)), "}")
		}
	}
}

// thought is an item of reasoning. Only an encrypted one has the server's id.
func (in *input) thought(t *providers.Thinking) string {
	if t.Field != memberOfItem {
		return t.Signature
	}
	id := strconv.Itoa(in.items + len(in.waiting))
	return `{"id":"rs_` + id + `","type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":` + string(jsonx.AppendString(nil, t.Text)) + `}]}`
}

// reasoning writes the waiting reasoning before the item that follows.
func (in *input) reasoning() {
	for _, item := range in.waiting {
		in.begin()
		in.out = append(in.out, item...)
	}
	in.waiting = in.waiting[:0]
}

func (in *input) text(t *providers.Text, named bool) {
	in.begin()
	id, phase, _ := strings.Cut(t.Signature, " ")
	if !named || id == "" {
		in.add(`{"type":"message","role":"assistant","content":`, t.Text, "}")
		return
	}
	in.add(`{"type":"message","id":`, id, `,"role":"assistant","status":"completed"`)
	if phase != "" {
		in.add(`,"phase":`, phase)
	}
	in.add(`,"content":[{"type":"output_text","text":`, t.Text, `,"annotations":[]}]}`)
}

// textSignature identifies the item of a text. The phase lets OpenAI's models distinguish progress from the final answer.
func textSignature(id, phase string) string {
	if phase == "" {
		return id
	}
	return id + " " + phase
}

// lost reports whether p is reasoning that the API does not accept back: it is not an item of the API, or it is an empty one.
func lost(p providers.Part) bool {
	t, ok := p.(providers.Thinking)
	if !ok {
		return false
	}
	if t.Field == memberOfItem && !t.Redacted {
		return t.Text == ""
	}
	raw := jsonx.Raw(t.Signature)
	if t.Redacted || !jsonx.Valid(raw) || string(jsonx.Lookup(raw, "type")) != `"reasoning"` {
		return true
	}
	for _, member := range []string{"encrypted_content", "content"} {
		if value := jsonx.Lookup(raw, member); !jsonx.IsNull(value) && string(value) != `""` && string(value) != "[]" {
			return false
		}
	}
	return true
}
