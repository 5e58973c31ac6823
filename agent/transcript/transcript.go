// Package transcript exports a conversation for people and other programs: as a self-contained HTML page, as Markdown,
// or as JSON. It shows what an editor has shown, as reported by [agent.Replay].
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

// Format is an output format. Its text is the file name extension without the dot.
type Format string

// The formats.
const (
	HTML     Format = "html"
	Markdown Format = "md"
	JSON     Format = "json"
)

// ParseFormat parses the name of a format.
func ParseFormat(name string) (Format, error) {
	switch strings.ToLower(name) {
	case "html", "htm":
		return HTML, nil
	case "md", "markdown":
		return Markdown, nil
	case "json":
		return JSON, nil
	default:
		return "", fmt.Errorf("unknown format %q; the formats are html, md and json", name)
	}
}

// FormatOf returns the format for a file name, or else the fallback.
func FormatOf(path string, fallback Format) Format {
	f, err := ParseFormat(strings.TrimPrefix(filepath.Ext(path), "."))
	if err != nil {
		return fallback
	}
	return f
}

// Session is a conversation to write. All fields except Branch are optional; empty ones are omitted.
type Session struct {
	ID string
	// Title is the heading. If empty, "Session".
	Title string
	Cwd   string
	// Directories are the additional roots.
	Directories []string
	// Parent is the session that this one was forked from.
	Parent string
	// Model is the current model, as "provider/id".
	Model string
	// Created is the time of creation. If zero, the time of the first entry.
	Created time.Time
	// Branch is the conversation, as returned by [agent.Log.Branch].
	Branch []sessions.Entry
	// Tools describe calls of which only the input is known; see [agent.ReplayOptions].
	Tools []agent.Tool
	// Hide replaces secrets in a text. It is applied to all texts of the session.
	Hide func(text string) string
	// Models returns the context window and the prices of a model "provider/id".
	Models func(ref string) (providers.ModelInfo, bool)
}

// Stored returns the session of a log. The log may be a view.
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

// Write writes the session to w in a stream: it keeps one entry in memory at a time. It returns w's first error.
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
		return fmt.Errorf("unknown format %q; the formats are html, md and json", format)
	}
	p.begin(d)
	d.each(func(it *item) bool {
		p.item(d, it)
		// A buffered writer keeps its first error and returns it from each write.
		_, err := out.Write(nil)
		return err == nil
	})
	p.end(d)
	return out.Flush()
}

// page writes a document in one format. The writer's error is reported at the end.
type page interface {
	begin(d *document)
	item(d *document, it *item)
	end(d *document)
}
