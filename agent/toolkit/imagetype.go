package toolkit

import "github.com/gajae-code/gjc/internal/picture"

// ImageType returns the media type of a picture that models accept without conversion, or "".
func ImageType(data []byte) string {
	if mime := picture.Type(data); mime != "image/bmp" {
		return mime
	}
	return ""
}
