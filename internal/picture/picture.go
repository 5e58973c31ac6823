// Package picture prepares images for models: it checks that they are complete, and scales down those that are too
// large.
package picture

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"

	"golang.org/x/image/bmp"
	"golang.org/x/image/draw"
	"golang.org/x/image/webp"
)

// Limits are the limits of a model. Zero fields stand for the defaults.
type Limits struct {
	// Edge is the maximum side length in pixels; 2000 if zero.
	Edge int
	// Bytes is the maximum file size; 3,750,000 if zero, which is 5 MB in base64.
	Bytes int
}

// The defaults of [Limits], and limits of decoding.
const (
	defaultEdge  = 2000
	defaultBytes = 3_750_000
	// maxPixels is the maximum size of a decoded image: 50 million pixels take 200 MB, or 400 MB with 16 bits per channel.
	maxPixels = 50_000_000
)

// Errors of [Fit].
var (
	errNotPicture = errors.New("not an image of a known format")
	ErrBroken     = errors.New("the image is damaged")
	errTooLarge   = errors.New("the image is too large")
)

// Picture is an image that a model accepts.
type Picture struct {
	// Data is the file in the format MIMEType: the original if it fits.
	Data     []byte
	MIMEType string
	// Width and Height are those of Data, Original those of the original image.
	Width, Height int
	Original      image.Config
	// Changed reports whether Data differs from the original file.
	Changed bool
}

// Type returns the media type of an image that [Fit] can read, or "".
func Type(data []byte) string {
	switch {
	case bytes.HasPrefix(data, []byte("\x89PNG\r\n\x1a\n")):
		return "image/png"
	case bytes.HasPrefix(data, []byte("\xFF\xD8\xFF")):
		return "image/jpeg"
	case bytes.HasPrefix(data, []byte("GIF87a")), bytes.HasPrefix(data, []byte("GIF89a")):
		return "image/gif"
	case len(data) >= 12 && string(data[:4]) == "RIFF" && string(data[8:12]) == "WEBP":
		return "image/webp"
	case len(data) >= 26 && string(data[:2]) == "BM" && data[14] >= 12 && data[14] <= 124 && data[15]|data[16]|data[17] == 0 &&
		data[6]|data[7]|data[8]|data[9] == 0:
		return "image/bmp"
	default:
		return ""
	}
}

// decoders are the functions for reading a format.
func decoders(mime string) (config func(io.Reader) (image.Config, error), decode func(io.Reader) (image.Image, error)) {
	switch mime {
	case "image/png":
		return png.DecodeConfig, png.Decode
	case "image/jpeg":
		return jpeg.DecodeConfig, jpeg.Decode
	case "image/gif":
		return gif.DecodeConfig, gif.Decode // the first frame of an animation
	case "image/webp":
		return webp.DecodeConfig, webp.Decode
	case "image/bmp":
		return bmp.DecodeConfig, bmp.Decode
	default:
		return nil, nil
	}
}

// Fit returns the image in data within limits. It always decodes the image, because a service refuses a whole
// conversation that has a broken image.
func Fit(data []byte, limits Limits) (pic *Picture, err error) {
	edge, most := limits.Edge, limits.Bytes
	if edge == 0 {
		edge = defaultEdge
	}
	if most == 0 {
		most = defaultBytes
	}
	mime := Type(data)
	config, decode := decoders(mime)
	if decode == nil {
		return nil, errNotPicture
	}
	// Decoders of untrusted files may panic.
	defer func() {
		if r := recover(); r != nil {
			pic, err = nil, fmt.Errorf("%w: %v", ErrBroken, r)
		}
	}()
	size, err := config(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBroken, err)
	}
	if size.Width < 1 || size.Height < 1 {
		return nil, fmt.Errorf("%w: it has no pixels", ErrBroken)
	}
	if size.Width > maxPixels/size.Height {
		return nil, fmt.Errorf("%w: it has %d x %d pixels; the limit is %d million", errTooLarge, size.Width, size.Height, maxPixels/1_000_000)
	}
	img, err := decode(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBroken, err)
	}
	pic = &Picture{Data: data, MIMEType: mime, Width: size.Width, Height: size.Height, Original: size}
	if max(size.Width, size.Height) <= edge && len(data) <= most && mime != "image/bmp" {
		return pic, nil
	}
	pic.Changed = true
	return pic, pic.shrink(img, edge, most)
}

// shrink encodes img with no side above edge and at most the given number of bytes.
func (p *Picture) shrink(img image.Image, edge, most int) error {
	for edge = min(edge, max(p.Width, p.Height)); edge > 0; edge = edge * 3 / 4 {
		small := scaled(img, edge)
		p.Width, p.Height = small.Bounds().Dx(), small.Bounds().Dy()
		var buf bytes.Buffer
		if p.MIMEType != "image/jpeg" {
			if err := png.Encode(&buf, small); err != nil {
				return err
			}
			if buf.Len() <= most {
				p.Data, p.MIMEType = buf.Bytes(), "image/png"
				return nil
			}
		}
		flat := onWhite(small)
		for _, quality := range []int{85, 65} {
			buf.Reset()
			if err := jpeg.Encode(&buf, flat, &jpeg.Options{Quality: quality}); err != nil {
				return err
			}
			if buf.Len() <= most {
				p.Data, p.MIMEType = buf.Bytes(), "image/jpeg"
				return nil
			}
		}
	}
	return fmt.Errorf("%w: it cannot be scaled down enough", errTooLarge)
}

// scaled returns img with no side longer than edge.
func scaled(img image.Image, edge int) image.Image {
	b := img.Bounds()
	w, h := b.Dx(), b.Dy()
	long := max(w, h)
	if long <= edge {
		return img
	}
	dst := image.NewRGBA(image.Rect(0, 0, max(1, w*edge/long), max(1, h*edge/long)))
	draw.BiLinear.Scale(dst, dst.Bounds(), img, b, draw.Src, nil)
	return dst
}

// onWhite draws an image with transparency on white; JPEG would make it black.
func onWhite(img image.Image) image.Image {
	if o, ok := img.(interface{ Opaque() bool }); ok && o.Opaque() {
		return img
	}
	dst := image.NewRGBA(img.Bounds())
	draw.Draw(dst, dst.Bounds(), image.NewUniform(color.White), image.Point{}, draw.Src)
	draw.Draw(dst, dst.Bounds(), img, img.Bounds().Min, draw.Over)
	return dst
}
