package toolkit

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/text"
	"github.com/gajae-code/gjc/providers"
)

// maxReplyImages bounds the pictures of a [ToolReply].
const maxReplyImages = 10

// ToolReply is the JSON that a user's program returns for a call of a tool.
type ToolReply struct {
	Content []ReplyPart `json:"content"`
	Text    string      `json:"text"`
	IsError bool        `json:"isError"`
	// Details are not for the model.
	Details jsonx.Raw `json:"details"`
}

// ReplyPart is text, or a picture in base64.
type ReplyPart struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	Data     string `json:"data"`
	MIMEType string `json:"mimeType"`
}

// Result converts the reply of a tool to the result of its call. What cannot be used is named in the result.
func (r *ToolReply) Result(ctx context.Context, call *agent.Call, tool string) *agent.Result {
	res := &agent.Result{IsError: r.IsError}
	if len(r.Details) > 0 {
		res.Raw = r.Details
	}
	var texts, notes []string
	if r.Text != "" {
		texts = append(texts, r.Text)
	}
	for _, part := range r.Content {
		switch part.Type {
		case "text":
			texts = append(texts, part.Text)
		case "image":
			data, err := base64.StdEncoding.DecodeString(part.Data)
			mime := ImageType(data)
			switch {
			case err != nil || mime == "":
				notes = append(notes, "[A picture is not in base64, or of a kind that models cannot see.]")
			case len(res.Images) >= maxReplyImages:
				notes = append(notes, fmt.Sprintf("[More than %d pictures; the others are left out.]", maxReplyImages))
			default:
				img := providers.Image{MIMEType: mime, Data: data}
				res.Images = append(res.Images, img)
				res.Content = append(res.Content, agent.ImageContent{Image: img})
			}
		default:
			notes = append(notes, fmt.Sprintf("[Content of the unknown type %q is left out; the types are text and image.]", text.TruncateBytes(part.Type, 40)))
		}
	}
	joined := strings.Join(texts, "\n")
	if joined == "" && len(res.Images) == 0 {
		joined = "(no output)"
	}
	res.Text = BoundedText(ctx, call, tool, joined, notes)
	res.Content = append([]agent.Content{agent.TextContent{Text: res.Text}}, res.Content...)
	return res
}
