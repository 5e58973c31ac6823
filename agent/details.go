package agent

import (
	"encoding/base64"
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
		bug.Reportf("the details of a tool call do not encode: %v", err)
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
			out = append(out, contentJSON{Type: "diff", Path: c.Path, Old: c.Old, New: c.New})
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

// decodeDetails reads the output of encode. printed is the result's text, which replaces a terminal that ended with its
// process. For details of another program it returns false.
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
			out = append(out, DiffContent{c.Path, c.Old, c.New})
		case "terminal":
			// The result also has the texts of the other blocks, which have their own places here.
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
