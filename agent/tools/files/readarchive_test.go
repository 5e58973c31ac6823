package files_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"io/fs"
	"strconv"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/tools/toolstest"
)

// member is a file for an archive; a name with a slash at its end is a directory.
type member struct{ name, text string }

func zipOf(t testing.TB, members ...member) string {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, m := range members {
		f, err := z.Create(m.name)
		if err == nil {
			_, err = f.Write([]byte(m.text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func tarOf(t testing.TB, members ...member) string {
	t.Helper()
	var b bytes.Buffer
	z := tar.NewWriter(&b)
	for _, m := range members {
		h := &tar.Header{Name: m.name, Size: int64(len(m.text)), Mode: 0o644}
		if link, ok := strings.CutPrefix(m.text, "-> "); ok {
			h.Typeflag, h.Linkname, h.Size, m.text = tar.TypeSymlink, link, 0, ""
		}
		err := z.WriteHeader(h)
		if err == nil {
			_, err = z.Write([]byte(m.text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func gzipOf(t testing.TB, text string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := z.Write([]byte(text))
	if err := errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestReadArchives(t *testing.T) {
	members := []member{{"docs/", ""}, {"docs/a.md", "one\ntwo\nthree\n"}, {"docs/a.md:2", "odd\n"}, {"main.go", "package main\n"}, {"../up.txt", "up\n"}, {"a\nb", "x"}, {"./dot.txt", "dot\n"}}
	w := toolstest.NewWorld(t, map[string]string{
		"a.zip": zipOf(t, members...), "b.tar": tarOf(t, members...), "c.TAR.GZ": gzipOf(t, tarOf(t, members...)), "d.tgz": gzipOf(t, tarOf(t, members...)),
	})
	for _, name := range []string{"a.zip", "b.tar", "c.TAR.GZ", "d.tgz"} {
		for path, want := range map[string]string{
			":main.go":              "    1|package main",
			":/main.go":             "    1|package main",
			":docs/a.md:3":          "    2|two\n    3|three",
			":docs/a.md:1-1:raw":    "one",
			":docs/a.md:2":          "    1|odd",
			":../up.txt":            "    1|up",
			":dot.txt":              "    1|dot",
			":docs/a.md:conflicts":  name + ":docs/a.md has no merge conflicts.",
			":docs/a.md:30-40:raw":  "[Line 30 is beyond the end: " + name + ":docs/a.md has 3 lines.]",
			":docs/a.md:2-2,3-3":    "    1|one\n    2|two\n    3|three",
			":docs/a.md:raw:2-3":    "two\nthree",
			":docs/../main.go:1-10": "    1|package main",
		} {
			toolstest.Same(t, name+path, toolstest.Run(t, w, "read", toolstest.Input{"path": name + path}).Text, want)
		}
		list := toolstest.Run(t, w, "read", toolstest.Input{"path": name}).Text
		for _, line := range []string{", 7 members)", "\n  docs/\n", "\n  docs/a.md  14 bytes\n", "\n  ../up.txt  3 bytes\n", "\n  \"a\\nb\"  1 byte\n"} {
			if !strings.Contains(list, line) {
				t.Errorf("%s has no %q:\n%s", name, line, list)
			}
		}
		for _, dir := range []string{":docs", ":docs/", ":/docs//"} {
			if got := toolstest.Run(t, w, "read", toolstest.Input{"path": name + dir}).Text; !strings.Contains(got, "2 members)\n  docs/a.md  14 bytes\n") {
				t.Errorf("%s%s: %q", name, dir, got)
			}
		}
		for path, want := range map[string]string{
			":a.md":          "has no member a.md; did you mean docs/a.md?",
			":main.og":       "did you mean main.go?",
			":nothing.at/al": "has no member nothing.at/al: file does not exist",
			":main.go:0":     "there is no line 0",
		} {
			if err := toolstest.Fails(t, w, "read", toolstest.Input{"path": name + path}); !strings.Contains(err.Error(), want) {
				t.Errorf("%s%s: %v", name, path, err)
			}
		}
	}
	toolstest.Same(t, "plan", toolstest.MustPlan(t, w, "read", toolstest.Input{"path": "a.zip:docs/a.md:3"}), &agent.CallPlan{
		Title: "Read a.zip:docs/a.md:3", Locations: []agent.Location{{Path: w.Path("a.zip")}}, Effects: []approval.Effect{{Action: approval.ActionRead, Path: w.Path("a.zip"), Member: "docs/a.md:3"}},
	})
	if len(w.FS.Reads) > 0 {
		t.Errorf("an archive was read whole: %v", w.FS.Reads)
	}
}

func TestReadArchives_Odd(t *testing.T) {
	var many []member
	for i := range 600 {
		many = append(many, member{"dir/file" + strconv.Itoa(i), "x"})
	}
	zeros := strings.Repeat("\x00", 65<<20)
	locked := []byte(zipOf(t, member{"secret.txt", "text"}))
	for _, magic := range []string{"PK\x01\x02", "PK\x03\x04"} {
		flags := 8
		if magic == "PK\x03\x04" {
			flags = 6
		}
		locked[bytes.Index(locked, []byte(magic))+flags] |= 1
	}
	whole := tarOf(t, member{"a", "text"}, member{"b", strings.Repeat("x", 5000)})
	w := toolstest.NewWorld(t, map[string]string{
		"many.zip": zipOf(t, many...), "bomb.zip": zipOf(t, member{"zeros", zeros}), "bomb.tgz": gzipOf(t, tarOf(t, member{"zeros", zeros})),
		"locked.zip": string(locked), "cut.tar": whole[:2000], "cut.tgz": gzipOf(t, whole)[:60], "cut.zip": zipOf(t, member{"a", "text"})[:40],
		"text.zip": "no archive\nat all\n", "empty.zip": zipOf(t), "link.tar": tarOf(t, member{"l", "-> ../../etc/passwd"}), "empty.tar": "",
		"one.gz": gzipOf(t, "no tar"), "x.tgz": gzipOf(t, "no tar"),
		"pic.zip": zipOf(t, member{"p.png", pictureOf(t, "png", 4, 4)}), "dir.zip/inner.txt": "a directory\n",
	})
	w.Model.Images = true
	if got := toolstest.Run(t, w, "read", toolstest.Input{"path": "many.zip"}).Text; strings.Count(got, "\n  dir/") != 500 || !strings.Contains(got, "[100 more; read many.zip:some/directory/ to list a part]") {
		t.Errorf("%q", got[len(got)-100:])
	}
	toolstest.Same(t, "no archive", toolstest.Run(t, w, "read", toolstest.Input{"path": "text.zip:2"}).Text, "    1|no archive\n    2|at all")
	toolstest.Same(t, "empty", toolstest.Run(t, w, "read", toolstest.Input{"path": "empty.zip"}).Text, "empty.zip is empty")
	toolstest.Same(t, "empty file", toolstest.Run(t, w, "read", toolstest.Input{"path": "empty.tar"}).Text, "(empty.tar is empty)")
	toolstest.Same(t, "a directory", toolstest.Run(t, w, "read", toolstest.Input{"path": "dir.zip/inner.txt"}).Text, "    1|a directory")
	if got := toolstest.Run(t, w, "read", toolstest.Input{"path": "locked.zip"}).Text; !strings.Contains(got, "secret.txt  4 bytes, encrypted") {
		t.Errorf("%q", got)
	}
	if got := toolstest.Run(t, w, "read", toolstest.Input{"path": "cut.tar"}).Text; !strings.Contains(got, "  a  4 bytes\n") || !strings.Contains(got, "The list ends here: the archive is broken") {
		t.Errorf("%q", got)
	}
	if got := toolstest.Run(t, w, "read", toolstest.Input{"path": "pic.zip:p.png"}); len(got.Images) != 1 {
		t.Errorf("%+v", got)
	}
	for path, want := range map[string]string{
		"bomb.zip:zeros":        "it unpacks to more than 64 MB",
		"bomb.tgz:zeros":        "it unpacks to more than 64 MB",
		"locked.zip:secret.txt": "it is encrypted",
		"cut.tgz":               "the archive is broken",
		"cut.zip":               "the archive is broken",
		"link.tar:l":            "it is a link to ../../etc/passwd",
		"x.tgz":                 "the file is binary",
		"missing.zip:a":         "missing.zip:a does not exist",
	} {
		_, res, err := toolstest.Do(t.Context(), toolstest.Tool(t, "read"), w.Call(t, "read", toolstest.Input{"path": path}))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %+v", path, err, res)
		}
	}
	if err := toolstest.Fails(t, w, "read", toolstest.Input{"path": "cut.tar:c"}); errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of an archive that ends too early: %v", err)
	}
}
