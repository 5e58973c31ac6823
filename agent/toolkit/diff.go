package toolkit

import (
	"fmt"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"github.com/gajae-code/gjc/internal/text"
)

// MaxDiff bounds the diff that the model gets, in bytes.
const MaxDiff = 8 << 10

// ShortDiff returns a unified diff without the file header, at most MaxDiff.
func ShortDiff(name, from, to string) string {
	diff := udiff.Unified(name, name, from, to)
	if _, body, ok := strings.Cut(diff, "\n+++ "); ok {
		_, diff, _ = strings.Cut(body, "\n")
	}
	if len(diff) <= MaxDiff {
		return diff
	}
	cut := CutBytes(diff, MaxDiff)
	cut = cut[:strings.LastIndexByte(cut, '\n')+1]
	return cut + fmt.Sprintf("… %s left out of the diff", text.Count(strings.Count(diff[len(cut):], "\n"), "line"))
}
