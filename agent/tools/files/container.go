package files

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/toolkit"
)

// container is a kind of file with parts that a path can name, after the file's name: "a.zip:docs/a.md:1-20".
type container struct {
	// suffixes are the suffixes of the names of such files, in lower case.
	suffixes []string
	// queries reports that a question mark may follow the name.
	queries bool
	// members reports that the parts are files with names of their own.
	members bool
	// show returns the result. It may return errNotContainer for a file that is of another kind despite its name.
	show func(ctx context.Context, call *agent.Call, f agent.OpenFile, name string, t *target) (*agent.Result, error)
}

// errNotContainer reports a file that has only the name of a container. It is shown as a regular file.
var errNotContainer = errors.New("the contents do not match the file name")

// containers lists the kinds.
func containers() []*container {
	return []*container{
		{suffixes: []string{".zip", ".tar", ".tar.gz", ".tgz"}, members: true, show: readArchive},
		{suffixes: []string{".sqlite", ".sqlite3", ".db", ".db3"}, queries: true, show: readSQLite},
	}
}

// longestSuffix is one more than the length of the longest suffix.
const longestSuffix = len(".sqlite3") + 1

// containerOf returns the kind of container that a file's name indicates, or nil.
func containerOf(name string) *container {
	name = strings.ToLower(name[max(0, len(name)-longestSuffix):])
	for _, c := range containers() {
		for _, suffix := range c.suffixes {
			if at := len(name) - len(suffix); at > 0 && name[at:] == suffix && name[at-1] != '/' {
				return c
			}
		}
	}
	return nil
}

// member returns the name of the file that the target is in an archive, with its selector; empty for none.
func (t *target) member() string {
	if t.container == nil || !t.container.members {
		return ""
	}
	return strings.TrimPrefix(t.inner, ":")
}

// inContainer returns the part of an existing container that a path names, or nil.
func inContainer(ctx context.Context, call *agent.Call, input string) *target {
	looked := 0
	for end := 1; end <= len(input) && looked < 10; end++ {
		if end < len(input) && input[end] != ':' && input[end] != '?' {
			continue
		}
		c := containerOf(input[:end])
		if c == nil || end < len(input) && input[end] == '?' && !c.queries {
			continue
		}
		looked++
		file := call.Workspace.Resolve(input[:end])
		if info, err := call.FS.Stat(ctx, file); err == nil && info.Mode().IsRegular() {
			return &target{path: file, container: c, inner: input[end:]}
		}
	}
	return nil
}

// read returns the result of read for a container.
func (c *container) read(ctx context.Context, call *agent.Call, name string, t *target) (*agent.Result, error) {
	opener, ok := call.FS.(agent.Opener)
	if !ok {
		return nil, fmt.Errorf("%s cannot be read: its files can only be read as text here", name)
	}
	f, err := opener.Open(ctx, t.path)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", name, toolkit.Reason(err))
	}
	defer func() { _ = f.Close() }() // read only
	res, err := c.show(ctx, call, f, name, t)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if !errors.Is(err, errNotContainer) {
		return res, err
	}
	// The name says one kind and the content another.
	_, sel, err := toolkit.SplitSelector("x" + t.inner)
	if err != nil {
		return nil, err
	}
	plain := &target{path: t.path, sel: sel}
	if info, err := f.Stat(); err == nil && info.Size() > toolkit.MaxReadFile {
		return readLong(ctx, call, name, plain)
	}
	data, err := call.FS.ReadFile(ctx, t.path)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, toolkit.Missing(ctx, call, t.path)
		}
		return nil, fmt.Errorf("%s cannot be read: %w", name, toolkit.Reason(err))
	}
	return showData(ctx, call, name, data, sel)
}
