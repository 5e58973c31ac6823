package sessions

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
)

// Roles of messages in files. The member messageId, which holds [providers.Message].ID, is specific to gjc.
const (
	roleUser       = "user"
	roleAssistant  = "assistant"
	roleToolResult = "toolResult"
)

type wireUserMessage struct {
	Role      string      `json:"role"`
	Content   []wireBlock `json:"content"`
	Timestamp int64       `json:"timestamp"`
	MessageID string      `json:"messageId,omitzero"`
}

type wireAssistantMessage struct {
	Role         string      `json:"role"`
	Content      []wireBlock `json:"content"`
	API          string      `json:"api"`
	Provider     string      `json:"provider"`
	Model        string      `json:"model"`
	Usage        wireUsage   `json:"usage"`
	StopReason   string      `json:"stopReason"`
	ErrorMessage string      `json:"errorMessage,omitzero"`
	Timestamp    int64       `json:"timestamp"`
	MessageID    string      `json:"messageId,omitzero"`
}

type wireToolResult struct {
	Role       string      `json:"role"`
	ToolCallID string      `json:"toolCallId"`
	ToolName   string      `json:"toolName"`
	Content    []wireBlock `json:"content"`
	Details    jsonx.Raw   `json:"details,omitzero"`
	IsError    bool        `json:"isError"`
	Timestamp  int64       `json:"timestamp"`
	MessageID  string      `json:"messageId,omitzero"`
}

type wireUsage struct {
	Input           int      `json:"input"`
	Output          int      `json:"output"`
	CacheRead       int      `json:"cacheRead"`
	CacheWrite      int      `json:"cacheWrite"`
	TotalTokens     int      `json:"totalTokens"`
	ReasoningTokens int      `json:"reasoningTokens,omitzero"`
	Cost            wireCost `json:"cost"`
}

// wireCost is in US dollars; zero if the prices are unknown.
type wireCost struct {
	Input      float64 `json:"input"`
	Output     float64 `json:"output"`
	CacheRead  float64 `json:"cacheRead"`
	CacheWrite float64 `json:"cacheWrite"`
	Total      float64 `json:"total"`
}

func wireUsageOf(u providers.Usage, p providers.Price) wireUsage {
	return wireUsage{
		Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite,
		TotalTokens: u.Context(), ReasoningTokens: u.Thinking, Cost: wireCost(p),
	}
}

// wireBlock is a content block of any type. Members that are required even when empty are pointers.
type wireBlock struct {
	Type              string    `json:"type"`
	Text              *string   `json:"text,omitzero"`
	TextSignature     string    `json:"textSignature,omitzero"`
	Thinking          *string   `json:"thinking,omitzero"`
	ThinkingSignature string    `json:"thinkingSignature,omitzero"`
	ThinkingField     string    `json:"thinkingField,omitzero"`
	Data              *string   `json:"data,omitzero"`
	MIMEType          string    `json:"mimeType,omitzero"`
	ID                *string   `json:"id,omitzero"`
	Name              *string   `json:"name,omitzero"`
	Arguments         jsonx.Raw `json:"arguments,omitzero"`
	ThoughtSignature  string    `json:"thoughtSignature,omitzero"`
}

func (enc *encoder) message(m *providers.Message) (any, error) {
	content, err := enc.parts(m.Parts)
	if err != nil {
		return nil, err
	}
	ms := m.Time.UnixMilli()
	switch m.Role {
	case providers.RoleUser:
		return wireUserMessage{Role: roleUser, MessageID: m.ID, Content: content, Timestamp: ms}, nil
	case providers.RoleAssistant:
		return wireAssistantMessage{
			Role: roleAssistant, MessageID: m.ID, Content: content, API: m.API, Provider: m.Provider, Model: m.Model,
			Usage: wireUsageOf(m.Usage, m.Price), StopReason: string(m.StopReason), ErrorMessage: m.Error, Timestamp: ms,
		}, nil
	case providers.RoleTool:
		if len(m.Details) > 0 && !jsonx.Valid(m.Details) {
			return nil, errors.New("the details of a tool result must be JSON")
		}
		details, err := enc.outOfDetails(m.Details)
		if err != nil {
			return nil, err
		}
		return wireToolResult{
			Role: roleToolResult, MessageID: m.ID, ToolCallID: m.ToolCallID, ToolName: m.ToolName, Content: content,
			Details: details, IsError: m.IsError, Timestamp: ms,
		}, nil
	default:
		return nil, fmt.Errorf("unknown role %q", m.Role)
	}
}

