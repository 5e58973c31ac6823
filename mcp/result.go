package mcp

import (
	"fmt"
	"strings"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/text"
)

const (
	// MaxText bounds [Result.Text] in bytes.
	MaxText = 50 << 10
	// headOfText is the part of MaxText for the start of a text that is too long; the rest is for its end.
	headOfText = 20 << 10
	// maxContent bounds the total size of the texts of a result, and of its binary data, in bytes.
	maxContent = 10 << 20
	// maxParts bounds the number of parts of a result.
	maxParts = 1000
)

// Result is the result of a call, or the contents of a resource.
type Result struct {
	// Text is the result for the model, at most [MaxText] bytes.
	Text string
	// Full is the whole text if Text was truncated, otherwise empty.
	Full string
	// Parts are the contents in the server's order. Their size is bounded; a [Text] states how much was omitted.
	Parts []Part
	// Structured is the structured content, or nil.
	Structured jsonx.Raw
	// IsError marks a failure that the tool itself reports.
	IsError bool
}

// Part is one piece of content: [Text], [Image], [Audio], [Embedded] or [Link].
type Part interface{ isPart() }

// Text is text.
type Text struct{ Text string }

// Image is an image. Its data is not checked.
type Image struct {
	MIMEType string
	Data     []byte
}

// Audio is sound.
type Audio struct {
	MIMEType string
	Data     []byte
}

// Embedded is a resource with its contents: Data if it is not nil, otherwise Text.
type Embedded struct {
	URI      string
	MIMEType string
	Text     string
	Data     []byte
}

// Link refers to a resource of the server.
type Link struct {
	URI                      string
	Name, Title, Description string
	MIMEType                 string
}

func (Text) isPart()     {}
func (Image) isPart()    {}
func (Audio) isPart()    {}
func (Embedded) isPart() {}
func (Link) isPart()     {}

func newResult(res *sdk.CallToolResult) *Result {
	b := new(resultBuilder)
	for _, c := range res.Content {
		b.content(c)
	}
	if res.StructuredContent != nil {
		raw, err := jsonx.Marshal(res.StructuredContent)
		switch {
		case err != nil || !b.room(len(raw)):
			b.note("[The structured content is too large and was omitted.]")
		default:
			b.structured = raw
			if strings.TrimSpace(b.text.String()) == "" {
				b.line(string(raw))
			}
		}
	}
	r := b.result()
	r.IsError = res.IsError
	return r
}

// resultBuilder builds a result within the limits.
type resultBuilder struct {
	parts      []Part
	text       strings.Builder
	structured jsonx.Raw
	size       int
	dropped    int
}

// room reserves n bytes. It returns false if they exceed the limit.
func (b *resultBuilder) room(n int) bool {
	if b.size+n > maxContent || len(b.parts) >= maxParts {
		b.dropped++
		return false
	}
	b.size += n
	return true
}

func (b *resultBuilder) content(c sdk.Content) {
	switch c := c.(type) {
	case *sdk.TextContent:
		b.plain(c.Text)
	case *sdk.ImageContent:
		if b.room(len(c.Data)) {
			b.parts = append(b.parts, Image{c.MIMEType, c.Data})
			b.line(fmt.Sprintf("[image, %s, %d bytes]", clip(c.MIMEType), len(c.Data)))
		}
	case *sdk.AudioContent:
		if b.room(len(c.Data)) {
			b.parts = append(b.parts, Audio{c.MIMEType, c.Data})
			b.line(fmt.Sprintf("[audio, %s, %d bytes: audio is not sent to models]", clip(c.MIMEType), len(c.Data)))
		}
	case *sdk.ResourceLink:
		if b.room(len(c.URI) + len(c.Name) + len(c.Description)) {
			b.parts = append(b.parts, Link{c.URI, c.Name, c.Title, text.TruncateBytes(c.Description, maxDescription), c.MIMEType})
			b.line(strings.TrimSpace(fmt.Sprintf("[resource %s: %s] %s", c.Name, c.URI, text.TruncateBytes(c.Description, 500))))
		}
	case *sdk.EmbeddedResource:
		b.resource(c.Resource, false)
	}
}

