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

// The types of the [Custom] entries that tell of the session and not of the conversation. Like the title they hold in
// all branches.
const (
	customDirectories  = "gjc.directories"
	customSystemPrompt = "gjc.system_prompt"
)

// SystemPrompt is what a client wants a model to be told.
type SystemPrompt struct {
	// Mode says what becomes of the program's own prompt: "append" or "override".
	Mode string `json:"mode"`
	Text string `json:"text"`
}

type directoriesData struct {
	Directories []string `json:"directories"`
}

// about is what is known of a session as a whole: the header's, then each entry's that says otherwise.
type about struct {
	title        titleData
	directories  []string
	systemPrompt SystemPrompt
}

func aboutHeader(h *Header) about {
	return about{title: titleData{h.Title, h.TitleSource}, directories: h.AdditionalDirectories}
}

// add takes note of what e says.
func (a *about) add(e Entry) {
	c, ok := e.(Custom)
	if !ok {
		return
	}
	switch c.CustomType {
	case CustomTitle:
		var t titleData
		if jsonx.Unmarshal(c.Data, &t) == nil && a.title.gives(t) {
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

// SetDirectories keeps the session's further roots, a complete list. It writes nothing if they are those already.
func (l *Log) SetDirectories(dirs []string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if slices.Equal(l.about.directories, dirs) {
		return l.checkWritable()
	}
	return l.appendCustom(customDirectories, directoriesData{dirs})
}

// SetSystemPrompt keeps what the client wants a model to be told. It writes nothing if that is so already. An empty
// text takes it away; a client that says nothing of it leaves it as it is, so do not call it then.
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

// Who has made a title.
const (
	titleAuto = "auto"
	titleUser = "user"
)

// titleData is the data of a [CustomTitle] entry.
type titleData struct {
	Title  string `json:"title"`
	Source string `json:"source,omitzero"`
}

// gives reports whether t gives way to next: a title of the user's does only to another one of the user's.
func (t titleData) gives(next titleData) bool {
	return t.Source != titleUser || t.Title == "" || next.Source == titleUser
}

// SetTitle names the session. source is "auto" or "user". An automatic title never replaces one of the user's: it is
// refused with [ErrUserTitle]. An empty title of the user's takes the name away. The name goes into an entry; the
// header stays as it is.
func (l *Log) SetTitle(title, source string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	next := titleData{title, source}
	if !l.about.title.gives(next) {
		return ErrUserTitle
	}
	return l.appendCustom(CustomTitle, next)
}

// SetTitle names a session, with "user" as the source. It opens the session for that, so it fails as [Store.Open]
// does: with a [*LockedError] while the session is open, here or in another process. [Log.SetTitle] is for one that
// is open here.
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

// Archive hides a session from [Store.List] until [Store.Unarchive]; it stays what it is otherwise and can be opened.
// One that is archived already stays so. An unknown id gives an [ErrNotFound].
//
// The mark is an empty file beside the session's. So it needs no lock, works while the session is open
// here or in another process, and leaves the time of the last activity alone.
func (s *Store) Archive(ctx context.Context, id string) error {
	at, err := s.find(ctx, id)
	if err != nil {
		return err
	}
	path := at.path
	mark, err := s.fs.OpenFile(archivedMark(path), os.O_CREATE|os.O_WRONLY, filePerm)
	if err == nil {
		err = mark.Close()
	}
	if _, gone := s.fs.Lstat(path); errors.Is(gone, fs.ErrNotExist) {
		// Deleted in the meantime: nothing of it must stay.
		_ = s.fs.Remove(archivedMark(path))
		return fmt.Errorf("%w: %s", ErrNotFound, id)
	}
	if err != nil {
		return fmt.Errorf("archiving session %s: %w", id, err)
	}
	return nil
}

// Unarchive takes back [Store.Archive]. A session that is not archived stays so.
func (s *Store) Unarchive(ctx context.Context, id string) error {
	at, err := s.find(ctx, id)
	if err != nil {
		return err
	}
	path := at.path
	err = s.fs.Remove(archivedMark(path))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("unarchiving session %s: %w", id, err)
	}
	return nil
}

const archivedSuffix = ".archived"

// archivedMark is the file whose presence says that a session is archived.
func archivedMark(path string) string { return artifactDir(path) + archivedSuffix }