func (enc *encoder) parts(parts []providers.Part) ([]wireBlock, error) {
	blocks := make([]wireBlock, 0, len(parts))
	for _, p := range parts {
		var b wireBlock
		switch p := p.(type) {
		case providers.Text:
			b = wireBlock{Type: "text", Text: &p.Text, TextSignature: p.Signature}
		case providers.Thinking:
			if p.Redacted {
				if len(p.Signature) > maxString {
					continue // it has nothing but the signature
				}
				b = wireBlock{Type: "redactedThinking", Data: &p.Signature}
			} else {
				if slices.Contains(thinkingFields[:], p.Field) && p.Signature == "" {
					p.Signature, p.Field = p.Field, ""
				}
				b = wireBlock{Type: "thinking", Thinking: &p.Text, ThinkingSignature: p.Signature, ThinkingField: p.Field}
			}
		case providers.Image:
			data, err := enc.image(p.Data)
			if err != nil {
				return nil, err
			}
			b = wireBlock{Type: "image", Data: &data, MIMEType: p.MIMEType}
		case providers.ToolCall:
			arguments, err := encodeArguments(p.Input)
			if err != nil {
				return nil, err
			}
			b = wireBlock{Type: "toolCall", ID: &p.ID, Name: &p.Name, Arguments: arguments, ThoughtSignature: p.Signature}
		default:
			return nil, fmt.Errorf("unknown message part %T", p)
		}
		blocks = append(blocks, b)
	}
	return blocks, nil
}

// image returns an image's bytes in base64, or a reference to a blob.
func (enc *encoder) image(data []byte) (string, error) {
	if base64.StdEncoding.EncodedLen(len(data)) < blobThreshold {
		return base64.StdEncoding.EncodeToString(data), nil
	}
	return enc.put(data)
}

// encodeArguments encodes arguments that are not an object, such as those of an interrupted answer, as a JSON string.
func encodeArguments(input jsonx.Raw) (jsonx.Raw, error) {
	switch {
	case len(input) == 0:
		return jsonx.Raw("{}"), nil
	case input.Kind() == '{' && jsonx.Valid(input):
		return input, nil
	default:
		return jsonx.Marshal(string(input))
	}
}

// wireMessage is a message of any role, as this and other programs write it.
type wireMessage struct {
	Role         string       `json:"role"`
	Content      readContent  `json:"content"`
	Timestamp    readMillis   `json:"timestamp"`
	API          string       `json:"api"`
	Provider     string       `json:"provider"`
	Model        string       `json:"model"`
	StopReason   string       `json:"stopReason"`
	ErrorMessage string       `json:"errorMessage"`
	Usage        decodedUsage `json:"usage"`
	ToolCallID   string       `json:"toolCallId"`
	ToolName     string       `json:"toolName"`
	Details      jsonx.Raw    `json:"details"`
	IsError      bool         `json:"isError"`
	MessageID    string       `json:"messageId"`
}

// messageLine is a line with a message.
type messageLine struct {
	envelope
	Message wireMessage `json:"message"`
}

// messageStart is the start of a line with a message that this program wrote.
var messageStart = []byte(`{"type":"message",`)

func (d *decoder) messageEntry(line []byte) (Entry, error) {
	var l messageLine
	if err := jsonx.Unmarshal(line, &l); err != nil {
		return nil, err
	}
	w, base := &l.Message, l.base()
	m := providers.Message{ID: w.MessageID, Role: providers.RoleUser, Time: w.Timestamp.time(base.Time)}
	e := MessageEntry{Base: base, Role: w.Role}
	switch w.Role {
	case roleUser, "developer", "custom", "hookMessage":
	case roleAssistant:
		m.Role, m.API, m.Provider, m.Model = providers.RoleAssistant, w.API, w.Provider, w.Model
		m.StopReason, m.Error = providers.StopReason(w.StopReason), w.ErrorMessage
		m.Usage, m.Price = w.Usage.usage, w.Usage.price
	case roleToolResult:
		m.Role, m.ToolCallID, m.ToolName, m.IsError = providers.RoleTool, w.ToolCallID, w.ToolName, w.IsError
		m.Details = d.intoDetails(w.Details)
	default:
		parts, hidden, err := d.foreignMessage(w.Role, jsonx.Lookup(line, "message"))
		if err != nil {
			return nil, err
		}
		m.Parts, e.Hidden = parts, hidden
		e.Message = m
		return e, nil
	}
	m.Parts = d.blocks(w.Content)
	e.Message = m
	return e, nil
}

