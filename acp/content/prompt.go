package content

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/providers"
)

// PromptParts converts the blocks of a prompt: all their text becomes one part, followed by the images. Error texts number
// the blocks from first.
func PromptParts(blocks []acp.ContentBlock, first int) ([]providers.Part, error) {
	var texts []string
	var parts []providers.Part
	for i, b := range blocks {
		i += first
		switch b := b.(type) {
		case *acp.TextContent:
			texts = append(texts, b.Text)
		case *acp.ImageContent:
			img, err := image(b.MIMEType, b.Data)
			if err != nil {
				return nil, fmt.Errorf("prompt block %d: %w", i, err)
			}
			parts = append(parts, img)
		case *acp.ResourceLink:
			texts = append(texts, linkText(b))
		case *acp.EmbeddedResource:
			text, img, err := resource(b)
			if err != nil {
				return nil, fmt.Errorf("prompt block %d: %w", i, err)
			}
			if img != nil {
				parts = append(parts, *img)
			} else {
				texts = append(texts, text)
			}
		case *acp.AudioContent:
			return nil, fmt.Errorf("prompt block %d is audio, which this agent does not advertise", i)
		default:
			return nil, fmt.Errorf("prompt block %d is of a type that this agent does not know", i)
		}
	}
	text := strings.TrimSpace(strings.Join(texts, "\n\n"))
	if text != "" {
		parts = append([]providers.Part{providers.Text{Text: text}}, parts...)
	}
	if len(parts) == 0 {
		return nil, errors.New("the prompt is empty")
	}
	return parts, nil
}

// PromptBlocks converts the parts of a prompt to the blocks that a client sends for it.
func PromptBlocks(parts []providers.Part) []acp.ContentBlock {
	var blocks []acp.ContentBlock
	for _, p := range parts {
		switch p := p.(type) {
		case providers.Text:
			blocks = append(blocks, &acp.TextContent{Text: p.Text})
		case providers.Image:
			blocks = append(blocks, Block(agent.ImageContent{Image: p}))
		}
	}
	return blocks
}

func image(mimeType, data string) (providers.Image, error) {
	raw, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		return providers.Image{}, fmt.Errorf("the image is not base64: %w", err)
	}
	if !strings.HasPrefix(mimeType, "image/") {
		return providers.Image{}, fmt.Errorf("an image cannot have the type %q", mimeType)
	}
	return providers.Image{MIMEType: mimeType, Data: raw}, nil
}

// linkText returns the name and the path of a linked file, so that the model can read the file.
func linkText(l *acp.ResourceLink) string {
	name := l.Title
	if name == "" {
		name = l.Name
	}
	place := l.URI
	if path, ok := filePath(l.URI); ok {
		place = path
	}
	if name == "" || name == place {
		return place
	}
	return fmt.Sprintf("%s (%s)", name, place)
}

func resource(r *acp.EmbeddedResource) (text string, img *providers.Image, err error) {
	switch c := r.Resource.(type) {
	case *acp.TextResourceContents:
		place := c.URI
		if path, ok := filePath(c.URI); ok {
			place = path
		}
		return EmbeddedText(place, c.Text), nil, nil
	case *acp.BlobResourceContents:
		if strings.HasPrefix(c.MIMEType, "image/") {
			image, err := image(c.MIMEType, c.Blob)
			return "", &image, err
		}
		return fmt.Sprintf("[embedded resource: %s]", c.URI), nil, nil
	default:
		return "", nil, errors.New("the embedded resource is neither text nor a blob")
	}
}

// EmbeddedText returns the text of a file or resource as part of a prompt.
func EmbeddedText(place, text string) string {
	return fmt.Sprintf("<file path=%q>\n%s\n</file>", place, text)
}

// filePath returns the path of a file URI.
func filePath(uri string) (string, bool) {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" || u.Path == "" {
		return "", false
	}
	path := u.Path
	switch {
	case u.Host != "" && u.Host != "localhost": // a share: \\host\path on Windows
		path = "//" + u.Host + path
	case len(path) > 2 && path[0] == '/' && path[2] == ':': // file:///C:/x has the path /C:/x
		path = path[1:]
	}
	return filepath.FromSlash(path), true
}
