package sessions

import (
	"context"
	"errors"

	"github.com/gajae-code/gjc/internal/jsonx"
)

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
	return l.tellLocked(CustomTitle, next)
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

// tellLocked appends state of the session as a [Custom] entry.
func (l *Log) tellLocked(customType string, value any) error {
	data, err := jsonx.Marshal(value)
	if err != nil {
		return err
	}
	_, err = l.appendLocked(Custom{CustomType: customType, Data: data}, l.leafLocked())
	return err
}
