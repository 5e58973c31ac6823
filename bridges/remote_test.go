package bridges_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/bridges"
)

// answering is a client that answers requests with a function.
type answering func(method string, params any) (result any, err error)

func (a answering) Call(_ context.Context, method string, params, result any) error {
	v, err := a(method, params)
	if read, ok := v.(*acp.ReadTextFileResponse); ok && err == nil {
		*result.(*acp.ReadTextFileResponse) = *read
	}
	return err
}

func (a answering) Notify(context.Context, string, any) error { return nil }

// A remote client's files are its own: nothing is taken from this machine's disk, whatever the client answers.
func TestRemote(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file.txt")
	if err := os.WriteFile(path, []byte("this machine's"), 0o600); err != nil {
		t.Fatal(err)
	}
	var answer func(method string) (any, error)
	set := bridges.New(bridges.Options{
		Client: answering(func(method string, _ any) (any, error) { return answer(method) }), Workspace: agent.Workspace{Cwd: dir}, Apart: true,
		Capabilities: acp.ClientCapabilities{FS: acp.FileSystemCapabilities{ReadTextFile: true, WriteTextFile: true}},
	})
	defer set.Close(t.Context())
	for _, c := range []struct {
		name   string
		err    error
		absent bool
	}{
		{"by its code", &acp.Error{Code: acp.ErrorCodeResourceNotFound, Message: "gone"}, true},
		{"by its words", &acp.Error{Code: acp.ErrorCodeInternalError, Message: "ENOENT: no such file or directory"}, true},
		{"by its data", &acp.Error{Code: acp.ErrorCodeInternalError, Message: "Internal error", Data: []byte(`"File not found"`)}, true},
		{"a file that cannot be read", &acp.Error{Code: acp.ErrorCodeInternalError, Message: "permission denied"}, false},
		{"no such method", &acp.Error{Code: acp.ErrorCodeMethodNotFound, Message: "unknown method"}, false},
		{"the connection", errors.New("not found in any route"), false},
	} {
		answer = func(string) (any, error) { return nil, c.err }
		_, err := set.FS.ReadFile(own(t), path)
		_, statErr := set.FS.Stat(own(t), path)
		for _, err := range []error{err, statErr} {
			if err == nil || errors.Is(err, fs.ErrNotExist) != c.absent {
				t.Errorf("%s: %v", c.name, err)
			}
		}
		if err := set.FS.WriteFile(own(t), path, []byte("x")); err == nil {
			t.Errorf("%s: a write that failed is no error", c.name)
		}
	}
	answer = func(string) (any, error) { return &acp.ReadTextFileResponse{Content: "the client's"}, nil }
	if info, err := set.FS.Stat(own(t), path); err != nil || info.Size() != int64(len("the client's")) || !info.Mode().IsRegular() {
		t.Errorf("Stat: %v, %v", info, err)
	}
	if info, err := set.FS.Stat(own(t), dir); err != nil || !info.IsDir() {
		t.Errorf("Stat of the workspace: %v, %v", info, err)
	}
	if err := set.FS.WriteFile(own(t), path, []byte("\xff\x00")); err == nil || !strings.Contains(err.Error(), "only text") {
		t.Errorf("writing what is no text: %v", err)
	}
	_, listErr := set.FS.ReadDir(own(t), dir)
	for name, err := range map[string]error{"list": listErr, "remove": set.FS.Remove(own(t), path), "rename": set.FS.Rename(own(t), path, path+"2")} {
		if !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := set.Programs.LookPath("sh"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a program of this machine was found: %v", err)
	}
	if _, err := set.Terminal.Start(own(t), agent.Command{Line: "touch " + path + ".ran"}); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a command without terminals of the client: %v", err)
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != "this machine's" {
		t.Errorf("this machine's file has %q, %v", data, err)
	}
}
