package files

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/toolkit"
	"github.com/gajae-code/gjc/agent/toolkit/edits"
	"github.com/gajae-code/gjc/internal/text"
	"github.com/gajae-code/gjc/lsp"
)

// conflictScheme begins the addresses of the conflicts that read has shown: their numbers, or * for all of them.
const conflictScheme = "conflict://"

// The contents that stand for a side of a conflict.
const (
	oursSide   = "@ours"
	baseSide   = "@base"
	theirsSide = "@theirs"
	bothSides  = "@both"
)

// knownConflict is a conflict that read has shown.
type knownConflict struct {
	path string
	// text is the text of the conflict with its markers, and nth its number among those of the file with the same text.
	text string
	nth  int
}

// knownConflicts are the conflicts that read has shown in a session. Their numbers count from 1.
type knownConflicts struct {
	mu  sync.Mutex // guards all
	all []knownConflict
}

func conflictsOf(call *agent.Call) *knownConflicts {
	return agent.Value(call.Values, func() *knownConflicts { return new(knownConflicts) })
}

// number returns the numbers of the conflicts of a file. One that is known keeps its number.
func (k *knownConflicts) number(path string, lines []string, found []conflict) []int {
	k.mu.Lock()
	defer k.mu.Unlock()
	numbers := make([]int, len(found))
	for i, nth := range repeated(lines, found) {
		c := knownConflict{path, found[i].text(lines), nth}
		at := slices.Index(k.all, c)
		if at < 0 {
			at = len(k.all)
			k.all = append(k.all, c)
		}
		numbers[i] = at + 1
	}
	return numbers
}

// pick returns the conflicts that an address names.
func (k *knownConflicts) pick(address string) ([]knownConflict, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	name := strings.TrimPrefix(address, conflictScheme)
	if name == "*" {
		return slices.Clone(k.all), nil
	}
	n, err := strconv.Atoi(name)
	if err != nil || n < 1 || n > len(k.all) {
		return nil, fmt.Errorf("%w: there is no %s; read FILE:conflicts shows the conflicts of a file with their addresses", agent.ErrBadInput, toolkit.CutLine(address, 60))
	}
	return []knownConflict{k.all[n-1]}, nil
}

// is reports whether k is conflict i of its file. nth has the number of each among those with the same text.
func (k *knownConflict) is(lines []string, found []conflict, nth []int, i int) bool {
	t := found[i].text(lines)
	only := nth[i] == 0 && !slices.ContainsFunc(found[i+1:], func(o conflict) bool { return o.text(lines) == t })
	return k.text == t && (k.nth == nth[i] || only)
}

// text returns the lines of the conflict with its markers.
func (c *conflict) text(lines []string) string { return strings.Join(lines[c.first-1:c.last], "\n") }

// repeated returns for each conflict how many before it have the same text.
func repeated(lines []string, found []conflict) []int {
	seen, nth := make(map[string]int), make([]int, len(found))
	for i := range found {
		t := found[i].text(lines)
		nth[i] = seen[t]
		seen[t]++
	}
	return nth
}

