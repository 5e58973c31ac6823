package sessions

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// The types of the [Custom] entries that tell of the session and not of the conversation. Like the title they hold in
// all branches.
const (
	CustomDirectories  = "gjc.directories"
	CustomSystemPrompt = "gjc.system_prompt"
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
	case CustomDirectories:
		var d directoriesData
		if jsonx.Unmarshal(c.Data, &d) == nil {
			a.directories = noneAsNil(d.Directories)
		}
	case CustomSystemPrompt:
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

func (l *Log) aboutLocked() about {
	a := aboutHeader(&l.header)
	for _, e := range l.entries {
		a.add(e)
	}
	return a
}

// SetDirectories keeps the session's further roots, a complete list. It writes nothing if they are those already.
func (l *Log) SetDirectories(dirs []string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if slices.Equal(l.aboutLocked().directories, dirs) {
		return l.writableLocked()
	}
	return l.tellLocked(CustomDirectories, directoriesFile, directoriesData{dirs})
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
	if l.aboutLocked().systemPrompt == p {
		return l.writableLocked()
	}
	return l.tellLocked(CustomSystemPrompt, "", p)
}

// The files about a session in its artifact directory, where the list finds them without reading the whole session.
// Of the first two the truth is the session file; they are copies of its last entry of that kind.
const (
	titleFile       = "title.json"
	directoriesFile = "directories.json"
	archivedFile    = "archived"
)

// writeBeside puts a file into the artifact directory of the session file at path, in one step.
func writeBeside(path, name string, data []byte) (err error) {
	dir := artifactDir(path)
	if err := os.MkdirAll(dir, dirPerm); err != nil {
		return err
	}
	temp, err := os.CreateTemp(dir, "."+name+".*.tmp")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = temp.Close()
			_ = os.Remove(temp.Name())
		}
	}()
	if _, err := temp.Write(data); err != nil {
		return err
	}
	if err := temp.Close(); err != nil {
		return err
	}
	return os.Rename(temp.Name(), filepath.Join(dir, name))
}

// readBeside adds to about what the files say; it leaves out those that are not there.
func readBeside(path string, about *about) {
	dir := artifactDir(path)
	for name, customType := range map[string]string{titleFile: CustomTitle, directoriesFile: CustomDirectories} {
		if data, err := os.ReadFile(filepath.Join(dir, name)); err == nil {
			about.add(Custom{CustomType: customType, Data: data})
		}
	}
}

// repairBeside writes the copies anew that a crash or another program has left behind.
func (l *Log) repairBeside() {
	is := l.aboutLocked()
	told := aboutHeader(&l.header)
	readBeside(l.path, &told)
	if told.title.Title != is.title.Title {
		if data, err := jsonx.Marshal(is.title); err == nil {
			_ = writeBeside(l.path, titleFile, data)
		}
	}
	if !slices.Equal(told.directories, is.directories) {
		if data, err := jsonx.Marshal(directoriesData{is.directories}); err == nil {
			_ = writeBeside(l.path, directoriesFile, data)
		}
	}
}
