package agent

import (
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/gajae-code/gjc/internal/bug"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/text"
	"github.com/gajae-code/gjc/providers"
)

// details holds what the editor was shown of a tool call. It is stored with the result, so that a loaded session looks
// like the live one.
type details struct {
	Title string
	Kind  ToolKind
	// Start and StartLocations were shown before the call ran.
	Start          []Content
	StartLocations []Location
	Content        []Content
	Locations      []Location
	Raw            jsonx.Raw
	Say            string
	// Calls lists the first calls of the child sessions that the call has started; CallCount counts all of them.
	Calls     []nestedCall
	CallCount int
}

type detailsJSON struct {
	Title          string         `json:"title"`
	Kind           ToolKind       `json:"kind"`
	Start          []contentJSON  `json:"start,omitzero"`
	StartLocations []locationJSON `json:"startLocations,omitzero"`
	Content        []contentJSON  `json:"content,omitzero"`
	Locations      []locationJSON `json:"locations,omitzero"`
	Raw            jsonx.Raw      `json:"raw,omitzero"`
	Say            string         `json:"say,omitzero"`
	Calls          []nestedCall   `json:"calls,omitzero"`
	CallCount      int            `json:"callCount,omitzero"`
}

type contentJSON struct {
	Type     string  `json:"type"`
	Text     string  `json:"text,omitzero"`
	Path     string  `json:"path,omitzero"`
	Old      *string `json:"oldText,omitzero"`
	New      string  `json:"newText,omitzero"`
	Skipped  int     `json:"skippedLines,omitzero"`
	Terminal string  `json:"terminalId,omitzero"`
	URI      string  `json:"uri,omitzero"`
	Name     string  `json:"name,omitzero"`
	MIMEType string  `json:"mimeType,omitzero"`
	Data     string  `json:"data,omitzero"`
}

type locationJSON struct {
	Path string `json:"path"`
	Line int    `json:"line,omitzero"`
}

func (d *details) encode() jsonx.Raw {
	raw, err := jsonx.Marshal(detailsJSON{
		Title: d.Title, Kind: d.Kind, Raw: d.Raw, Say: d.Say, Calls: d.Calls, CallCount: d.CallCount,
		Start: encodeContent(d.Start), StartLocations: encodeLocations(d.StartLocations),
		Content: encodeContent(d.Content), Locations: encodeLocations(d.Locations),
	})
	if err != nil {
		bug.Reportf("cannot encode the details of a tool call: %v", err)
	}
	return raw
}

func encodeLocations(places []Location) []locationJSON {
	var out []locationJSON
	for _, l := range places {
		out = append(out, locationJSON(l))
	}
	return out
}

func encodeContent(content []Content) []contentJSON {
	var out []contentJSON
	for _, c := range content {
		switch c := c.(type) {
		case TextContent:
			out = append(out, contentJSON{Type: "text", Text: c.Text})
		case DiffContent:
			out = append(out, contentJSON{Type: "diff", Path: c.Path, Old: c.Old, New: c.New, Skipped: c.Skipped})
		case TerminalContent:
			out = append(out, contentJSON{Type: "terminal", Terminal: c.TerminalID})
		case LinkContent:
			out = append(out, contentJSON{Type: "link", URI: c.URI, Name: c.Name})
		case ImageContent:
			out = append(out, contentJSON{
				Type: "image", MIMEType: c.Image.MIMEType, Data: base64.StdEncoding.EncodeToString(c.Image.Data),
			})
		}
	}
	return out
}

// decodeDetails reads the output of encode. printed is the result's text, which replaces a terminal that ended with its process. It
// returns false for details of another program.
func decodeDetails(raw jsonx.Raw, printed string) (details, bool) {
	var in detailsJSON
	if len(raw) == 0 || jsonx.Unmarshal(raw, &in) != nil || in.Title == "" {
		return details{}, false
	}
	if len(in.Raw) > maxShown {
		in.Raw = shownInput(in.Raw)
	}
	return details{
		Title: cutTitle(in.Title), Kind: in.Kind, Raw: in.Raw, Say: in.Say, Calls: in.Calls, CallCount: in.CallCount,
		Start: boundContent(decodeContent(in.Start, "")), StartLocations: decodeLocations(in.StartLocations),
		Content: boundContent(decodeContent(in.Content, printed)), Locations: decodeLocations(in.Locations),
	}, true
}

