package sessions

import (
	"errors"
	"time"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// Version is the version of the files that this package writes. Older ones are migrated, newer ones refused.
const Version = 3

// Header is the first line of a session file.
type Header struct {
	// Version is the version that the file had when it was opened; [Store.Create] ignores it.
	Version int
	// ID names the session. [Store.Create] makes one if it is empty.
	ID string
	// Time is when the session began. If zero, [Store.Create] takes the clock's.
	Time time.Time
	// Cwd is the absolute working directory. Required.
	Cwd string
	// AdditionalDirectories are further roots, absolute. Other programs do not know them.
	AdditionalDirectories []string
	// Title is the name that the session began with. [State] has the present one.
	Title string
	// TitleSource is "auto" or "user".
	TitleSource string
	// ParentSession is the id or the path of the session that this one was forked from; only a remark.
	ParentSession string
}

const kindSession = "session"

type wireHeader struct {
	Type                  string   `json:"type"`
	Version               int      `json:"version"`
	ID                    string   `json:"id"`
	Timestamp             string   `json:"timestamp"`
	Cwd                   string   `json:"cwd"`
	AdditionalDirectories []string `json:"additionalDirectories,omitempty"`
	Title                 string   `json:"title,omitzero"`
	TitleSource           string   `json:"titleSource,omitzero"`
	ParentSession         string   `json:"parentSession,omitzero"`
}

func (h *Header) encode() ([]byte, error) {
	return jsonx.Marshal(wireHeader{
		Type: kindSession, Version: Version, ID: h.ID, Timestamp: formatTime(h.Time), Cwd: h.Cwd,
		AdditionalDirectories: h.AdditionalDirectories, Title: h.Title, TitleSource: h.TitleSource,
		ParentSession: h.ParentSession,
	})
}

func decodeHeader(line []byte) (Header, error) {
	var w wireHeader
	if err := jsonx.Unmarshal(line, &w); err != nil {
		return Header{}, errors.New("this is not a session header: " + err.Error())
	}
	switch {
	case w.Type != kindSession || w.ID == "":
		return Header{}, errors.New("this is not a session header")
	case w.Version > Version:
		return Header{}, errors.New("the session was written by a newer program; update this one")
	}
	return Header{
		Version: max(w.Version, 1), ID: w.ID, Time: parseTime(w.Timestamp), Cwd: w.Cwd,
		AdditionalDirectories: w.AdditionalDirectories, Title: w.Title, TitleSource: w.TitleSource,
		ParentSession: w.ParentSession,
	}, nil
}

const timeLayout = "2006-01-02T15:04:05.000Z"

func formatTime(t time.Time) string { return t.UTC().Format(timeLayout) }

// parseTime returns the zero time for what is none: no entry is lost for its date.
func parseTime(s string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return time.Time{}
	}
	return t.UTC()
}