// plain adds text, truncated at the limit.
func (b *resultBuilder) plain(s string) {
	if len(b.parts) >= maxParts {
		b.dropped++
		return
	}
	s = strings.ToValidUTF8(s, "\uFFFD")
	if over := b.size + len(s) - maxContent; over > 0 {
		b.dropped++
		s = strings.TrimSuffix(text.TruncateBytes(s, max(0, len(s)-over)), "…")
		if s == "" {
			return
		}
	}
	b.size += len(s)
	b.parts = append(b.parts, Text{s})
	b.line(s)
}

// resource adds a resource's contents. If alone is set, it is the whole result and its URI is left out.
func (b *resultBuilder) resource(r *sdk.ResourceContents, alone bool) {
	if r == nil {
		return
	}
	if !b.room(len(r.Text) + len(r.Blob)) {
		return
	}
	text := strings.ToValidUTF8(r.Text, "\uFFFD")
	b.parts = append(b.parts, Embedded{r.URI, r.MIMEType, text, r.Blob})
	switch {
	case r.Blob != nil && r.Text == "":
		b.line(fmt.Sprintf("[resource %s: %s, %d bytes]", r.URI, clip(r.MIMEType), len(r.Blob)))
	case alone:
		b.line(text)
	default:
		b.line(fmt.Sprintf("[resource %s]\n%s", r.URI, text))
	}
}

func (b *resultBuilder) note(s string) {
	b.parts = append(b.parts, Text{s})
	b.line(s)
}

func (b *resultBuilder) line(s string) {
	if b.text.Len() > 0 && !strings.HasSuffix(b.text.String(), "\n") {
		b.text.WriteByte('\n')
	}
	b.text.WriteString(s)
}

func (b *resultBuilder) result() *Result {
	if b.dropped > 0 {
		b.note(fmt.Sprintf("[%d parts of the result were omitted: it exceeds the limit of %d MB.]", b.dropped, maxContent>>20))
	}
	r := &Result{Text: b.text.String(), Parts: b.parts, Structured: b.structured}
	if len(r.Text) > MaxText {
		r.Full = r.Text
		r.Text = headAndTail(r.Full)
	}
	return r
}

// headAndTail returns the start and the end of a long text, cut at line ends if possible.
func headAndTail(s string) string {
	const note = 100 // space for the text between the two
	start, end := s[:headOfText], s[len(s)-(MaxText-headOfText-note):]
	if i := strings.LastIndexByte(start, '\n'); i > len(start)/2 {
		start = start[:i+1]
	}
	if i := strings.IndexByte(end, '\n'); i >= 0 && i < len(end)/2 {
		end = end[i+1:]
	}
	for len(start) > 0 && !utf8.RuneStart(s[len(start)]) {
		start = start[:len(start)-1]
	}
	for len(end) > 0 && !utf8.RuneStart(end[0]) {
		end = end[1:]
	}
	left := len(s) - len(start) - len(end)
	return fmt.Sprintf("%s\n… %d bytes left out …\n\n%s", strings.TrimSuffix(start, "\n"), left, end)
}

// clip truncates a MIME type of the server.
func clip(s string) string {
	if s == "" {
		return "unknown type"
	}
	return text.TruncateBytes(s, 80)
}

// checkOutput notifies the user, at most once, of a tool whose structured results do not match its output schema. The result is
// still used, because the model can read it.
func (t *Tool) checkOutput(r *Result) {
	if r.IsError || r.Structured == nil || t.output == nil {
		return
	}
	var v any
	if jsonx.Unmarshal(r.Structured, &v) != nil {
		return
	}
	if err := t.output.validate(v, len(r.Structured)); err != nil {
		t.reportOnce.Do(func() {
			t.server.notice(fmt.Sprintf("has a tool, %s, whose results do not match its output schema", t.Name), err)
		})
	}
}