// readUsage is wireUsage as other programs may write it.
type readUsage struct {
	Input           float64 `json:"input"`
	Output          float64 `json:"output"`
	CacheRead       float64 `json:"cacheRead"`
	CacheWrite      float64 `json:"cacheWrite"`
	ReasoningTokens float64 `json:"reasoningTokens"`
}

// readCosts is the part of the usage with the costs.
type readCosts struct {
	Cost wireCost `json:"cost"`
}

// decodeUsage decodes a usage leniently: invalid counts do not lose a message, nor invalid costs the counts.
func decodeUsage(raw jsonx.Raw) (providers.Usage, providers.Price) {
	var w readUsage
	if jsonx.IsNull(raw) || jsonx.Unmarshal(raw, &w) != nil {
		return providers.Usage{}, providers.Price{}
	}
	var c readCosts
	if jsonx.Unmarshal(raw, &c) != nil {
		c = readCosts{}
	}
	return w.usage(), c.Cost.price()
}

// price converts c. It computes a missing total and returns zero for a negative price.
func (c wireCost) price() providers.Price {
	if c.Total == 0 {
		c.Total = c.Input + c.Output + c.CacheRead + c.CacheWrite
	}
	if min(c.Input, c.Output, c.CacheRead, c.CacheWrite, c.Total) < 0 {
		return providers.Price{}
	}
	return providers.Price(c)
}

func (w *readUsage) usage() providers.Usage {
	return providers.Usage{
		Input: int(w.Input), Output: int(w.Output), CacheRead: int(w.CacheRead), CacheWrite: int(w.CacheWrite),
		Thinking: int(w.ReasoningTokens),
	}
}

// decodedUsage is the result of decodeUsage.
type decodedUsage struct {
	usage providers.Usage
	price providers.Price
}

func (u *decodedUsage) UnmarshalJSONFrom(dec *jsonx.Decoder) error {
	raw, err := dec.ReadValue()
	u.usage, u.price = decodeUsage(raw)
	return err
}

// readMillis is a time in milliseconds since 1970. Any value that is not a positive number means unknown and decodes as zero.
type readMillis float64

func (ms *readMillis) UnmarshalJSONFrom(dec *jsonx.Decoder) error {
	raw, err := dec.ReadValue()
	n, _ := strconv.ParseFloat(string(raw), 64)
	if *ms = readMillis(n); n <= 0 || n > 1<<53 {
		*ms = 0
	}
	return err
}

func (ms readMillis) time(otherwise time.Time) time.Time {
	if ms == 0 {
		return otherwise
	}
	return time.UnixMilli(int64(ms)).UTC()
}

// readContent is a message's content: a list of blocks, or a string.
type readContent []readBlock

func (c *readContent) UnmarshalJSONFrom(dec *jsonx.Decoder) error {
	if dec.PeekKind() != '"' {
		return jsonx.UnmarshalNext(dec, (*[]readBlock)(c))
	}
	*c = readContent{{Type: "text"}}
	return jsonx.UnmarshalNext(dec, &(*c)[0].Text)
}

// readBlock is wireBlock as other programs and older versions may write it.
type readBlock struct {
	Type              string    `json:"type"`
	Text              string    `json:"text"`
	TextSignature     string    `json:"textSignature"`
	Thinking          string    `json:"thinking"`
	ThinkingSignature string    `json:"thinkingSignature"`
	ThinkingField     string    `json:"thinkingField"`
	Redacted          bool      `json:"redacted"`
	Data              string    `json:"data"`
	MIMEType          string    `json:"mimeType"`
	ID                string    `json:"id"`
	Name              string    `json:"name"`
	Arguments         jsonx.Raw `json:"arguments"`
	Input             jsonx.Raw `json:"input"`
	ThoughtSignature  string    `json:"thoughtSignature"`
}

// thinkingFields lists the values of a thinking's Field that a session file stores as the signature, where other programs expect
// them.
var thinkingFields = [...]string{"reasoning_content", "reasoning", "reasoning_text"}

// blocks decodes content. It leaves out blocks of unknown types with a notice.
func (d *decoder) blocks(blocks readContent) []providers.Part {
	if blocks == nil {
		return nil
	}
	parts := make([]providers.Part, 0, len(blocks))
	for i := range blocks {
		if p := d.part(&blocks[i]); p != nil {
			parts = append(parts, p)
		}
	}
	return parts
}

