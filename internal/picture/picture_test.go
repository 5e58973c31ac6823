package picture

import (
	"bytes"
	"errors"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"math/rand/v2"
	"testing"

	"golang.org/x/image/bmp"
)

// noise is an image that does not compress.
func noise(w, h int, alpha bool) image.Image {
	r := rand.New(rand.NewPCG(1, 2))
	img := image.NewNRGBA(image.Rect(0, 0, w, h))
	for i := range img.Pix {
		img.Pix[i] = byte(r.Uint32())
		if i%4 == 3 && !alpha {
			img.Pix[i] = 255
		}
	}
	return img
}

func encode(t testing.TB, img image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestFit_Bytes(t *testing.T) {
	for _, alpha := range []bool{false, true} {
		data := encode(t, noise(300, 200, alpha))
		for _, most := range []int{150_000, 60_000, 10_000} {
			p, err := Fit(data, Limits{Bytes: most})
			if err != nil {
				t.Fatal(err)
			}
			config, _, err := image.DecodeConfig(bytes.NewReader(p.Data))
			if err != nil || len(p.Data) > most || !p.Changed || config.Width != p.Width || config.Height != p.Height {
				t.Errorf("%d: %v, %d bytes of %s", most, err, len(p.Data), p.MIMEType)
			}
		}
	}
	if _, err := Fit(encode(t, noise(300, 200, false)), Limits{Bytes: 10}); !errors.Is(err, errTooLarge) {
		t.Errorf("%v", err)
	}
}

// Transparent areas become white, not black.
func TestFit_Alpha(t *testing.T) {
	img := onWhite(image.NewNRGBA(image.Rect(0, 0, 2, 2)))
	if r, _, _, _ := img.At(0, 0).RGBA(); r != 0xFFFF {
		t.Errorf("%v", img.At(0, 0))
	}
}

func TestFit_Edge(t *testing.T) {
	tall := image.NewGray(image.Rect(0, 0, 1, 5000))
	p, err := Fit(encode(t, tall), Limits{Edge: 100})
	if err != nil || p.Width != 1 || p.Height != 100 {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestFit_BMP(t *testing.T) {
	img := image.NewRGBA(image.Rect(0, 0, 3, 2))
	img.Set(1, 1, color.RGBA{255, 0, 0, 255})
	var b bytes.Buffer
	if err := bmp.Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	if Type(b.Bytes()) != "image/bmp" {
		t.Fatal("not known")
	}
	p, err := Fit(b.Bytes(), Limits{})
	if err != nil || p.MIMEType != "image/png" || p.Width != 3 {
		t.Fatalf("%+v, %v", p, err)
	}
	if Type([]byte("BM, as the text begins, is no picture")) != "" {
		t.Error("a text is taken for a picture")
	}
}

func FuzzFit(f *testing.F) {
	small := image.NewGray(image.Rect(0, 0, 4, 4))
	f.Add(encode(f, small))
	var b bytes.Buffer
	if err := jpeg.Encode(&b, small, nil); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add([]byte("RIFF\x1a\x00\x00\x00WEBPVP8L\x0d\x00\x00\x00\x2f\x00\x00\x00\x10\x07\x10\x11\x11\x88\x88\xfe\x07\x00"))
	f.Add([]byte("GIF89a\x01\x00\x01\x00\x80\x00\x00\x00\x00\x00\xff\xff\xff,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;"))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := Fit(data, Limits{Edge: 64, Bytes: 10_000})
		if err != nil {
			return
		}
		if len(p.Data) > 10_000 || max(p.Width, p.Height) > 64 {
			t.Errorf("%d bytes, %d x %d", len(p.Data), p.Width, p.Height)
		}
	})
}
