package plugins

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/gajae-code/gjc/internal/trust"
)

const (
	// maxFile bounds one file of a plugin, in bytes, and maxFiles their number.
	maxFile  = 50 << 20
	maxFiles = 20_000
	// maxTotal bounds all files of a plugin, in bytes.
	maxTotal = 500 << 20
)

// errTree is wrapped by the error for a directory that cannot be a plugin.
var errTree = errors.New("it is not installed")

// node is a file or a link of a tree.
type node struct {
	// name is a slash-separated path.
	name string
	exec bool
	// link is the target of a symbolic link; empty for a file.
	link string
	size int64
}

// checker checks the names in a tree, whether they come from git or from a directory.
type checker struct {
	folded map[string]string
	files  int
	total  int64
}

func refused(name, format string, args ...any) error {
	return fmt.Errorf("%s %s; %w", trust.Printable(name), fmt.Sprintf(format, args...), errTree)
}

// add checks one file or link. Parents are checked with it, because on some systems "A/x" and "a/y" are in one directory.
func (c *checker) add(n *node) error {
	switch {
	case !fs.ValidPath(n.name) || !utf8.ValidString(n.name) || strings.ContainsAny(n.name, "\\:\x00") || !filepath.IsLocal(filepath.FromSlash(n.name)):
		return refused(n.name, "is a name that not every system can have")
	case slices.ContainsFunc(strings.Split(n.name, "/"), func(s string) bool { return strings.EqualFold(s, ".git") }):
		return refused(n.name, "is a part of a git repository in the plugin")
	case n.size > maxFile:
		return refused(n.name, "is larger than %d MB", maxFile>>20)
	}
	if c.folded == nil {
		c.folded = make(map[string]string)
	}
	for at := n.name; at != "."; at = path.Dir(at) {
		key := strings.ToLower(at)
		if other, ok := c.folded[key]; ok && other != at {
			return refused(n.name, "differs from %s only by upper and lower case", trust.Printable(other))
		}
		c.folded[key] = at
	}
	if c.files++; c.files > maxFiles {
		return fmt.Errorf("it has more than %d files; %w", maxFiles, errTree)
	}
	if c.total += n.size; c.total > maxTotal {
		return fmt.Errorf("it has more than %d MB; %w", maxTotal>>20, errTree)
	}
	return nil
}

// checkLink checks the target of a link.
func checkLink(n *node) error {
	to := filepath.ToSlash(n.link)
	if path.IsAbs(to) || filepath.IsAbs(n.link) || strings.ContainsAny(to, "\\:\x00") {
		return refused(n.name, "is a link out of the plugin")
	}
	if at := path.Join(path.Dir(n.name), to); at == ".." || strings.HasPrefix(at, "../") {
		return refused(n.name, "is a link out of the plugin")
	}
	return nil
}

// walk lists the files and links of a directory, sorted by name, and the directories, without the top's .git. It fails for anything
// that a plugin must not have. Links are checked by their text, and by what they lead to.
func walk(dir string) (nodes []node, dirs []string, err error) {
	root, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, nil, err
	}
	var c checker
	err = filepath.WalkDir(root, func(at string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, at)
		if err != nil {
			return err
		}
		name := filepath.ToSlash(rel)
		switch mode := d.Type(); {
		case name == ".git":
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		case d.IsDir():
			dirs = append(dirs, at)
			return nil
		case mode&fs.ModeSymlink != 0:
			n := node{name: name}
			if n.link, err = os.Readlink(at); err != nil {
				return err
			}
			nodes = append(nodes, n)
			return errors.Join(c.add(&n), checkLink(&n), checkTarget(root, at, name))
		case !mode.IsRegular():
			return refused(name, "is not a regular file")
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		n := node{name: name, exec: info.Mode()&0o111 != 0, size: info.Size()}
		nodes = append(nodes, n)
		return c.add(&n)
	})
	slices.SortFunc(nodes, func(a, b node) int { return strings.Compare(a.name, b.name) })
	return nodes, dirs, err
}

// checkTarget fails for a link that leads out of root by way of other links. A link to nothing is harmless.
func checkTarget(root, at, name string) error {
	real, err := filepath.EvalSymlinks(at)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return refused(name, "is a link that cannot be followed")
	}
	if rel, err := filepath.Rel(root, real); err != nil || !filepath.IsLocal(rel) {
		return refused(name, "is a link out of the plugin")
	}
	return nil
}

// content describes the files of a directory.
type content struct {
	sum string
	// files has the checksum of each file by its name.
	files map[string]string
}

// read returns the content of a directory. The sum is over the sorted names with their modes and contents.
func read(dir string) (*content, error) {
	nodes, _, err := walk(dir)
	if err != nil {
		return nil, err
	}
	c := &content{files: make(map[string]string)}
	all := sha256.New()
	for i := range nodes {
		n := &nodes[i]
		kind, sum := "file", ""
		switch {
		case n.link != "":
			hash := sha256.Sum256([]byte(filepath.ToSlash(n.link)))
			kind, sum = "link", hex.EncodeToString(hash[:])
		default:
			if n.exec {
				kind = "exec"
			}
			if sum, err = sumFile(filepath.Join(dir, filepath.FromSlash(n.name))); err != nil {
				return nil, err
			}
		}
		fmt.Fprintf(all, "%q %s %s\n", n.name, kind, sum)
		c.files[n.name] = kind + " " + sum
	}
	c.sum = hex.EncodeToString(all.Sum(nil))
	return c, nil
}

func sumFile(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	sum := sha256.New()
	n, err := io.Copy(sum, io.LimitReader(f, maxFile+1))
	if err == nil && n > maxFile {
		err = refused(filepath.Base(name), "is larger than %d MB", maxFile>>20)
	}
	return hex.EncodeToString(sum.Sum(nil)), err
}

// copyTree copies the files and links of a directory into another one, which must not exist.
func copyTree(from, to string) error {
	nodes, _, err := walk(from)
	if err != nil {
		return err
	}
	if err := os.Mkdir(to, 0o700); err != nil {
		return err
	}
	for i := range nodes {
		n := &nodes[i]
		dest := filepath.Join(to, filepath.FromSlash(n.name))
		if err := os.MkdirAll(filepath.Dir(dest), 0o700); err != nil {
			return err
		}
		if n.link != "" {
			err = os.Symlink(n.link, dest)
		} else {
			err = copyFile(filepath.Join(from, filepath.FromSlash(n.name)), dest, n.exec)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func copyFile(from, to string, exec bool) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	mode := fs.FileMode(0o600)
	if exec {
		mode = 0o700
	}
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	n, err := io.Copy(out, io.LimitReader(in, maxFile+1))
	if err == nil && n > maxFile { // it has grown since it was listed
		err = refused(filepath.Base(from), "is larger than %d MB", maxFile>>20)
	}
	return errors.Join(err, out.Close())
}

// changes lists how the files of two contents differ: "+ name", "- name" and "~ name".
func changes(before, after *content) []string {
	var all []string
	for name, sum := range after.files {
		switch old, ok := before.files[name]; {
		case !ok:
			all = append(all, "+ "+name)
		case old != sum:
			all = append(all, "~ "+name)
		}
	}
	for name := range before.files {
		if _, ok := after.files[name]; !ok {
			all = append(all, "- "+name)
		}
	}
	slices.SortFunc(all, func(a, b string) int { return strings.Compare(a[2:], b[2:]) })
	return all
}
