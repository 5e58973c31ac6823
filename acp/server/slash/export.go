package slash

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/transcript"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
)

// dump runs /dump.
func dump(c *call) error {
	text, err := c.transcript(transcript.Markdown, nil)
	return c.say(text, err)
}

// export runs /export.
func export(c *call) error {
	path := unquotedPath(c.args)
	if path == "" {
		path = "gjc-session-" + c.session.ID() + "." + string(transcript.HTML)
	}
	path, err := c.newFile(path)
	if err != nil {
		return c.fail(err)
	}
	text, err := c.transcript(transcript.FormatOf(path, transcript.Markdown), nil)
	if err == nil {
		err = c.opts().Files.WriteFile(c, path, []byte(text))
	}
	if err != nil {
		return c.fail(fmt.Errorf("exporting the session failed: %w", err))
	}
	return c.say("Session exported to: "+path, nil)
}

// newFile returns the path of a file in the session's directories that does not exist yet.
func (c *call) newFile(path string) (string, error) {
	ws, files := c.session.Workspace(), c.opts().Files
	path = ws.Resolve(path)
	if !ws.Contains(path) || !containsReal(files, &ws, files.RealPath(path)) {
		return "", fmt.Errorf("%s is not in the session's directories; name a file that is", path)
	}
	if _, err := files.Stat(c, path); err == nil {
		return "", fmt.Errorf("%s exists; name another file", path)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	return path, nil
}

// transcript returns the conversation in a format. hide replaces secrets; nil for none.
func (c *call) transcript(format transcript.Format, hide func(string) string) (string, error) {
	branch, err := c.session.Branch()
	if err != nil {
		return "", err
	}
	if !slices.ContainsFunc(branch, func(e sessions.Entry) bool { return e.Kind() == sessions.KindMessage }) {
		return "", errors.New("no messages yet")
	}
	snap, err := c.session.Snapshot()
	if err != nil {
		return "", err
	}
	ws := c.session.Workspace()
	var text strings.Builder
	err = transcript.Write(&text, &transcript.Session{
		ID: c.session.ID(), Title: snap.Title, Cwd: ws.Cwd, Directories: ws.Additional, Model: snap.Model.Ref(),
		Branch: branch, Tools: c.opts().Tools(), Models: c.knownModels(snap.Model), Hide: hide,
	}, format)
	return text.String(), err
}

// knownModels returns a function that looks up the current model and those that can be used.
func (c *call) knownModels(current providers.ModelInfo) func(ref string) (providers.ModelInfo, bool) {
	known := map[string]providers.ModelInfo{current.Ref(): current}
	for _, m := range c.opts().Models.ModelsIn("") {
		known[m.Ref()] = m
	}
	return func(ref string) (providers.ModelInfo, bool) { m, ok := known[ref]; return m, ok }
}

// unquotedPath returns a path without the quotes that some users put around one with spaces.
func unquotedPath(s string) string {
	for _, quote := range []string{`"`, "'", "`"} {
		if len(s) >= 2 && strings.HasPrefix(s, quote) && strings.HasSuffix(s, quote) {
			return s[1 : len(s)-1]
		}
	}
	return s
}

// containsReal reports whether a path without symbolic links is in a directory of ws after that directory's links are resolved too.
func containsReal(files agent.FS, ws *agent.Workspace, real string) bool {
	roots := agent.Workspace{Cwd: files.RealPath(ws.Cwd)}
	for _, dir := range ws.Additional {
		roots.Additional = append(roots.Additional, files.RealPath(dir))
	}
	return roots.Contains(real)
}