func decodeLocations(places []locationJSON) []Location {
	var out []Location
	for _, l := range places {
		out = append(out, Location(l))
	}
	return out
}

func decodeContent(content []contentJSON, printed string) []Content {
	var out []Content
	for _, c := range content {
		switch c.Type {
		case "text":
			out = append(out, TextContent{c.Text})
		case "diff":
			out = append(out, DiffContent{c.Path, c.Old, c.New, c.Skipped})
		case "terminal":
			// The result also contains the texts of the other blocks, which are separate here.
			output := printed
			for _, other := range content {
				if other.Type == "text" && other.Text != "" {
					output = strings.TrimRight(strings.TrimSuffix(output, other.Text), "\n")
				}
			}
			if output != "" {
				out = append(out, TextContent{text.Middle(output, maxShown)})
			}
		case "link":
			out = append(out, LinkContent{c.URI, c.Name})
		case "image":
			data, err := base64.StdEncoding.DecodeString(c.Data)
			if err == nil {
				out = append(out, ImageContent{providers.Image{MIMEType: c.MIMEType, Data: data}})
			}
		}
	}
	return out
}

// nestedCall is the record of a child session's call, stored with the call that has started the child. The child's
// conversation is not stored.
type nestedCall struct {
	ID     string       `json:"-"`
	Title  string       `json:"title"`
	Kind   ToolKind     `json:"kind"`
	Status nestedStatus `json:"status"`
}

// nestedStatus is the status of such a call, in ACP's terms.
type nestedStatus string

const (
	nestedPending   nestedStatus = "pending" // the call has not ended
	nestedCompleted nestedStatus = "completed"
	nestedFailed    nestedStatus = "failed"
)

// Limits of the records of the children's calls.
const (
	maxNested      = 50
	maxNestedTitle = 80 // in characters
)

// nested records a call of a child. Children of one call can run concurrently.
func (r *toolRun) nested(child *Subagent, ev Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch ev := ev.(type) {
	case ToolStarted:
		if r.details.CallCount++; len(r.details.Calls) < maxNested {
			title := ev.Title
			if child.Name != "" {
				title = child.Name + ": " + title
			}
			r.details.Calls = append(r.details.Calls, nestedCall{child.ID + "/" + ev.CallID, nestedTitle(title), ev.Kind, nestedPending})
		}
	case ToolEnded:
		for i := range r.details.Calls {
			if c := &r.details.Calls[i]; c.ID == child.ID+"/"+ev.CallID && c.Status == nestedPending {
				if c.Status = nestedCompleted; ev.Failed {
					c.Status = nestedFailed
				}
				return
			}
		}
	default:
	}
}

func nestedTitle(title string) string {
	return text.Truncate(text.OneLine(title), maxNestedTitle)
}

// nestedContent returns the display of the children's calls, which follows the content of the call that has started
// them; nil for none.
func (d *details) nestedContent() []Content {
	if len(d.Calls) == 0 {
		return nil
	}
	var s strings.Builder
	s.WriteString(text.Count(d.CallCount, "call") + ":\n")
	for _, c := range d.Calls {
		mark := "…"
		switch c.Status {
		case nestedCompleted:
			mark = "✓"
		case nestedFailed:
			mark = "✗"
		default:
		}
		fmt.Fprintf(&s, "- %s %s\n", c.Title, mark)
	}
	if more := d.CallCount - len(d.Calls); more > 0 {
		fmt.Fprintf(&s, "- and %d more\n", more)
	}
	return []Content{TextContent{strings.TrimSpace(s.String())}}
}

