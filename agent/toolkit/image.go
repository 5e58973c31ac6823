package toolkit

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/internal/picture"
	"github.com/gajae-code/gjc/providers"
)

// maxImage bounds the size of a picture's file, in bytes.
const maxImage = 20 << 20

// imageLimits returns the largest picture that a model uses. The service would scale down a larger one after it was sent and paid for.
func imageLimits(model *providers.ModelInfo) picture.Limits {
	switch {
	case strings.Contains(model.API, "anthropic"), strings.Contains(model.API, "bedrock"):
		return picture.Limits{Edge: 1568}
	case strings.Contains(model.API, "openai"):
		return picture.Limits{Edge: 2048}
	default:
		return picture.Limits{}
	}
}

// ShowImage returns the result for a picture, scaled down if it is larger than the model uses.
func ShowImage(ctx context.Context, call *agent.Call, name string, data []byte) (*agent.Result, error) {
	if len(data) > maxImage {
		return nil, fmt.Errorf("%s is an image of %s; the limit is %s", name, Size(int64(len(data))), Size(maxImage))
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	pic, err := picture.Fit(data, imageLimits(&call.Model))
	switch {
	case errors.Is(err, picture.ErrBroken):
		return nil, fmt.Errorf("%s cannot be shown: %w (%s)", name, err, picture.Type(data))
	case err != nil:
		return nil, fmt.Errorf("%s cannot be shown: %w", name, err)
	}
	text := fmt.Sprintf("%s: %s, %d x %d pixels, %s", name, picture.Type(data), pic.Original.Width, pic.Original.Height, Size(int64(len(data))))
	img := providers.Image{MIMEType: pic.MIMEType, Data: pic.Data}
	res := &agent.Result{Content: []agent.Content{agent.ImageContent{Image: img}}}
	if pic.Changed {
		text += fmt.Sprintf("\n\n[Shown as %s, %d x %d pixels.]", pic.MIMEType, pic.Width, pic.Height)
	}
	// A model without image input receives a note instead with each request. A later model of the session sees the picture.
	res.Text, res.Images = text, []providers.Image{img}
	return res, nil
}
