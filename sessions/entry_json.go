package sessions

import (
	"errors"
	"fmt"
	"time"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// envelope has the members that all entries have.
type envelope struct {
	Type      Kind    `json:"type"`
	ID        string  `json:"id"`
	ParentID  *string `json:"parentId"`
	Timestamp string  `json:"timestamp"`
}

func (v *envelope) base() Base {
	b := Base{ID: v.ID, Time: parseTime(v.Timestamp)}
	if v.ParentID != nil {
		b.ParentID = *v.ParentID
	}
	return b
}

func (b Base) envelope(kind Kind) envelope {
	v := envelope{Type: kind, ID: b.ID, Timestamp: formatTime(b.Time)}
	if b.ParentID != "" {
		v.ParentID = &b.ParentID
	}
	return v
}

// encoder encodes entries.
type encoder struct {
	// put stores the bytes of an image and returns the reference to them.
	put func(data []byte) (ref string, err error)
}

// entry returns e as a line without the newline.
func (enc *encoder) entry(e Entry) ([]byte, error) {
	body, err := enc.body(e)
	if err != nil {
		return nil, fmt.Errorf("encoding a %s entry: %w", e.Kind(), err)
	}
	line, err := jsonx.Marshal(e.Ref().envelope(e.Kind()))
	if err != nil {
		return nil, err
	}
	return joinObjects(line, body), nil
}

// joinObjects merges two JSON objects that share no member.
func joinObjects(a, b []byte) []byte {
	if len(b) <= len("{}") {
		return a
	}
	a[len(a)-1] = ','
	return append(a, b[1:]...)
}

func (enc *encoder) body(e Entry) ([]byte, error) {
	switch e := e.(type) {
	case MessageEntry:
		m, err := enc.message(&e.Message)
		if err != nil {
			return nil, err
		}
		return jsonx.Marshal(struct {
			Message any `json:"message"`
		}{m})
	case CustomMessage:
		content, err := enc.parts(e.Parts)
		if err != nil {
			return nil, err
		}
		return jsonx.Marshal(wireCustomMessage{
			CustomType: e.CustomType, Content: content, Display: e.Display, Details: e.Details,
			Attribution: e.Attribution,
		})
	case Unknown:
		return nil, errors.New("its format is unknown")
	default:
		return jsonx.Marshal(e)
	}
}

type wireCustomMessage struct {
	CustomType  string    `json:"customType"`
	Content     any       `json:"content"`
	Display     bool      `json:"display"`
	Details     jsonx.Raw `json:"details,omitzero"`
	Attribution string    `json:"attribution,omitzero"`
}

// decoder decodes the entries of one file.
type decoder struct {
	// blob returns the bytes of a "blob:" reference.
	blob func(ref string) ([]byte, error)
	// notice reports what could not be read and is left out.
	notice func(format string, args ...any)
}

// entry decodes a line whose envelope is decoded. It returns an [Unknown] for a body that does not match its kind.
func (d *decoder) entry(v *envelope, line []byte) Entry {
	base := v.base()
	e, err := d.body(v.Type, line)
	if err != nil {
		d.notice("entry %s (%s) has an unknown shape and is ignored: %v", v.ID, v.Type, err)
	}
	if e == nil {
		e = Unknown{Type: v.Type, Raw: append(jsonx.Raw(nil), line...)}
	}
	return e.withRef(base)
}

func (d *decoder) body(kind Kind, line []byte) (Entry, error) {
	switch kind {
	case KindMessage:
		return d.messageEntry(line)
	case KindCustomMessage:
		return d.customMessage(line)
	case KindModelChange:
		return decodeBody[ModelChange](line)
	case KindThinkingChange:
		return decodeBody[ThinkingChange](line)
	case KindModeChange:
		return decodeBody[ModeChange](line)
	case KindCompaction:
		return decodeBody[Compaction](line)
	case KindBranchSummary:
		return decodeBody[BranchSummary](line)
	case KindCustom:
		return decodeBody[Custom](line)
	case KindLabel:
		return decodeBody[Label](line)
	case KindSessionInit:
		return decodeBody[SessionInit](line)
	case KindServiceTierChange:
		return decodeBody[ServiceTierChange](line)
	case KindRuleInjection:
		return decodeBody[RuleInjection](line)
	case KindToolSelection:
		return decodeBody[ToolSelection](line)
	default:
		return nil, nil
	}
}

func decodeBody[T Entry](line []byte) (Entry, error) {
	var e T
	if err := jsonx.Unmarshal(line, &e); err != nil {
		return nil, err
	}
	return e, nil
}

func (d *decoder) customMessage(line []byte) (Entry, error) {
	var w struct {
		CustomType  string      `json:"customType"`
		Content     readContent `json:"content"`
		Display     bool        `json:"display"`
		Details     jsonx.Raw   `json:"details"`
		Attribution string      `json:"attribution"`
	}
	if err := jsonx.Unmarshal(line, &w); err != nil {
		return nil, err
	}
	return CustomMessage{
		CustomType: w.CustomType, Parts: d.blocks(w.Content), Display: w.Display, Details: w.Details, Attribution: w.Attribution,
	}, nil
}

func (h *Header) encode() ([]byte, error) {
	return jsonx.Marshal(wireHeader{
		Type: kindSession, Version: Version, ID: h.ID, Timestamp: formatTime(h.Time), Cwd: h.Cwd,
		AdditionalDirectories: h.AdditionalDirectories, Title: h.Title, TitleSource: h.TitleSource,
		ParentSession: h.ParentSession,
	})
}

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

// parseTime returns the zero time for an invalid value, so that an invalid date does not lose an entry.
func parseTime(s string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return time.Time{}
	}
	return t.UTC()
}
