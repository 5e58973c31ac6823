// Package ipynb formats Jupyter notebooks as text, with the outputs of their cells, and edits single cells.
package ipynb

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// Limits of the outputs of a cell.
const (
	maxOutputLines = 40
	maxOutput      = 4 << 10 // bytes
)

// errNotNotebook reports a file that is not a notebook of version 4 or later.
var errNotNotebook = errors.New("not a notebook")

type notebook struct {
	Cells  *[]cell `json:"cells"`
	Format int     `json:"nbformat"`
}

type cell struct {
	Type    string    `json:"cell_type"`
	Source  jsonx.Raw `json:"source"`
	Count   *int      `json:"execution_count"`
	Outputs []output  `json:"outputs"`
}

type output struct {
	Type      string               `json:"output_type"`
	Name      string               `json:"name"`
	Text      jsonx.Raw            `json:"text"`
	Data      map[string]jsonx.Raw `json:"data"`
	Error     string               `json:"ename"`
	Value     string               `json:"evalue"`
	Traceback []string             `json:"traceback"`
}

// Text returns a notebook's cells as text, each after a line with its number, starting at 0, and the number of cells.
// Long outputs are truncated.
func Text(data []byte) (text string, cells int, err error) {
	var n notebook
	if err := jsonx.Unmarshal(data, &n); err != nil {
		return "", 0, fmt.Errorf("%w: %w", errNotNotebook, err)
	}
	if n.Cells == nil {
		if n.Format > 0 && n.Format < 4 {
			return "", 0, fmt.Errorf("%w of a format that is understood (it has format %d, which is older than 4)", errNotNotebook, n.Format)
		}
		return "", 0, fmt.Errorf("%w: it has no list of cells", errNotNotebook)
	}
	var b strings.Builder
	for i, c := range *n.Cells {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString("--- cell " + strconv.Itoa(i))
		if c.Type != "" {
			b.WriteString(", " + oneLine(c.Type))
		}
		if c.Count != nil {
			b.WriteString(", run " + strconv.Itoa(*c.Count))
		}
		b.WriteString(" ---\n")
		write(&b, joined(c.Source))
		for _, o := range c.Outputs {
			c.output(&b, &o)
		}
	}
	return b.String(), len(*n.Cells), nil
}

func (c *cell) output(b *strings.Builder, o *output) {
	kind, text := "output", ""
	switch o.Type {
	case "stream":
		if o.Name == "stderr" {
			kind = "stderr"
		}
		text = joined(o.Text)
	case "error":
		kind = "error"
		text = o.Error + ": " + o.Value
		if len(o.Traceback) > 0 {
			text = strings.Join(o.Traceback, "\n")
		}
	default:
		var others []string
		for mime, raw := range o.Data {
			if mime != "text/plain" {
				others = append(others, fmt.Sprintf("%s, %d bytes", oneLine(mime), len(raw)))
			}
		}
		slices.Sort(others)
		text = joined(o.Data["text/plain"])
		for _, other := range others {
			text = strings.TrimSuffix(text, "\n") + "\n(" + other + ")"
		}
		text = strings.TrimPrefix(text, "\n")
	}
	if text = strings.TrimRight(plain(text), "\n"); text == "" {
		return
	}
	b.WriteString("--- " + kind + " ---\n")
	write(b, cut(text))
}

// joined is a text that a notebook stores as a string or as a list of strings.
func joined(raw jsonx.Raw) string {
	var text string
	if jsonx.Unmarshal(raw, &text) == nil {
		return text
	}
	var parts []string
	if jsonx.Unmarshal(raw, &parts) == nil {
		return strings.Join(parts, "")
	}
	return ""
}

func write(b *strings.Builder, text string) {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	b.WriteString(text)
	if text != "" && !strings.HasSuffix(text, "\n") {
		b.WriteByte('\n')
	}
}

// cut keeps the start and the end of a long output.
func cut(text string) string {
	lines := strings.Split(text, "\n")
	if len(lines) > maxOutputLines {
		half := maxOutputLines / 2
		left := len(lines) - 2*half
		text = strings.Join(lines[:half], "\n") + fmt.Sprintf("\n… %d lines left out …\n", left) + strings.Join(lines[len(lines)-half:], "\n")
	}
	if len(text) <= maxOutput {
		return text
	}
	half := maxOutput / 2
	head, tail := strings.ToValidUTF8(text[:half], ""), strings.ToValidUTF8(text[len(text)-half:], "")
	return head + fmt.Sprintf("\n… %d bytes left out …\n", len(text)-len(head)-len(tail)) + tail
}

// plain removes terminal colors.
func plain(text string) string {
	if !strings.Contains(text, "\x1b") {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != 0x1b || i+1 >= len(text) || text[i+1] != '[' {
			b.WriteByte(text[i])
			continue
		}
		for i += 2; i < len(text) && (text[i] < '@' || text[i] > '~'); i++ {
		}
	}
	return b.String()
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
