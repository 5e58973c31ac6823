// Package sides decides whose files and terminals a session uses where the client and the agent may be on different machines: those of the
// server, in directories that its operator has named, or those of the client.
package sides

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/internal/places"
)

// Side is one of the machines.
type Side string

// The sides. The zero value means that client and agent are on one machine.
const (
	Server Side = "server"
	Client Side = "client"
)

// Rules say which sides are possible. A nil *Rules means that client and agent are on one machine.
type Rules struct {
	// Workspaces are the directories of this machine in which sessions may work, absolute.
	Workspaces []string
	// Dir has an empty directory for each workspace of clients, where programs of the user's configuration run. It need not exist.
	Dir string
}

// Choice is the side of a session.
type Choice struct {
	Side Side
	// Disk is the empty directory of this machine for a session with the client's files; empty for others.
	Disk string
}

// ErrNowhere is wrapped by the error for a session whose files are on no side.
var ErrNowhere = errors.New("no side has the session's directories")

// Choose returns the side of a session with these directories, the first of which is the working directory, for a client with these
// capabilities. Directories in the workspaces are those of the server, all others the client's, if it offers its files.
func (r *Rules) Choose(dirs []string, can *acp.ClientCapabilities) (Choice, error) {
	if r == nil {
		return Choice{}, nil
	}
	here := 0
	for _, dir := range dirs {
		in, err := r.has(dir)
		if err != nil {
			return Choice{}, err
		}
		if in {
			here++
		}
	}
	switch files := can.FS.ReadTextFile && can.FS.WriteTextFile; {
	case here == len(dirs):
		return Choice{Side: Server}, nil
	case here > 0:
		return Choice{}, fmt.Errorf("%w: some of them are this server's and some are not; a session has all of its directories on one machine", ErrNowhere)
	case !files:
		return Choice{}, fmt.Errorf("%w: %s, and the client does not offer its own files (fs.readTextFile and fs.writeTextFile)", ErrNowhere, r.lacks(dirs[0]))
	}
	sum := sha256.Sum256([]byte(strings.Join(dirs, "\x00")))
	disk := filepath.Join(r.Dir, hex.EncodeToString(sum[:8]))
	return Choice{Side: Client, Disk: disk}, os.MkdirAll(disk, 0o700)
}

// lacks describes which directories there are instead of another.
func (r *Rules) lacks(dir string) string {
	if len(r.Workspaces) == 0 {
		return "this server has no directories for sessions (gjc serve --workspace)"
	}
	return fmt.Sprintf("%s is not in a directory that this server has for sessions: %s", dir, strings.Join(r.Workspaces, ", "))
}

// has reports whether a directory is in a workspace. One that only seems to be, because a symbolic link leads out of it, is an error: it must
// not become the client's.
func (r *Rules) has(dir string) (bool, error) {
	real, err := resolve(dir)
	if err != nil {
		return false, err
	}
	for _, ws := range r.Workspaces {
		root, err := resolve(ws)
		if err != nil {
			return false, err
		}
		if places.Within(root, real) {
			return true, nil
		}
	}
	if slices.ContainsFunc(r.Workspaces, func(ws string) bool { return places.Within(ws, dir) }) {
		return false, fmt.Errorf("%w: %s leads to %s, where this server lets no session work", ErrNowhere, dir, real)
	}
	return false, nil
}

// resolve returns a path without symbolic links, as far as it exists.
func resolve(path string) (string, error) {
	for rest := ""; ; path = filepath.Dir(path) {
		real, err := filepath.EvalSymlinks(path)
		if err == nil {
			return filepath.Join(real, rest), nil
		}
		if !errors.Is(err, fs.ErrNotExist) || path == filepath.Dir(path) {
			return "", fmt.Errorf("looking for the session's directory: %w", err)
		}
		// A link to something that is not there could lead anywhere by the time it is used.
		if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return "", fmt.Errorf("%w: the symbolic link %s leads nowhere", ErrNowhere, path)
		}
		rest = filepath.Join(filepath.Base(path), rest)
	}
}

// remote are the tools that need nothing of the session's directories but what a client offers.
var remote = [...]string{
	"read", "write", "edit", "apply_patch", "job", "todo_write", "goal", "ask", "present_plan", "task", "search_tools", "web_fetch", "web_search",
}

// Tools returns those of gjc's own tools that a session on this side can offer.
func (c Choice) Tools(all []agent.Tool, can *acp.ClientCapabilities) []agent.Tool {
	if c.Side != Client {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(t agent.Tool) bool {
		name := t.Spec().Name
		return !slices.Contains(remote[:], name) && (name != "bash" || !can.Terminal)
	})
}

// Capabilities returns what of the client a session uses: for the server's files, nothing of the client's.
func (c Choice) Capabilities(can acp.ClientCapabilities) acp.ClientCapabilities {
	if c.Side == Server {
		can.FS, can.Terminal = acp.FileSystemCapabilities{}, false
	}
	return can
}

// Servers returns the MCP servers that a session may start, and the names of the others: a command that the client names is one of the
// client's machine.
func (c Choice) Servers(all []acp.MCPServer) (start []acp.MCPServer, left []string) {
	if c.Side != Client {
		return all, nil
	}
	for _, s := range all {
		if command, ok := s.(*acp.MCPServerStdio); ok {
			left = append(left, command.Name)
		} else {
			start = append(start, s)
		}
	}
	return start, left
}

// Notices describe the side to a user who may expect another one. left are the names that [Choice.Servers] has returned.
func (c Choice) Notices(cwd string, can *acp.ClientCapabilities, left []string) []agent.Noticed {
	var all []agent.Noticed
	add := func(title string) { all = append(all, agent.Noticed{Severity: agent.SeverityInfo, Title: title}) }
	switch offers := can.FS.ReadTextFile || can.FS.WriteTextFile || can.Terminal; {
	case c.Side == Server && offers:
		add("This session works in " + cwd + " on the server. The files and terminals of your editor are not used.")
	case c.Side == Client && can.Terminal:
		add("This session works with the files and terminals of your editor. What needs them on the server is off: search, language servers, the debugger, checkpoints and worktrees.")
	case c.Side == Client:
		add("This session works with the files of your editor, which offers no terminals. Commands are off, and what needs the files on the server: search, language servers, the debugger, checkpoints and worktrees.")
	}
	if len(left) > 0 {
		add("MCP servers that are commands of your machine were not started, as the agent is on another one: " + strings.Join(left, ", "))
	}
	return all
}
