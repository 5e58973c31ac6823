package tools

import (
	"bytes"
	"fmt"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/providers"
)

// imageType returns the media type of a picture that models can see, or "".
func imageType(data []byte) string {
	switch {
	case bytes.HasPrefix(data, []byte("\x89PNG\r\n\x1a\n")):
		return "image/png"
	case bytes.HasPrefix(data, []byte("\xFF\xD8\xFF")):
		return "image/jpeg"
	case bytes.HasPrefix(data, []byte("GIF87a")), bytes.HasPrefix(data, []byte("GIF89a")):
		return "image/gif"
	case len(data) >= 12 && string(data[:4]) == "RIFF" && string(data[8:12]) == "WEBP":
		return "image/webp"
	default:
		return ""
	}
}

func readImage(name, mime string, data []byte) (*agent.Result, error) {
	if len(data) > maxImage {
		return nil, fmt.Errorf("%s is an image of %s; images up to %s can be shown", name, size(int64(len(data))), size(maxImage))
	}
	img := providers.Image{MIMEType: mime, Data: data}
	return &agent.Result{
		Text:    fmt.Sprintf("%s: %s, %s", name, mime, size(int64(len(data)))),
		Images:  []providers.Image{img},
		Content: []agent.Content{agent.ImageContent{Image: img}},
	}, nil
}
