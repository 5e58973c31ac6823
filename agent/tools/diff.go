package tools

import (
	"fmt"
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

// maxDiff bounds in bytes the diff that the model gets.
const maxDiff = 8 << 10

// shortDiff is a unified diff without the file header, within maxDiff.
func shortDiff(name, from, to string) string {
	diff := udiff.Unified(name, name, from, to)
	if _, body, ok := strings.Cut(diff, "\n+++ "); ok {
		_, diff, _ = strings.Cut(body, "\n")
	}
	if len(diff) <= maxDiff {
		return diff
	}
	cut := cutBytes(diff, maxDiff)
	cut = cut[:strings.LastIndexByte(cut, '\n')+1]
	return cut + fmt.Sprintf("… %s left out of the diff", count(strings.Count(diff[len(cut):], "\n"), "line"))
}
