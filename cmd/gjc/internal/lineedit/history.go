package lineedit

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/lockedfile"
)

// History has the lines that were entered, the oldest first. The zero value keeps them only in memory.
type History struct {
	lines []string
	file  *lockedfile.File // nil for none
}

// Bounds of a history: lines, and bytes of its file. Longer lines than maxLine are not remembered.
const (
	maxLines   = 1000
	maxHistory = 512 << 10
	maxLine    = 32 << 10
)

// OpenHistory reads the history in a file, which need not exist and which other processes may use: a JSON string on each line. Only the user
// can read the file. After an error the history is kept in memory.
func OpenHistory(path string) (*History, error) {
	file := lockedfile.New(path)
	data, err := file.Read()
	if err != nil {
		return new(History), fmt.Errorf("reading the history: %w", err)
	}
	return &History{lines: parseHistory(data), file: file}, nil
}

// parseHistory returns the lines in a file's content. It skips what is none.
func parseHistory(data []byte) []string {
	var lines []string
	for text := range strings.Lines(string(data[max(0, len(data)-maxHistory):])) {
		var line string
		if jsonx.Unmarshal([]byte(text), &line) == nil {
			lines = remember(lines, line)
		}
	}
	return lines
}

// remember appends a line, unless it is empty, too long or the same as the last one.
func remember(lines []string, line string) []string {
	if strings.TrimSpace(line) == "" || len(line) > maxLine || len(lines) > 0 && lines[len(lines)-1] == line {
		return lines
	}
	lines = append(lines, line)
	return slices.Delete(lines, 0, max(0, len(lines)-maxLines))
}

// Add remembers a line, in the file too.
func (h *History) Add(ctx context.Context, line string) error {
	h.lines = remember(h.lines, line)
	if h.file == nil {
		return nil
	}
	err := h.file.Change(ctx, func(data []byte) ([]byte, error) {
		before := parseHistory(data)
		after := remember(before, line)
		var texts []string
		size := 0
		for _, line := range slices.Backward(after) {
			text, err := jsonx.Marshal(line)
			if err != nil {
				return nil, err
			}
			if size += len(text) + 1; size > maxHistory {
				break
			}
			texts = append(texts, string(text)+"\n")
		}
		slices.Reverse(texts)
		return []byte(strings.Join(texts, "")), nil
	})
	if err != nil {
		return fmt.Errorf("writing the history: %w", err)
	}
	return nil
}
