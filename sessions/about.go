package sessions

import (
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
		return l.writableLocked()
	}
	return l.tellLocked(customDirectories, directoriesData{dirs})
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
		return l.writableLocked()
	}
	return l.tellLocked(customSystemPrompt, p)
}