// Limits on the display of a call: many clients cannot read a line of more than 64 KiB. The full text is in the result for the
// model, or in an artifact.
const (
	// maxShown is the maximum size of one text block and of a call's input, in bytes.
	maxShown = 16 << 10
	// maxShownTexts is the maximum total size of all texts of a stored call, in bytes.
	maxShownTexts = 2 * maxShown
	// maxCutMark is the maximum number of bytes that cutMiddle adds.
	maxCutMark = 64
	// maxCallTitle is the maximum length of a call's title, in characters.
	maxCallTitle = 200
	// maxShownString is the maximum size of one string in an input that is too long.
	maxShownString = 1 << 10
	// maxWholeDiff is the maximum total size of both texts of a diff that is shown completely, in bytes. In a longer diff the
	// changed part is shown whatever its length, because the user must see it.
	maxWholeDiff = 16 << 10
	// diffContext is the number of lines shown before and after the changed part.
	diffContext = 10
)

// shownContent returns content in the form that an editor receives.
func shownContent(content []Content) []Content {
	out := excerpts(content)
	for i, c := range out {
		if block, ok := c.(TextContent); ok {
			out[i] = TextContent{text.Middle(block.Text, maxShown)}
		}
	}
	return out
}

// boundContent returns stored content in the form that an editor receives. It does not cut texts again that were cut when they were
// stored.
func boundContent(content []Content) []Content {
	out := excerpts(content)
	left := maxShownTexts
	for i, c := range out {
		block, ok := c.(TextContent)
		if !ok {
			continue
		}
		if most := min(maxShown, left); len(block.Text) > most+maxCutMark {
			block.Text = text.Middle(block.Text, most)
			out[i] = block
		}
		left = max(left-len(block.Text), 0)
	}
	return out
}

// visibleTexts returns content for a question, with invisible and misleading characters made visible.
func visibleTexts(content []Content) []Content {
	for i, c := range content {
		if shown, ok := c.(TextContent); ok {
			content[i] = TextContent{text.Visible(shown.Text)}
		}
	}
	return content
}

// excerpts returns content with long diffs reduced to their changes.
func excerpts(content []Content) []Content {
	if content == nil {
		return nil
	}
	out := make([]Content, len(content))
	for i, c := range content {
		if d, ok := c.(DiffContent); ok {
			c = excerpt(d)
		}
		out[i] = c
	}
	return out
}

// excerpt removes the common lines at the start and the end of a long diff, except for a few.
func excerpt(d DiffContent) DiffContent {
	if d.Old == nil || len(*d.Old)+len(d.New) <= maxWholeDiff {
		return d
	}
	before, after := *d.Old, d.New
	head := strings.LastIndexByte(before[:commonPrefix(before, after)], '\n') + 1
	for range diffContext {
		head = strings.LastIndexByte(before[:max(head-1, 0)], '\n') + 1
	}
	skipped := d.Skipped + strings.Count(before[:head], "\n")
	before, after = before[head:], after[head:]
	tail := commonSuffix(before, after)
	kept := before[len(before)-tail:]
	for range diffContext + 1 {
		_, kept, _ = strings.Cut(kept, "\n")
	}
	before, after = before[:len(before)-len(kept)], after[:len(after)-len(kept)]
	return DiffContent{Path: d.Path, Old: &before, New: after, Skipped: skipped}
}

func commonPrefix(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

func commonSuffix(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	return n
}

// shownInput returns a call's input in the form for an editor: JSON with long texts cut. Input that is not JSON becomes
// a string.
func shownInput(input jsonx.Raw) jsonx.Raw {
	if len(input) > 0 && len(input) <= maxShown && jsonx.Valid(input) {
		return input
	}
	var v any
	if len(input) > 0 && jsonx.Unmarshal(input, &v) == nil {
		if short, err := jsonx.Marshal(cutStrings(v)); err == nil && len(short) <= maxShown {
			return short
		}
	}
	text, _ := jsonx.Marshal(text.Middle(string(input), maxShown)) // a string can always be encoded
	return text
}

func cutStrings(v any) any {
	switch v := v.(type) {
	case string:
		return text.Middle(v, maxShownString)
	case []any:
		for i := range v {
			v[i] = cutStrings(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = cutStrings(v[name])
		}
	}
	return v
}

// cutTitle shortens the title of a call to maxCallTitle.
func cutTitle(s string) string { return text.Truncate(s, maxCallTitle) }
