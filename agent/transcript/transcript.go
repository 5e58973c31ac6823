// Package transcript writes a conversation down for people and for other programs: as one HTML page that needs nothing
// else, as Markdown, or as JSON. It shows what an editor was shown, as [agent.Replay] tells it.
package transcript

import (
	"bufio"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
)

// Format is what a transcript is written as. Its text is the file name's extension without the dot.
type Format string

// The formats.
const (
	HTML     Format = "html"
	Markdown Format = "md"
	JSON     Format = "json"
)

// ParseFormat reads the name of a format.
func ParseFormat(name string) (Format, error) {
	switch strings.ToLower(name) {
	case "html", "htm":
		return HTML, nil
	case "md", "markdown":
		return Markdown, nil
	case "json":
		return JSON, nil
	default:
		return "", fmt.Errorf("unknown format %q; there are html, md and json", name)
	}
}

// FormatOf returns the format that a file's name asks for, else the fallback.
func FormatOf(path string, fallback Format) Format {
	f, err := ParseFormat(strings.TrimPrefix(filepath.Ext(path), "."))
	if err != nil {
		return fallback
	}
	return f
}

// Session is a conversation to write. All but Branch is optional; what is empty is not told.
type Session struct {
	ID string
	// Title is the heading. If empty, "Session".
	Title string
	Cwd   string
	// Directories are the further roots.
	Directories []string
	// Parent is what the session was forked from.
	Parent string
	// Model is the one that answers now, as "provider/id".
	Model string
	// Created is when it began. If zero, the time of the first entry.
	Created time.Time
	// Branch is the conversation, as of [agent.Log.Branch].
	Branch []sessions.Entry
	// Tools say how calls looked of which only the input is known; see [agent.ReplayOptions].
	Tools []agent.Tool
	// Models tells what is known of a model called "provider/id": its window and its prices.
	Models func(ref string) (providers.ModelInfo, bool)
}

// Stored returns the session that a log holds. The log may be a view.
func Stored(l *sessions.Log) (*Session, error) {
	branch, err := l.Branch()
	if err != nil {
		return nil, err
	}
	h, state := l.Header(), l.State()
	return &Session{
		ID: h.ID, Title: state.Title, Cwd: h.Cwd, Directories: state.Directories, Parent: h.ParentSession,
		Model: state.Model, Created: h.Time, Branch: branch,
	}, nil
}

// Write writes the session to w as it goes: it holds one entry's part at a time. The error is w's first one.
func Write(w io.Writer, s *Session, format Format) error {
	d := newDocument(s)
	out := bufio.NewWriterSize(w, 64<<10)
	var p page
	switch format {
	case HTML:
		p = &htmlPage{writer: out}
	case Markdown:
		p = &markdownPage{writer: out}
	case JSON:
		p = &jsonPage{writer: out}
	default:
		return fmt.Errorf("unknown format %q; there are html, md and json", format)
	}
	p.begin(d)
	d.each(func(it *item) bool {
		p.item(d, it)
		// A buffered writer keeps its first error and tells it at each write.
		_, err := out.Write(nil)
		return err == nil
	})
	p.end(d)
	return out.Flush()
}

// page is one way to write a document. What its writer complains about is told at the end.
type page interface {
	begin(d *document)
	item(d *document, it *item)
	end(d *document)
}