func (d *decoder) part(b *readBlock) providers.Part {
	switch b.Type {
	case "text":
		return providers.Text{Text: b.Text, Signature: b.TextSignature}
	case "thinking":
		t := providers.Thinking{Text: b.Thinking, Signature: b.ThinkingSignature, Redacted: b.Redacted, Field: b.ThinkingField}
		if slices.Contains(thinkingFields[:], t.Signature) {
			t.Field, t.Signature = t.Signature, ""
		}
		return t
	case "redactedThinking":
		return providers.Thinking{Signature: b.Data, Redacted: true}
	case "image":
		return d.image(b)
	case "toolCall", "tool_use":
		return providers.ToolCall{ID: b.ID, Name: b.Name, Input: decodeArguments(b), Signature: b.ThoughtSignature}
	default:
		d.notice("a content block of the unknown type %q is ignored", b.Type)
		return nil
	}
}

func decodeArguments(b *readBlock) jsonx.Raw {
	raw := b.Arguments
	if jsonx.IsNull(raw) {
		raw = b.Input
	}
	if jsonx.IsNull(raw) {
		return jsonx.Raw("{}")
	}
	var s string
	if raw.Kind() == '"' && jsonx.Unmarshal(raw, &s) == nil {
		return jsonx.Raw(s)
	}
	return raw
}

func (d *decoder) image(b *readBlock) providers.Part {
	var data []byte
	var err error
	if strings.HasPrefix(b.Data, blobPrefix) {
		data, err = d.blob(b.Data)
	} else {
		data, err = base64.StdEncoding.DecodeString(b.Data)
	}
	if err != nil {
		d.notice("an image is lost: %v", err)
		return providers.Text{Text: "[an image that is no longer stored]"}
	}
	return providers.Image{MIMEType: b.MIMEType, Data: data}
}

// foreignMessage converts messages that only the interactive program writes to user content: commands that the user ran
// there, mentioned files, summaries. Hidden ones are not for a model.
func (d *decoder) foreignMessage(role string, raw jsonx.Raw) (parts []providers.Part, hidden bool, err error) {
	var w struct {
		Command  string   `json:"command"`
		Code     string   `json:"code"`
		Output   string   `json:"output"`
		ExitCode *float64 `json:"exitCode"`
		Exclude  bool     `json:"excludeFromContext"`
		Summary  string   `json:"summary"`
		Files    []struct {
			Path    string     `json:"path"`
			Content string     `json:"content"`
			Image   *readBlock `json:"image"`
		} `json:"files"`
	}
	if err := jsonx.Unmarshal(raw, &w); err != nil {
		return nil, false, err
	}
	text := func(s string) []providers.Part { return []providers.Part{providers.Text{Text: s}} }
	switch role {
	case "bashExecution":
		return text(ranText("the command", w.Command, w.Output, w.ExitCode)), w.Exclude, nil
	case "pythonExecution":
		return text(ranText("this Python code", w.Code, w.Output, w.ExitCode)), w.Exclude, nil
	case "branchSummary":
		return text(branchText(w.Summary)), false, nil
	case "compactionSummary":
		return text(compactionText(w.Summary)), false, nil
	case "fileMention":
		for _, f := range w.Files {
			parts = append(parts, providers.Text{Text: fmt.Sprintf("The file %s:\n\n%s", f.Path, f.Content)})
			if f.Image != nil {
				parts = append(parts, d.image(f.Image))
			}
		}
		return parts, false, nil
	default:
		return nil, false, fmt.Errorf("unknown role %q", role)
	}
}

func ranText(what, source, output string, code *float64) string {
	var b strings.Builder
	fmt.Fprintf(&b, "I ran %s\n\n%s\n\n", what, source)
	if output == "" {
		b.WriteString("It printed nothing.")
	} else {
		fmt.Fprintf(&b, "It printed:\n\n%s", output)
	}
	if code != nil && *code != 0 {
		fmt.Fprintf(&b, "\n\nIt exited with code %d.", int(*code))
	}
	return b.String()
}

func compactionText(summary string) string {
	return "The conversation before this point was replaced by this summary of it:\n\n" + summary
}

func branchText(summary string) string {
	return "Another branch of this conversation was left here. A summary of it:\n\n" + summary
}
