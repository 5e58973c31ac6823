package sessions

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// Types of the [Custom] entries that describe the session and not its conversation. Like the title, they apply to all
// branches.
const (
	customDirectories  = "gjc.directories"
	customSystemPrompt = "gjc.system_prompt"
)

// SystemPrompt is a client's addition to the system prompt, or its replacement.
type SystemPrompt struct {
	// Mode is "append" or "override".
	Mode string `json:"mode"`
	Text string `json:"text"`
}

type directoriesData struct {
	Directories []string `json:"directories"`
}

// about holds what describes a session as a whole: the values of the header, replaced by those of later entries.
type about struct {
	title        titleData
	directories  []string
	systemPrompt SystemPrompt
}

func aboutHeader(h *Header) about {
	return about{title: titleData{h.Title, h.TitleSource}, directories: h.AdditionalDirectories}
}

// add applies an entry.
func (a *about) add(e Entry) {
	c, ok := e.(Custom)
	if !ok {
		return
	}
	switch c.CustomType {
	case CustomTitle:
		var t titleData
		if jsonx.Unmarshal(c.Data, &t) == nil && a.title.yields(t) {
			a.title = t
		}
	case customDirectories:
		var d directoriesData
		if jsonx.Unmarshal(c.Data, &d) == nil {
			a.directories = noneAsNil(d.Directories)
		}
	case customSystemPrompt:
		var p SystemPrompt
		if jsonx.Unmarshal(c.Data, &p) == nil {
			a.systemPrompt = p
		}
	}
}

func noneAsNil(list []string) []string {
	if len(list) == 0 {
		return nil
	}
	return list
}

// SetDirectories stores the complete list of additional roots. It writes nothing if the list is unchanged.
func (l *Log) SetDirectories(dirs []string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if slices.Equal(l.about.directories, dirs) {
		return l.checkWritable()
	}
	return l.appendCustom(customDirectories, directoriesData{dirs})
}

// SetSystemPrompt stores the client's system prompt. It writes nothing if it is unchanged. An empty text deletes it.
func (l *Log) SetSystemPrompt(mode, text string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := SystemPrompt{mode, text}
	if text == "" {
		p = SystemPrompt{}
	}
	if l.about.systemPrompt == p {
		return l.checkWritable()
	}
	return l.appendCustom(customSystemPrompt, p)
}

// CustomTitle is the type of the [Custom] entries that hold a session's title.
const CustomTitle = "gjc.title"

// Sources of a title.
const (
	titleAuto = "auto"
	titleUser = "user"
)

// titleData is the data of a [CustomTitle] entry.
type titleData struct {
	Title  string `json:"title"`
	Source string `json:"source,omitzero"`
}

// yields reports whether next may replace t. Only a user may replace a title that a user has set.
func (t titleData) yields(next titleData) bool {
	return t.Source != titleUser || t.Title == "" || next.Source == titleUser
}

// Title is the title of a session as its entries have set it. The zero Title is that of a session without one.
type Title struct{ last titleData }

// TitleOf returns the title in a header.
func TitleOf(h *Header) Title { return Title{titleData{h.Title, h.TitleSource}} }

// Add applies the next entry, of any branch.
func (t *Title) Add(e Entry) {
	a := about{title: t.last}
	a.add(e)
	t.last = a.title
}

// String returns the title; empty for none.
func (t *Title) String() string { return t.last.Title }

// SetTitle names the session. source is "auto" or "user". An automatic title never replaces one that the user has set; SetTitle
// returns [ErrUserTitle] instead. An empty title with source "user" deletes the title. The title is stored in an entry; the header
// stays unchanged.
func (l *Log) SetTitle(title, source string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	next := titleData{title, source}
	if !l.about.title.yields(next) {
		return ErrUserTitle
	}
	return l.appendCustom(CustomTitle, next)
}

// SetTitle names a session, with "user" as the source. It opens the session, so it returns the errors of [Store.Open]:
// a [*LockedError] while the session is open, here or in another process. Use [Log.SetTitle] for a session that is open
// here.
func (s *Store) SetTitle(ctx context.Context, id, title string) error {
	l, err := s.Open(ctx, id)
	if err != nil {
		return err
	}
	return errors.Join(l.SetTitle(title, titleUser), l.Close())
}

// appendCustom appends state of the session as a [Custom] entry.
func (l *logState) appendCustom(customType string, value any) error {
	data, err := jsonx.Marshal(value)
	if err != nil {
		return err
	}
	_, err = l.append(Custom{CustomType: customType, Data: data}, l.leaf())
	return err
}

// Archive hides a session from [Store.List] until [Store.Unarchive]. An archived session can still be opened. Archive
// is idempotent. It returns [ErrNotFound] for an unknown ID.
//
// The mark is an empty file next to the session's file. It needs no lock, works while the session is open here or in
// another process, and does not change the time of the last activity.
func (s *Store) Archive(ctx context.Context, id string) error {
	at, err := s.find(ctx, id)
	if err != nil {
		return err
	}
	mark, err := s.fs.OpenFile(archivedMark(at.path), os.O_CREATE|os.O_WRONLY, filePerm)
	if err == nil {
		err = mark.Close()
	}
	if _, gone := s.fs.Lstat(at.path); errors.Is(gone, fs.ErrNotExist) {
		// The session was deleted meanwhile; do not leave its mark.
		_ = s.fs.Remove(archivedMark(at.path))
		return fmt.Errorf("%w: %s", ErrNotFound, id)
	}
	if err != nil {
		return fmt.Errorf("archiving session %s: %w", id, err)
	}
	return nil
}

// Unarchive undoes [Store.Archive]. It is a no-op for a session that is not archived.
func (s *Store) Unarchive(ctx context.Context, id string) error {
	at, err := s.find(ctx, id)
	if err != nil {
		return err
	}
	err = s.fs.Remove(archivedMark(at.path))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("unarchiving session %s: %w", id, err)
	}
	return nil
}

const archivedSuffix = ".archived"

// archivedMark returns the path of the file that marks a session as archived.
func archivedMark(path string) string { return artifactDir(path) + archivedSuffix }
