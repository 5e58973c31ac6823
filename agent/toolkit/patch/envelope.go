package patch

import (
	"strings"
	"unicode"
)

// Op is the operation of a section of an envelope.
type Op int

// The operations.
const (
	Update Op = iota
	Add
	Delete
)

// File holds the operation on one file.
type File struct {
	Op   Op
	Path string
	// MoveTo is the new path of an updated file, or "".
	MoveTo string
	// Content is the text of an added file.
	Content string
	// Hunks are the changes of an updated file. A file that is only moved has none.
	Hunks []Hunk
}

// The marker lines of the envelope.
const (
	beginPatch = "*** Begin Patch"
	endPatch   = "*** End Patch"
	addFile    = "*** Add File: "
	deleteFile = "*** Delete File: "
	updateFile = "*** Update File: "
	moveTo     = "*** Move to: "
	endOfFile  = "*** End of File"
)

// ParseEnvelope parses the input of apply_patch.
func ParseEnvelope(input string) ([]File, error) {
	p := envelope{lines: splitPatch(unwrap(input))}
	for p.at < len(p.lines) && strings.TrimSpace(p.lines[p.at]) == "" {
		p.at++
	}
	if p.at == len(p.lines) || strings.TrimSpace(p.lines[p.at]) != beginPatch {
		return nil, syntaxError(p.at+1, "the first line must be %q", beginPatch)
	}
	p.at++
	p.unindentEnd()
	var files []File
	for p.at < len(p.lines) {
		line := p.lines[p.at]
		switch trimRight(line) {
		case endPatch:
			for _, rest := range p.lines[p.at+1:] {
				if strings.TrimSpace(rest) != "" {
					return nil, syntaxError(p.at+2, "nothing may follow %q", endPatch)
				}
			}
			if len(files) == 0 {
				return nil, syntaxError(p.at+1, "the patch does nothing")
			}
			return files, nil
		case "":
			p.at++
		default:
			f, err := p.file(line)
			if err != nil {
				return nil, err
			}
			files = append(files, *f)
		}
	}
	return nil, syntaxError(len(p.lines), "the last line must be %q; was the patch cut off?", endPatch)
}

// unwrap removes wrappers that some models put around a patch: a here-document or a code fence.
func unwrap(input string) string {
	lines := strings.Split(strings.TrimSpace(input), "\n")
	first, last := strings.TrimSpace(lines[0]), strings.TrimSpace(lines[len(lines)-1])
	fence := strings.HasPrefix(first, "```") && last == "```"
	_, tag, here := strings.Cut(first, "<<")
	here = here && strings.Trim(tag, `'" `) != "" && last == strings.Trim(tag, `'" `)
	if len(lines) > 2 && (fence || here) {
		return strings.Join(lines[1:len(lines)-1], "\n")
	}
	return input
}

// envelope is the parser state of an envelope.
type envelope struct {
	lines []string
	at    int
}

// trimRight removes white space from the end of a line. White space before a marker is kept: a line that begins with a space is
// context.
func trimRight(line string) string { return strings.TrimRightFunc(line, unicode.IsSpace) }

// unindentEnd removes the indentation of the last line if it is then an end marker. Nothing else can end a patch.
func (p *envelope) unindentEnd() {
	for i := len(p.lines) - 1; i >= p.at; i-- {
		if line := strings.TrimSpace(p.lines[i]); line != "" {
			if line == endPatch {
				p.lines[i] = line
			}
			return
		}
	}
}

func (p *envelope) file(line string) (*File, error) {
	start := p.at + 1
	if path, ok := strings.CutPrefix(line, addFile); ok {
		p.at++
		f := &File{Op: Add, Path: strings.TrimSpace(path)}
		var b strings.Builder
		blank := 0 // blank lines without a + since the last line with one: they belong to the text only if more of it follows
		for ; p.at < len(p.lines) && !p.section(); p.at++ {
			l := p.lines[p.at]
			text, ok := strings.CutPrefix(l, "+")
			if !ok && strings.TrimSpace(l) != "" {
				return nil, syntaxError(p.at+1, "each line of an added file must begin with +; this one is %q", short(l))
			}
			switch {
			case ok:
				b.WriteString(strings.Repeat("\n", blank) + text + "\n")
				blank = 0
			case b.Len() > 0:
				blank++
			}
		}
		f.Content = b.String()
		return f, p.named(f, start)
	}
	if path, ok := strings.CutPrefix(line, deleteFile); ok {
		p.at++
		f := &File{Op: Delete, Path: strings.TrimSpace(path)}
		return f, p.named(f, start)
	}
	path, ok := strings.CutPrefix(line, updateFile)
	if !ok {
		return nil, syntaxError(start, "unexpected %q; want %q, %q or %q", short(line), strings.TrimSpace(addFile), strings.TrimSpace(updateFile), strings.TrimSpace(deleteFile))
	}
	p.at++
	f := &File{Path: strings.TrimSpace(path)}
	if p.at < len(p.lines) {
		if to, ok := strings.CutPrefix(p.lines[p.at], moveTo); ok {
			f.MoveTo = strings.TrimSpace(to)
			p.at++
			if f.MoveTo == "" {
				return nil, syntaxError(p.at, "the path is missing")
			}
		}
	}
	if err := p.hunks(f); err != nil {
		return nil, err
	}
	if len(f.Hunks) == 0 && f.MoveTo == "" {
		return nil, syntaxError(start, "the update of %s has no hunk; a hunk begins with @@", f.Path)
	}
	return f, p.named(f, start)
}

func (*envelope) named(f *File, line int) error {
	if f.Path == "" {
		return syntaxError(line, "the path is missing")
	}
	return nil
}

// section reports whether the line begins something other than a hunk.
func (p *envelope) section() bool {
	l := p.lines[p.at]
	return trimRight(l) == endPatch || strings.HasPrefix(l, addFile) || strings.HasPrefix(l, deleteFile) || strings.HasPrefix(l, updateFile)
}

func (p *envelope) hunks(f *File) error {
	var h *Hunk
	var raw []string
	end := func() error {
		if h == nil {
			return nil
		}
		h.trimTail(raw)
		if len(h.Lines) == 0 {
			return syntaxError(p.at, "hunk %d of %s is empty", h.Number, f.Path)
		}
		f.Hunks = append(f.Hunks, *h)
		h, raw = nil, nil
		return nil
	}
	for ; p.at < len(p.lines) && !p.section(); p.at++ {
		line := p.lines[p.at]
		switch {
		case strings.HasPrefix(line, "@@"):
			if h == nil || len(h.Lines) > 0 { // several in a row narrow down one position
				if err := end(); err != nil {
					return err
				}
				h = &Hunk{Number: len(f.Hunks) + 1}
			}
			if m := hunkHeader().FindStringSubmatch(line); m != nil && m[1] != "" {
				h.header(line) // the header of a unified diff
			} else if anchor := strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(line, "@@"), " "), " @@"); strings.TrimSpace(anchor) != "" {
				h.Anchors = append(h.Anchors, anchor)
			}
		case trimRight(line) == endOfFile:
			if h == nil {
				return syntaxError(p.at+1, "%q follows a hunk", endOfFile)
			}
			h.AtEnd = true
			if err := end(); err != nil {
				return err
			}
		case h == nil && strings.TrimSpace(line) == "":
		default:
			if h == nil {
				h = &Hunk{Number: len(f.Hunks) + 1}
			}
			if !h.body(line) {
				return syntaxError(p.at+1, "%q must begin with a space, - or +", short(line))
			}
			raw = append(raw, line)
		}
	}
	return end()
}
