package sessions

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// ForkOptions adjusts [Store.Fork].
type ForkOptions struct {
	// Cwd is the absolute working directory. Required.
	Cwd string
	// AdditionalDirectories are the additional roots of the fork; those of the source are not copied.
	AdditionalDirectories []string
	// NewID is the ID of the fork. If empty, one is generated.
	NewID string
	// Leaf is the ID of an entry: the fork gets that entry and its ancestors. If empty, the fork gets all entries and
	// the source's leaf.
	Leaf string
}

// Fork creates a session with the history of another one and returns it open. The caller closes the log.
//
// Entries keep their IDs, so references between entries stay valid. The title, the mode and the rest of the [State] are
// copied. Artifacts and local files are copied, blobs are shared, and the mark of [Store.Archive] is not copied. The header's
// ParentSession is the source's ID.
//
// The source may be open, here or in another process; the fork gets the complete lines that its file has at the call.
// Fork does not write to the source. The fork appears atomically; a crash before that leaves at most files that no
// session names. Fork returns [ErrNotFound], also for an unknown leaf, [ErrNothingToFork] for a source without a
// message, a [*CorruptError], or an error of the file system.
func (s *Store) Fork(ctx context.Context, id string, opts ForkOptions) (*Log, error) {
	if !filepath.IsAbs(opts.Cwd) {
		return nil, fmt.Errorf("a session's working directory must be an absolute path, not %q", opts.Cwd)
	}
	if opts.NewID == "" {
		opts.NewID = s.opts.NewID()
	}
	if err := checkID(opts.NewID); err != nil {
		return nil, err
	}
	at, err := s.find(ctx, id)
	if err != nil {
		return nil, err
	}
	data, err := s.fs.ReadFile(at.path)
	if err != nil {
		return nil, fmt.Errorf("reading session %s: %w", id, err)
	}
	l, c, err := s.parse(at.path, id, data)
	if err != nil {
		return nil, err
	}
	lines, err := l.forkLines(c, data, opts.Leaf)
	if err != nil {
		return nil, fmt.Errorf("forking session %s: %w", id, err)
	}
	title := l.about.title
	fork := newLog(s, "")
	fork.fill(&content{header: Header{
		Version: Version, ID: opts.NewID, Time: s.now(), Cwd: opts.Cwd, AdditionalDirectories: opts.AdditionalDirectories,
		Title: title.Title, TitleSource: title.Source, ParentSession: id,
	}})
	fork.about.directories = noneAsNil(opts.AdditionalDirectories)
	if err := s.beginFork(ctx, fork, at.path, lines); err != nil {
		return nil, fmt.Errorf("forking session %s: %w", id, err)
	}
	return fork, nil
}

// forkLine is an entry of a fork. A text of nil stands for a new entry.
type forkLine struct {
	entry Entry
	text  []byte
}

// forkLines returns the lines of a fork. data is the source's file.
func (l *logState) forkLines(c *content, data []byte, leaf string) ([]forkLine, error) {
	if c.migrated != nil {
		data = c.migrated
	}
	places := make([]int32, 0, len(l.nodes))
	if leaf == "" {
		for i := range l.nodes {
			places = append(places, int32(i))
		}
	} else {
		if err := l.checkEntry(leaf); err != nil {
			return nil, err
		}
		places = l.pathTo(l.byID[leaf])
	}
	lines := make([]forkLine, 0, len(places)+len(l.labels))
	message := false
	for _, i := range places {
		n := &l.nodes[i]
		if _, ok := n.entry.(Label); ok && leaf != "" {
			// The label's target may not be part of the fork. Labels whose target is are added below.
			lines = append(lines, forkLine{entry: Custom{CustomType: customRewind}.withRef(n.entry.Ref())})
			continue
		}
		message = message || n.kind == KindMessage
		lines = append(lines, forkLine{n.entry, data[n.at : n.at+int64(n.size)]})
	}
	if !message {
		return nil, ErrNothingToFork
	}
	if leaf == "" {
		return lines, nil
	}
	// Add what applies to all branches and may have been set in a branch that is not part of the fork.
	var more []Entry
	for _, i := range places {
		if id := l.nodes[i].id; l.labels[id] != "" && l.byID[id] == i {
			more = append(more, Label{TargetID: id, Label: l.labels[id]})
		}
	}
	if p := l.about.systemPrompt; p.Text != "" {
		data, err := jsonx.Marshal(p)
		if err != nil {
			return nil, err
		}
		more = append(more, Custom{CustomType: customSystemPrompt, Data: data})
	}
	more = append(more, l.choicesLeft(places)...)
	parent := leaf
	for _, e := range more {
		ref := Base{ID: l.newID(), ParentID: parent, Time: later(l.latest, l.store.now())}
		lines = append(lines, forkLine{entry: e.withRef(ref)})
		l.byID[ref.ID], parent = 0, ref.ID // mark the ID as used
	}
	return lines, nil
}

// choicesLeft returns the choices that apply at the end of a path and were made before the [Log.Clear] that starts it.
func (l *logState) choicesLeft(path []int32) []Entry {
	history := l.history(path[len(path)-1])
	if len(history) == len(path) {
		return nil
	}
	var left []Entry
	is, was := l.choices(path), l.choices(history)
	if is.Model != was.Model {
		left = append(left, ModelChange{Model: was.Model})
	}
	if is.Thinking != was.Thinking {
		left = append(left, ThinkingChange{Level: was.Thinking})
	}
	if is.Mode != was.Mode || string(is.ModeData) != string(was.ModeData) {
		left = append(left, ModeChange{Mode: was.Mode, Data: was.ModeData})
	}
	if string(is.ServiceTier) != string(was.ServiceTier) {
		left = append(left, ServiceTierChange{ServiceTier: was.ServiceTier})
	}
	if !slices.Equal(is.MCPTools, was.MCPTools) {
		left = append(left, ToolSelection{SelectedToolNames: was.MCPTools})
	}
	return left
}

