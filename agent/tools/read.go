package tools

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/gajae-code/gjc/agent"
)

//go:embed read.md
var readText string

// Limits of the read tool.
const (
	// readLines is how many lines come when none are asked for.
	readLines = 300
	// maxReadFile bounds a text file in bytes. Above it only a command can look inside.
	maxReadFile = 64 << 20
	// maxImage bounds a picture in bytes.
	maxImage = 20 << 20
)

type readInput struct {
	Path string `json:"path" jsonschema:"file or directory, with an optional selector: a.go, a.go:40-60, a.go:40+20, a.go:raw"`
}

func read() agent.Tool {
	return agent.NewTool(agent.ToolFuncs[readInput]{
		Name: "read", Description: markdown(readText), Kind: agent.KindRead,
		Plan: planRead, Run: runRead,
	})
}

const artifactScheme = "artifact://"

// target is what a read path names.
type target struct {
	// path is absolute, or an artifact's URL.
	path string
	sel  selector
}

func (t *target) artifact() bool { return strings.HasPrefix(t.path, artifactScheme) }

// resolveTarget takes a path with its selector apart. A file that is really called "a:3" wins over line 3 of "a".
func resolveTarget(ctx context.Context, call *agent.Call, input string) (*target, error) {
	if strings.TrimSpace(input) == "" {
		return nil, fmt.Errorf("%w for read: path is empty", agent.ErrBadInput)
	}
	base, sel, err := splitSelector(input)
	if strings.HasPrefix(input, artifactScheme) {
		return &target{base, sel}, err
	}
	if scheme, _, ok := strings.Cut(input, "://"); ok {
		return nil, fmt.Errorf("%w for read: %s:// addresses cannot be read; path must be a file or directory", agent.ErrBadInput, scheme)
	}
	if base != input || err != nil {
		whole := call.Workspace.Resolve(input)
		if _, serr := call.FS.Stat(ctx, whole); serr == nil {
			return &target{path: whole}, nil
		}
	}
	if err != nil {
		return nil, err
	}
	return &target{call.Workspace.Resolve(base), sel}, nil
}

func planRead(ctx context.Context, call *agent.Call, in *readInput) (*agent.CallPlan, error) {
	t, err := resolveTarget(ctx, call, in.Path)
	if err != nil {
		return nil, err
	}
	if t.artifact() {
		return &agent.CallPlan{Title: "Read " + t.path}, nil
	}
	loc := agent.Location{Path: t.path}
	if len(t.sel.ranges) > 0 {
		loc.Line = t.sel.ranges[0].first
	}
	return &agent.CallPlan{
		Title:     "Read " + display(&call.Workspace, t.path),
		Locations: []agent.Location{loc},
		Effects:   []agent.Effect{{Action: agent.ActionRead, Path: t.path}},
	}, nil
}

func runRead(ctx context.Context, call *agent.Call, in *readInput) (*agent.Result, error) {
	t, err := resolveTarget(ctx, call, in.Path)
	if err != nil {
		return nil, err
	}
	if t.artifact() {
		return readArtifact(ctx, call, t)
	}
	name := display(&call.Workspace, t.path)
	info, err := call.FS.Stat(ctx, t.path)
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s cannot be read: %w", name, reason(err))
	case err != nil: // it may still be a new file in the editor that was never saved
	case info.IsDir():
		return listDirectory(ctx, call, t.path)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is a device, a pipe or a socket, not a file that can be read", name)
	case info.Size() > maxReadFile:
		return nil, fmt.Errorf("%s has %s, too much to read at once; look for parts of it with search, or with a command", name, size(info.Size()))
	}
	data, err := call.FS.ReadFile(ctx, t.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, missing(ctx, call, t.path)
	}
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", name, reason(err))
	}
	if mime := imageType(data); mime != "" && !t.sel.raw && len(t.sel.ranges) == 0 {
		return readImage(name, mime, data)
	}
	return showText(name, data, t.sel)
}

func readArtifact(ctx context.Context, call *agent.Call, t *target) (*agent.Result, error) {
	if call.Artifacts == nil {
		return nil, fmt.Errorf("%s: this session keeps no outputs", t.path)
	}
	data, err := call.Artifacts.Get(ctx, t.path)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", t.path, err)
	}
	return showText(t.path, data, t.sel)
}

// showText is the result for text: the lines that were asked for, within the limits.
func showText(name string, data []byte, sel selector) (*agent.Result, error) {
	text, enc, err := decodeText(data)
	var notes []string
	switch {
	case errors.Is(err, errNotUTF8):
		notes = append(notes, "The file is not UTF-8; characters that could not be read are shown as \uFFFD.")
	case err != nil:
		return nil, fmt.Errorf("%s cannot be shown: %w (%s); a command such as file or xxd can tell more", name, err, size(int64(len(data))))
	case enc == littleUTF16 || enc == bigUTF16:
		notes = append(notes, "The file is "+enc.String()+".")
	}
	if text == "" {
		return &agent.Result{Text: "(" + path.Base(name) + " is empty)"}, nil
	}
	w := window{name: name, lines: splitLines(lineFeeds(text)), raw: sel.raw}
	w.show(sel.ranges)
	notes = append(notes, w.notes...)
	return &agent.Result{Text: joinNotes(w.out.String(), notes)}, nil
}

// splitLines splits text into lines without their line ends. A line end at the end of the text opens no line.
func splitLines(text string) []string {
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// joinNotes puts remarks under a text, each in brackets on a line of its own.
func joinNotes(text string, notes []string) string {
	var b strings.Builder
	b.WriteString(strings.TrimSuffix(text, "\n"))
	for i, n := range notes {
		if i == 0 && b.Len() > 0 {
			b.WriteString("\n")
		}
		if b.Len() > 0 {
			b.WriteString("\n")
		}
		b.WriteString("[" + n + "]")
	}
	return b.String()
}
