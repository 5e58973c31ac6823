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

// ForkOptions says where a fork works, and what it takes over.
type ForkOptions struct {
	// Cwd is the absolute working directory. Required.
	Cwd string
	// AdditionalDirectories are the complete further roots; the source's are not taken over.
	AdditionalDirectories []string
	// NewID names the fork. If empty, one is made.
	NewID string
	// Leaf is the id of an entry: the fork has the entries that lead to it, and it, and no other branch. If empty, the
	// fork has all entries and stands where the source does.
	Leaf string
}

// Fork begins a session with the history of another one, and returns it open; the caller closes the log.
//
// Entries are taken over with their ids, those of left branches too, so that every entry which names another one still
// finds it; title, mode and the rest of the [State] come along. Artifacts are taken over, blobs are shared, the mark of
// [Store.Archive] is not. The header's ParentSession is the source's id.
//
// The source may be open, here or in another process: what counts is the whole lines that its file has now. It is
// only read. The fork appears in one step, when all that belongs to it is there; a crash before that leaves at most
// files that no session names. Errors: [ErrNotFound], also for a leaf that is not there,
// [ErrNothingToFork] for a source without a message, [*CorruptError], and those of the file system.
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
	source := at.path
	data, err := s.fs.ReadFile(source)
	if err != nil {
		return nil, fmt.Errorf("reading session %s: %w", id, err)
	}
	l, c, err := s.parse(source, id, data)
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
	if err := s.beginFork(ctx, fork, source, lines); err != nil {
		return nil, fmt.Errorf("forking session %s: %w", id, err)
	}
	return fork, nil
}

// forkLine is an entry of a fork, as a line of the source.
type forkLine struct {
	entry Entry
	text  []byte
}

// forkLines returns what a fork takes over. data is the source's file.
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
			// Its target may be left behind; those that are not get their names back below.
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
	// What holds in all branches may have been said in one that is left behind.
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
		l.byID[ref.ID], parent = 0, ref.ID // taken
	}
	return lines, nil
}

// choicesLeft returns the choices that hold at the end of a path and were made before the [Log.Clear] that it begins with.
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

// beginFork brings the fork to disk and opens it. On an error nothing is left.
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
	if err := s.copyArtifacts(ctx, artifactDir(source), artifactDir(l.path)); err != nil {
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

// forkText makes the file of a fork and takes note of what is in it.
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
	// An entry that was taken over may say otherwise.
	tell := func(customType string, value any) error {
		data, err := jsonx.Marshal(value)
		if err != nil {
			return err
		}
		ref := Base{ID: l.newID(), ParentID: l.leaf(), Time: later(l.latest, l.store.now())}
		return add(Custom{CustomType: customType, Data: data}.withRef(ref), nil)
	}
	if !slices.Equal(l.about.directories, directories) {
		if err := tell(customDirectories, directoriesData{directories}); err != nil {
			return nil, err
		}
	}
	if l.about.title != title {
		if err := tell(CustomTitle, title); err != nil {
			return nil, err
		}
	}
	return file.Bytes(), nil
}

// copyArtifacts takes over what [Artifacts] keeps. An artifact never changes once it is named in a session, so a
// second name for the same file will do where the file system has such.
func (s *Store) copyArtifacts(ctx context.Context, from, to string) error {
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
		if err := s.linkOrCopy(filepath.Join(from, e.Name()), filepath.Join(to, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err // not one that was deleted just now
		}
	}
	return nil
}

func (s *Store) linkOrCopy(from, to string) error {
	if s.fs.Link(from, to) == nil {
		return nil
	}
	data, err := s.fs.ReadFile(from)
	if err != nil {
		return err
	}
	return s.replace(to, data, false)
}