// beginFork writes the fork and opens it. On an error it removes what it has written.
func (s *Store) beginFork(ctx context.Context, l *Log, source string, lines []forkLine) (err error) {
	dir := filepath.Join(s.dir, dirName(filepath.Clean(l.header.Cwd), s.opts.Home, s.opts.TempDir))
	if err := s.fs.MkdirAll(dir, dirPerm); err != nil {
		return err
	}
	l.path = filepath.Join(dir, fileName(l.header.Time, l.header.ID))
	unlock, err := s.fs.Lock(l.path)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			unlock()
		}
	}()
	if _, err := s.fs.Lstat(l.path); err == nil {
		return fmt.Errorf("%s: %w", l.path, fs.ErrExist)
	}
	text, err := l.forkText(lines)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.fs.RemoveAll(artifactDir(l.path)))
		}
	}()
	if err := s.copyArtifacts(ctx, artifactDir(source), artifactDir(l.path), l.header); err != nil {
		return err
	}
	if err := s.replace(l.path, text, s.opts.Sync != SyncNever); err != nil {
		return err
	}
	file, err := s.fs.OpenFile(l.path, os.O_RDWR|os.O_APPEND, filePerm)
	if err != nil {
		return errors.Join(err, s.fs.Remove(l.path))
	}
	l.unlock = unlock
	l.setFile(file, int64(len(text)))
	return nil
}

// forkText encodes a fork and links its entries.
func (l *logState) forkText(lines []forkLine) ([]byte, error) {
	title, directories := l.about.title, l.about.directories
	var file bytes.Buffer
	header, err := l.header.encode()
	if err != nil {
		return nil, err
	}
	file.Write(append(header, '\n'))
	add := func(e Entry, text []byte) error {
		if text == nil {
			var err error
			if text, err = l.store.encode(e, true); err != nil {
				return err
			}
		}
		l.link(e, span{int64(file.Len()), int32(len(text))}, l.readable())
		file.Write(text)
		file.WriteByte('\n')
		return nil
	}
	for _, line := range lines {
		if err := add(line.entry, line.text); err != nil {
			return nil, err
		}
	}
	// A copied entry may have overwritten these.
	custom := func(customType string, value any) error {
		data, err := jsonx.Marshal(value)
		if err != nil {
			return err
		}
		ref := Base{ID: l.newID(), ParentID: l.leaf(), Time: later(l.latest, l.store.now())}
		return add(Custom{CustomType: customType, Data: data}.withRef(ref), nil)
	}
	if !slices.Equal(l.about.directories, directories) {
		if err := custom(customDirectories, directoriesData{directories}); err != nil {
			return nil, err
		}
	}
	if l.about.title != title {
		if err := custom(CustomTitle, title); err != nil {
			return nil, err
		}
	}
	return file.Bytes(), nil
}

// copyArtifacts copies the artifacts of a session, and the conversations of its helpers, to those of a fork. Artifacts are immutable,
// so it uses hard links where the file system supports them.
func (s *Store) copyArtifacts(ctx context.Context, from, to string, fork Header) error {
	entries, err := s.fs.ReadDir(from)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if ext := filepath.Ext(e.Name()); !e.Type().IsRegular() || ext != ".log" && ext != ".md" {
			continue
		}
		if err := s.fs.MkdirAll(to, dirPerm); err != nil {
			return err
		}
		if err := linkOrCopy(s, filepath.Join(from, e.Name()), filepath.Join(to, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err // ignore one that was deleted meanwhile
		}
	}
	if err := s.copyLocal(ctx, from, to); err != nil {
		return err
	}
	return s.copyChildren(ctx, from, to, fork)
}

// copyChildren copies the conversations of helpers. Each copy is a session of its own: it has a new ID, and names its parent in the
// fork. A file that is being written is copied up to its last complete line.
func (s *Store) copyChildren(ctx context.Context, from, to string, fork Header) error {
	children := &Children{dir: from, store: s}
	names, err := children.Names()
	if err != nil {
		return err
	}
	ids := map[string]string{fork.ParentSession: fork.ID}
	headers, rest := make([]Header, len(names)), make([][]byte, len(names))
	for i, name := range names {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		data, err := s.fs.ReadFile(children.path(name))
		if errors.Is(err, fs.ErrNotExist) {
			continue // it was deleted meanwhile
		}
		if err != nil {
			return err
		}
		line, lines, ok := bytes.Cut(data, []byte{'\n'})
		h, err := decodeHeader(line)
		if !ok || err != nil || h.Version != Version {
			continue // a process died before it wrote the header, the file is damaged, or another program's
		}
		headers[i], rest[i] = h, lines[:bytes.LastIndexByte(lines, '\n')+1]
		ids[h.ID] = s.opts.NewID()
	}
	for i, name := range names {
		h := headers[i]
		if h.ID == "" {
			continue
		}
		h.ID = ids[h.ID]
		if parent, ok := ids[h.ParentSession]; ok {
			h.ParentSession = parent
		}
		line, err := h.encode()
		if err != nil {
			return err
		}
		if err := s.fs.MkdirAll(to, dirPerm); err != nil {
			return err
		}
		if err := s.replace(filepath.Join(to, name+fileSuffix), slices.Concat(line, []byte{'\n'}, rest[i]), false); err != nil {
			return err
		}
	}
	return nil
}

func linkOrCopy(s *Store, from, to string) error {
	if s.fs.Link(from, to) == nil {
		return nil
	}
	data, err := s.fs.ReadFile(from)
	if err != nil {
		return err
	}
	return s.replace(to, data, false)
}
