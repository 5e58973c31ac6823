package bridges

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/internal/permit"
)

// remoteFS has the files of a client on another machine. The protocol reads and writes whole text files, and nothing else.
type remoteFS struct {
	client    bounded
	session   acp.SessionID
	workspace agent.Workspace
}

var _ agent.FS = (*remoteFS)(nil)

// ReadFile implements [agent.FS].
func (r *remoteFS) ReadFile(ctx context.Context, path string) ([]byte, error) {
	if real, judged, err := approval.Reading(ctx, path); err != nil {
		return nil, err
	} else if judged && r.RealPath(path) != real {
		return nil, moved("read", path)
	}
	return r.read(ctx, path)
}

func (r *remoteFS) read(ctx context.Context, path string) ([]byte, error) {
	resp, err := acp.MethodFSReadTextFile.Call(ctx, r.client, &acp.ReadTextFileRequest{SessionID: r.session, Path: path})
	if err == nil {
		return []byte(resp.Content), nil
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if e, ok := errors.AsType[*acp.Error](err); ok && saysAbsent(e) {
		return nil, &fs.PathError{Op: "read", Path: path, Err: fs.ErrNotExist}
	}
	return nil, fmt.Errorf("the editor could not read %s: %w", path, err)
}

// saysAbsent reports whether an editor's error is about a file that does not exist. There is a code for it, which not every editor uses.
func saysAbsent(e *acp.Error) bool {
	if e.Code == acp.ErrorCodeResourceNotFound {
		return true
	}
	words := strings.ToLower(e.Message + " " + string(e.Data))
	for _, w := range [...]string{"enoent", "no such file", "not found", "does not exist", "cannot find the"} {
		if strings.Contains(words, w) {
			return true
		}
	}
	return false
}

// WriteFile implements [agent.FS].
func (r *remoteFS) WriteFile(ctx context.Context, path string, data []byte) error {
	if real, _, err := approval.Changing(ctx, path); err != nil {
		return err
	} else if real != "" && r.RealPath(path) != real {
		return moved("write", path)
	}
	if !utf8.Valid(data) {
		return fmt.Errorf("%s was not written: the editor takes only text", path)
	}
	_, err := acp.MethodFSWriteTextFile.Call(ctx, r.client, &acp.WriteTextFileRequest{SessionID: r.session, Path: path, Content: string(data)})
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	if _, silent := errors.AsType[*unansweredError](err); silent {
		return fmt.Errorf("the editor could not write %s: %w; it may still do so, read the file again before you change it", path, err)
	}
	return fmt.Errorf("the editor could not write %s: %w", path, err)
}

// errNotOffered is wrapped by the errors for what an editor has no method for.
var errNotOffered = fmt.Errorf("%w by the editor, whose files these are; use a command", errors.ErrUnsupported)

// Remove implements [agent.FS].
func (r *remoteFS) Remove(_ context.Context, path string) error {
	return &fs.PathError{Op: "remove", Path: path, Err: errNotOffered}
}

// Rename implements [agent.FS].
func (r *remoteFS) Rename(_ context.Context, from, _ string) error {
	return &fs.PathError{Op: "rename", Path: from, Err: errNotOffered}
}

// ReadDir implements [agent.FS].
func (r *remoteFS) ReadDir(_ context.Context, path string) ([]fs.DirEntry, error) {
	return nil, &fs.PathError{Op: "list", Path: path, Err: errNotOffered}
}

// Stat implements [agent.FS]. Of what exists, it knows the session's directories and text files.
func (r *remoteFS) Stat(ctx context.Context, path string) (fs.FileInfo, error) {
	if err := permit.Check(ctx, permit.Effect{Action: permit.Look, Path: path}); err != nil {
		return nil, err
	}
	if slices.Contains(append([]string{r.workspace.Cwd}, r.workspace.Additional...), path) {
		return remoteInfo{name: filepath.Base(path), dir: true}, nil
	}
	data, err := r.read(ctx, path)
	if err != nil {
		return nil, err
	}
	return remoteInfo{name: filepath.Base(path), size: int64(len(data))}, nil
}

// RealPath implements [agent.FS]. Only the client knows its links.
func (r *remoteFS) RealPath(path string) string { return filepath.Clean(path) }

// remoteInfo describes a file of the client.
type remoteInfo struct {
	name string
	size int64
	dir  bool
}

func (i remoteInfo) Name() string { return i.name }

func (i remoteInfo) Size() int64 { return i.size }

func (i remoteInfo) Mode() fs.FileMode {
	if i.dir {
		return fs.ModeDir | 0o755
	}
	return 0o644
}

func (i remoteInfo) ModTime() time.Time { return time.Time{} }

func (i remoteInfo) IsDir() bool { return i.dir }

func (i remoteInfo) Sys() any { return nil }

// remoteTerminal runs commands in the terminals of a client on another machine, which has a POSIX shell.
type remoteTerminal struct {
	offered bool
	client  bounded
	session acp.SessionID
}

var _ agent.Terminal = (*remoteTerminal)(nil)

// Start implements [agent.Terminal].
func (r *remoteTerminal) Start(ctx context.Context, cmd agent.Command) (agent.Execution, error) {
	if !r.offered {
		return nil, fmt.Errorf("commands: %w: the editor has no terminals, and the files are not on this machine", errors.ErrUnsupported)
	}
	limit := int64(cmd.OutputLimit)
	if limit == 0 {
		limit = agent.DefaultOutputLimit
	}
	req := &acp.CreateTerminalRequest{SessionID: r.session, Command: "sh", Args: []string{"-c", cmd.Line}, Cwd: cmd.Dir, OutputByteLimit: &limit}
	if len(cmd.Args) > 0 {
		req.Command, req.Args = cmd.Args[0], cmd.Args[1:]
	}
	if err := permit.Check(ctx, permit.Effect{Action: permit.Run, Path: req.Command}); err != nil {
		return nil, err
	}
	for _, kv := range append(quietEnv[:len(quietEnv):len(quietEnv)], cmd.Env...) {
		name, value, _ := strings.Cut(kv, "=")
		req.Env = append(req.Env, acp.EnvVariable{Name: name, Value: value})
	}
	e := &clientExecution{client: r.client, session: r.session}
	if err := e.start(ctx, req); err != nil {
		return nil, err
	}
	return e, nil
}

// noPrograms are the tools' helper programs for files that are not here: there are none.
type noPrograms struct{}

var _ agent.Programs = noPrograms{}

// LookPath implements [agent.Programs].
func (noPrograms) LookPath(name string) (string, error) {
	return "", fmt.Errorf("%s: the files are on the client's machine: %w", name, fs.ErrNotExist)
}

// Output implements [agent.Programs].
func (noPrograms) Output(_ context.Context, p agent.Program, _ int) ([]byte, error) {
	return nil, fmt.Errorf("%s: the files are on the client's machine: %w", p.Path, errors.ErrUnsupported)
}
