package agent

import (
	"encoding/base64"

	"github.com/gajae-code/gjc/internal/bug"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
)

// details is what the editor was shown of a tool call. It is stored with the result, so that a loaded session
// looks like the live one.
type details struct {
	Title     string
	Kind      ToolKind
	Content   []Content
	Locations []Location
	Raw       jsonx.Raw
}

type detailsJSON struct {
	Title     string         `json:"title"`
	Kind      ToolKind       `json:"kind"`
	Content   []contentJSON  `json:"content,omitzero"`
	Locations []locationJSON `json:"locations,omitzero"`
	Raw       jsonx.Raw      `json:"raw,omitzero"`
}

type contentJSON struct {
	Type     string  `json:"type"`
	Text     string  `json:"text,omitzero"`
	Path     string  `json:"path,omitzero"`
	Old      *string `json:"oldText,omitzero"`
	New      string  `json:"newText,omitzero"`
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
	out := detailsJSON{Title: d.Title, Kind: d.Kind, Raw: d.Raw}
	for _, l := range d.Locations {
		out.Locations = append(out.Locations, locationJSON{l.Path, l.Line})
	}
	for _, c := range d.Content {
		switch c := c.(type) {
		case TextContent:
			out.Content = append(out.Content, contentJSON{Type: "text", Text: c.Text})
		case DiffContent:
			out.Content = append(out.Content, contentJSON{Type: "diff", Path: c.Path, Old: c.Old, New: c.New})
		case TerminalContent:
			out.Content = append(out.Content, contentJSON{Type: "terminal", Terminal: c.TerminalID})
		case LinkContent:
			out.Content = append(out.Content, contentJSON{Type: "link", URI: c.URI, Name: c.Name})
		case ImageContent:
			out.Content = append(out.Content, contentJSON{
				Type: "image", MIMEType: c.Image.MIMEType, Data: base64.StdEncoding.EncodeToString(c.Image.Data),
			})
		}
	}
	raw, err := jsonx.Marshal(out)
	if err != nil {
		bug.Reportf("the details of a tool call do not encode: %v", err)
	}
	return raw
}

// decodeDetails reads what encode wrote. Details of another program give false.
func decodeDetails(raw jsonx.Raw) (details, bool) {
	var in detailsJSON
	if len(raw) == 0 || jsonx.Unmarshal(raw, &in) != nil || in.Title == "" {
		return details{}, false
	}
	d := details{Title: in.Title, Kind: in.Kind, Raw: in.Raw}
	for _, l := range in.Locations {
		d.Locations = append(d.Locations, Location(l))
	}
	for _, c := range in.Content {
		switch c.Type {
		case "text":
			d.Content = append(d.Content, TextContent{c.Text})
		case "diff":
			d.Content = append(d.Content, DiffContent{c.Path, c.Old, c.New})
		case "terminal":
			// The terminal is gone with the process that had it; what it printed is in the result's text.
		case "link":
			d.Content = append(d.Content, LinkContent{c.URI, c.Name})
		case "image":
			data, err := base64.StdEncoding.DecodeString(c.Data)
			if err == nil {
				d.Content = append(d.Content, ImageContent{providers.Image{MIMEType: c.MIMEType, Data: data}})
			}
		}
	}
	return d, true
}
