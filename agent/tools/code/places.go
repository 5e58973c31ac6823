package code

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/toolkit"
	"github.com/gajae-code/gjc/agent/toolkit/edits"
	"github.com/gajae-code/gjc/lsp"
)

// places writes the places that servers report, and collects those that an editor can follow.
type places struct {
	call *agent.Call
	// given is the path of the file that the call names.
	given string
	// texts holds the files that were read so far; nil for one that cannot be read.
	texts    map[string]*lsp.Text
	followed []agent.Location
}

// place is a site in the form for people.
type place struct {
	// path is absolute. name is its displayed form: relative inside the working directory, absolute elsewhere, and a URI for
	// anything but a file.
	path, name string
	// at is zero for a whole file.
	at lsp.Place
}

func (p *place) String() string {
	if p.at.Line == 0 {
		return p.name
	}
	return fmt.Sprintf("%s:%d:%d", p.name, p.at.Line, p.at.Column)
}

// text returns a file's text as the editor shows it. It does not read files outside the roots, and files with secrets, because the user
// was not asked about them.
func (p *places) text(ctx context.Context, path string) *lsp.Text {
	if text, known := p.texts[path]; known {
		return text
	}
	var text *lsp.Text
	if toolkit.Inside(p.call, path) && (path == p.given || p.call.Readable == nil || p.call.Readable(path)) {
		if file, err := edits.OpenText(ctx, p.call, path); err == nil {
			text = lsp.NewText(file.Text)
		}
	}
	if p.texts == nil {
		p.texts = make(map[string]*lsp.Text)
	}
	p.texts[path] = text
	return text
}

// place converts a site. Columns count characters, or the server's units if the text is unknown.
func (p *places) place(ctx context.Context, s site) place {
	out := place{name: s.uri, at: lsp.Place{Line: int(s.start.Line) + 1, Column: int(s.start.Character) + 1}}
	if s.whole {
		out.at = lsp.Place{}
	}
	path, err := pathOf(s.uri)
	if err != nil {
		return out
	}
	out.path, out.name = path, toolkit.Display(&p.call.Workspace, path)
	if text := p.text(ctx, path); text != nil && !s.whole {
		out.at = lsp.NewPlace(text, s.start, s.encoding)
	}
	return out
}

// follow adds a place to those that the editor can follow.
func (p *places) follow(at *place) {
	if at.path == "" || len(p.followed) >= edits.MaxFollowed {
		return
	}
	l := agent.Location{Path: at.path, Line: at.at.Line}
	if !slices.Contains(p.followed, l) {
		p.followed = append(p.followed, l)
	}
}

// merge converts sites without duplicates, ordered by file and line.
func (p *places) merge(ctx context.Context, sites []site) []place {
	seen := make(map[string]bool, len(sites))
	var list []place
	for _, s := range sites {
		at := p.place(ctx, s)
		if key := at.String(); !seen[key] {
			seen[key] = true
			list = append(list, at)
		}
	}
	slices.SortStableFunc(list, func(a, b place) int {
		return cmp.Or(strings.Compare(a.name, b.name), cmp.Compare(a.at.Line, b.at.Line), cmp.Compare(a.at.Column, b.at.Column))
	})
	return list
}

// contextLines is the number of lines shown before and after a place.
const contextLines = 1

// show writes a place and the lines around it.
func (p *places) show(ctx context.Context, b *strings.Builder, at *place) {
	fmt.Fprintf(b, "%s\n", at)
	p.follow(at)
	if at.path == "" || at.at.Line == 0 {
		return
	}
	text := p.text(ctx, at.path)
	if text == nil {
		return
	}
	last := text.Lines()
	if text.Line(last-1) == "" {
		last--
	}
	for n := max(at.at.Line-contextLines, 1); n <= min(at.at.Line+contextLines, last); n++ {
		fmt.Fprintf(b, "  %d: %s\n", n, toolkit.CutLine(text.Line(n-1), toolkit.MaxShownColumns))
	}
}
