package files_test

import (
	"bytes"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"strconv"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/tools/toolstest"
	"github.com/gajae-code/gjc/providers"
)

// pictureOf returns a picture in a format.
func pictureOf(t testing.TB, format string, w, h int) string {
	t.Helper()
	img := image.NewPaletted(image.Rect(0, 0, w, h), color.Palette{color.White, color.Black})
	var b bytes.Buffer
	var err error
	switch format {
	case "png":
		err = png.Encode(&b, img)
	case "jpeg":
		err = jpeg.Encode(&b, img, nil)
	case "gif":
		err = gif.Encode(&b, img, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// webpDot is a one-pixel picture.
const webpDot = "RIFF\x1a\x00\x00\x00WEBPVP8L\x0d\x00\x00\x00\x2f\x00\x00\x00\x10\x07\x10\x11\x11\x88\x88\xfe\x07\x00"

func TestReadImage(t *testing.T) {
	dot := pictureOf(t, "png", 4, 3)
	// The header says 60,000 x 60,000 pixels, with a correct checksum.
	bomb := []byte(dot)
	copy(bomb[16:], "\x00\x00\xEA\x60\x00\x00\xEA\x60")
	sum := crc32.ChecksumIEEE(bomb[12:29])
	copy(bomb[29:], []byte{byte(sum >> 24), byte(sum >> 16), byte(sum >> 8), byte(sum)})
	w := toolstest.NewWorld(t, map[string]string{
		"a.png": dot, "b": pictureOf(t, "jpeg", 4, 3), "c.gif": pictureOf(t, "gif", 4, 3), "d.webp": webpDot,
		"riff.wav": "RIFF\x00\x00\x00\x00WAVExx",
		"huge.png": dot + strings.Repeat("\x00", 20<<20), "bomb.png": string(bomb), "half.png": dot[:len(dot)-20],
		"large.png": pictureOf(t, "png", 3000, 1500),
	})
	w.Model.Images = true
	for name, mime := range map[string]string{"a.png": "image/png", "b": "image/jpeg", "c.gif": "image/gif", "d.webp": "image/webp"} {
		res := toolstest.Run(t, w, "read", toolstest.Input{"path": name})
		img := providers.Image{MIMEType: mime, Data: []byte(w.Disk(t, name))}
		toolstest.Same(t, name, res.Images, []providers.Image{img})
		toolstest.Same(t, name, res.Content, []agent.Content{agent.ImageContent{Image: img}})
		if !strings.Contains(res.Text, name) || !strings.Contains(res.Text, mime) {
			t.Errorf("%s: %q", name, res.Text)
		}
	}
	for name, want := range map[string]string{
		"huge.png":  "an image of 20 MiB; the limit is 20 MiB",
		"riff.wav":  "the file is binary, not text",
		"a.png:1-2": "the file is binary, not text",
		"bomb.png":  "60000 x 60000 pixels",
		"half.png":  "the image is damaged",
	} {
		if err := toolstest.Fails(t, w, "read", toolstest.Input{"path": name}); !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for api, want := range map[string]string{"anthropic-messages": "1568 x 784", "openai-responses": "2048 x 1024", "other": "2000 x 1000"} {
		w.Model.API = api
		res := toolstest.Run(t, w, "read", toolstest.Input{"path": "large.png"})
		config, err := png.DecodeConfig(bytes.NewReader(res.Images[0].Data))
		if err != nil || !strings.Contains(res.Text, "3000 x 1500 pixels") || !strings.Contains(res.Text, "image/png, "+want+" pixels") {
			t.Errorf("%s: %v, %q", api, err, res.Text)
		}
		if got := strconv.Itoa(config.Width) + " x " + strconv.Itoa(config.Height); got != want {
			t.Errorf("%s: %s", api, got)
		}
	}
	// A model without image input receives a note instead with each request: a later model may see the picture.
	w.Model.Images = false
	res := toolstest.Run(t, w, "read", toolstest.Input{"path": "a.png"})
	if len(res.Images) != 1 || len(res.Content) != 1 {
		t.Errorf("%+v", res)
	}
}
