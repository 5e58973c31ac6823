package hooks

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/gajae-code/gjc/internal/trust"
)

// shownCommand formats a command so that the boundaries of its words are visible.
func shownCommand(words []string) string {
	shown := make([]string, len(words))
	for i, word := range words {
		if shown[i] = word; word == "" || strings.ContainsFunc(word, func(r rune) bool { return !unicode.IsGraphic(r) || strings.ContainsRune(" \t\"'`$&|;<>()*?[]#~\\", r) }) {
			shown[i] = strconv.Quote(word)
		}
	}
	return strings.Join(shown, " ")
}

// program returns the path of the hook's program: an absolute path, one relative to the root or the agent directory, or
// a name on PATH.
func (h *Hook) program(r Runner) (string, error) {
	name := h.Command[0]
	switch {
	case filepath.IsAbs(name):
		return name, nil
	case strings.ContainsRune(name, '/') || strings.ContainsRune(name, filepath.Separator):
		return filepath.Join(h.Dir, filepath.FromSlash(name)), nil
	default:
		return r.LookPath(name)
	}
}

// scripts adds to a subject the files of the root that commands name. Hooks whose files cannot be read are omitted.
func (s *Set) scripts(sub *trust.Subject, hooks []*Hook) []*Hook {
	return slices.DeleteFunc(hooks, func(h *Hook) bool {
		if err := sub.AddScripts(h.Command); err != nil {
			s.Problems = append(s.Problems, fmt.Sprintf("%s: %v; the hook is ignored", h.At, err))
			return true
		}
		return false
	})
}
