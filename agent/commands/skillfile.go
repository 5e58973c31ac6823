package commands

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/gajae-code/gjc/agent/approval"
)

// errSkillFile is wrapped by the error for a skill's file that cannot be read.
var errSkillFile = errors.New("this file of the skill cannot be read")

// ReadSkill returns the text of a skill without front matter, or the contents of a file at a slash-separated path below the skill's
// directory.
func (s *Set) ReadSkill(name, file string) ([]byte, error) {
	e := s.byName[SkillPrefix+name]
	if e == nil {
		return nil, fmt.Errorf("%w: there is no skill %q", errSkillFile, name)
	}
	if file == "" || file == "SKILL.md" {
		return []byte(e.body), nil
	}
	fail := func(why string) error {
		return fmt.Errorf("%w: %s of the skill %s %s", errSkillFile, file, name, why)
	}
	if strings.Contains(file, `\`) || !fs.ValidPath(file) {
		return nil, fail("must be a path below the skill's directory, without \"..\"")
	}
	dir := filepath.Dir(e.path)
	var files fs.FS
	at := file
	if e.root == "" {
		files = os.DirFS(dir)
	} else {
		root, err := os.OpenRoot(e.root)
		if err != nil {
			return nil, fail("does not exist")
		}
		defer func() { _ = root.Close() }()
		below, err := filepath.Rel(e.root, dir)
		if err != nil {
			return nil, fail("does not exist")
		}
		files, at = approval.Guidance(e.root, root.FS()), path.Join(filepath.ToSlash(below), file)
	}
	switch info, err := fs.Stat(files, at); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fail("does not exist")
	case errors.Is(err, approval.ErrWithheld):
		return nil, fail("points to a file that holds secrets")
	case err != nil:
		return nil, fail("points outside the workspace, or cannot be read")
	case !info.Mode().IsRegular(): // opening a pipe would block
		return nil, fail("is not a regular file")
	case info.Size() > maxSkillFile:
		return nil, fail(fmt.Sprintf("is larger than %d KiB", maxSkillFile>>10))
	}
	f, err := files.Open(at)
	if err != nil {
		return nil, fail("cannot be opened")
	}
	defer func() { _ = f.Close() }()
	return io.ReadAll(io.LimitReader(f, maxSkillFile))
}