// bareLines returns the lines of a text with and without their ends.
func bareLines(text string) (raw, bare []string) {
	raw = slices.Collect(strings.Lines(text))
	for _, line := range raw {
		bare = append(bare, strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r"))
	}
	return raw, bare
}

// readConflicts is the result of read for the conflicts of a file, with their addresses.
func readConflicts(call *agent.Call, path, name, content string) *agent.Result {
	_, lines := bareLines(content)
	found, _ := findConflicts(lines)
	return showConflicts(name, lines, conflictsOf(call).number(path, lines, found))
}

// resolution replaces conflicts by other texts.
type resolution struct {
	title string
	ops   []lsp.FileOperation
	count int
}

// isConflict reports whether a path is the address of a conflict.
func isConflict(path string) bool { return strings.HasPrefix(path, conflictScheme) }

// resolve plans the replacement of the conflicts that an address names.
func resolve(ctx context.Context, call *agent.Call, address, content string) (*resolution, error) {
	if strings.ContainsRune(content, 0) {
		return nil, fmt.Errorf("%w for write: the content contains NUL bytes; write is for text", agent.ErrBadInput)
	}
	if id, side, ok := strings.Cut(strings.TrimPrefix(address, conflictScheme), "/"); ok {
		return nil, fmt.Errorf("%w for write: %s is one side of a conflict; write to %s%s, with @%s as the content to take that side", agent.ErrBadInput, address, conflictScheme, id, side)
	}
	picked, err := conflictsOf(call).pick(address)
	if err != nil {
		return nil, err
	}
	all := len(picked) != 1 || strings.HasSuffix(address, "*")
	r := &resolution{title: "Resolve " + address}
	var paths []string
	for i := range picked {
		if !slices.Contains(paths, picked[i].path) {
			paths = append(paths, picked[i].path)
		}
	}
	for _, path := range paths {
		op, n, err := resolveFile(ctx, call, path, content, slices.DeleteFunc(slices.Clone(picked), func(k knownConflict) bool { return k.path != path }))
		if err != nil {
			return nil, err
		}
		if n > 0 {
			r.ops, r.count = append(r.ops, *op), r.count+n
		}
	}
	switch {
	case r.count > 0:
		if all {
			r.title = fmt.Sprintf("Resolve %s in %s", text.Count(r.count, "conflict"), text.Count(len(r.ops), "file"))
		} else {
			r.title += " in " + toolkit.Display(&call.Workspace, r.ops[0].Path)
		}
		return r, nil
	case all:
		return nil, errors.New("no conflict is left of those that read has shown")
	default:
		name := toolkit.Display(&call.Workspace, picked[0].path)
		return nil, changedConflict(address, name)
	}
}

// changedConflict returns the error for a conflict that its file no longer has.
func changedConflict(address, name string) error {
	return fmt.Errorf("%s is no longer in %s as it was shown: it is resolved, or its lines have changed; read %s:conflicts", address, name, name)
}

// resolveFile replaces conflicts of one file, and returns how many of them it still has.
func resolveFile(ctx context.Context, call *agent.Call, path, content string, picked []knownConflict) (*lsp.FileOperation, int, error) {
	old, err := edits.OpenText(ctx, call, path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	raw, lines := bareLines(old.Text)
	found, _ := findConflicts(lines)
	nth := repeated(lines, found)
	var b strings.Builder
	done, next := 0, 0
	for i := range found {
		c := &found[i]
		if !slices.ContainsFunc(picked, func(k knownConflict) bool { return k.is(lines, found, nth, i) }) {
			continue
		}
		with, err := c.replacement(raw, content)
		if err != nil {
			return nil, 0, fmt.Errorf("%s:%d: %w", toolkit.Display(&call.Workspace, path), c.first, err)
		}
		b.WriteString(strings.Join(raw[next:c.first-1], "") + with)
		next, done = c.last, done+1
	}
	b.WriteString(strings.Join(raw[next:], ""))
	return &lsp.FileOperation{Kind: lsp.WriteFile, Path: path, Old: old.Text, New: b.String(), Edits: done}, done, nil
}

// replacement returns the text that replaces a conflict: content with the line ends of the file, or the side that it stands for.
func (c *conflict) replacement(raw []string, content string) (string, error) {
	side := func(s conflictSide) string { return strings.Join(raw[s.marker:s.end], "") }
	switch strings.TrimSpace(content) {
	case oursSide:
		return side(c.ours), nil
	case theirsSide:
		return side(c.theirs), nil
	case bothSides:
		return side(c.ours) + side(c.theirs), nil
	case baseSide:
		if c.base.marker == 0 {
			return "", errors.New("this conflict does not show its base; write the text")
		}
		return side(c.base), nil
	}
	content = toolkit.LineFeeds(content)
	if content != "" && !strings.HasSuffix(content, "\n") {
		content += "\n"
	}
	if strings.HasSuffix(raw[c.first-1], "\r\n") {
		content = strings.ReplaceAll(content, "\n", "\r\n")
	}
	if !strings.HasSuffix(raw[c.last-1], "\n") { // the file ends so
		content = strings.TrimRight(content, "\r\n")
	}
	return content, nil
}

func (r *resolution) plan(call *agent.Call) *agent.CallPlan {
	changes := &edits.Operations{Call: call, Ops: r.ops}
	return &agent.CallPlan{Title: r.title, Effects: changes.Effects(r.title), Content: changes.Preview(), Locations: changes.Places()}
}

func (r *resolution) write(ctx context.Context, call *agent.Call) (*agent.Result, error) {
	done, err := edits.ApplyOperations(ctx, call, r.ops, nil)
	if err != nil {
		return nil, err
	}
	changes := &edits.Operations{Call: call, Ops: r.ops}
	var list strings.Builder
	for i := range r.ops {
		_, lines := bareLines(r.ops[i].New)
		found, _ := findConflicts(lines)
		fmt.Fprintf(&list, "  %s: %s, %d left\n", changes.Name(r.ops[i].Path), text.Count(r.ops[i].Edits, "conflict"), len(found))
	}
	res := &agent.Result{
		Text:    toolkit.JoinNotes(strings.TrimSuffix("Resolved "+text.Count(r.count, "conflict")+":\n"+list.String(), "\n"), done.Notes),
		Content: done.Content, Locations: done.Locations,
	}
	edits.Diagnose(ctx, call, res, edits.ReportsWrites(call), done.Before, done.Changed, done.Events...)
	return res, nil
}
