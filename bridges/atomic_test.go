package bridges

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A new file never replaces one that has appeared in the meantime, whichever way it gets its name.
func TestPublish_ReplacesNothing(t *testing.T) {
	for name, publish := range map[string]func(dir *os.Root, temp, name string) error{"rename": publish, "link": publishByLink} {
		t.Run(name, func(t *testing.T) {
			dir := openRoot(t)
			for _, file := range []string{"temp", "there"} {
				if err := dir.WriteFile(file, []byte(file), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := publish(dir, "temp", "there"); !errors.Is(err, fs.ErrExist) {
				t.Errorf("publish over a file: %v", err)
			}
			if text, err := dir.ReadFile("there"); string(text) != "there" {
				t.Errorf("the file holds %q, %v", text, err)
			}
			if err := publish(dir, "temp", "free"); err != nil {
				t.Fatal(err)
			}
			if got, want := namesIn(t, dir), []string{"free", "there"}; !cmp.Equal(got, want) {
				t.Errorf("the directory has %q, want %q", got, want)
			}
		})
	}
}

// A failed write leaves the old file and no temporary file.
func TestWriteAtomic_FailsWhole(t *testing.T) {
	dir := openRoot(t)
	if err := dir.WriteFile("there", []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := writeAtomic(dir, "there", []byte("new"), nil); !errors.Is(err, fs.ErrExist) {
		t.Errorf("err = %v", err)
	}
	if text, err := dir.ReadFile("there"); string(text) != "old" {
		t.Errorf("the file holds %q, %v", text, err)
	}
	if got := namesIn(t, dir); !cmp.Equal(got, []string{"there"}) {
		t.Errorf("the directory has %q", got)
	}
}

// TestLeftovers checks that the next write into a directory removes the temporary files of killed processes, but no file that a
// process is writing and no file with a similar name.
func TestLeftovers(t *testing.T) {
	path := t.TempDir()
	dead, alive := temporaryName("a.txt"), temporaryName("b.txt")
	if runtime.GOOS == "windows" {
		t.Log("open files cannot be removed there")
	}
	for _, name := range []string{dead, alive, ".a.txt.gjc-abc", "a.txt.gjc-ABCDEFGH", "a.txt"} {
		if err := os.WriteFile(filepath.Join(path, name), []byte("text"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	directory := temporaryName("dir")
	if err := os.Mkdir(filepath.Join(path, directory), 0o700); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(filepath.Join(path, alive), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	claim(f)
	if err := (LocalFS{new(leftovers)}).WriteFile(own(t), filepath.Join(path, "new.txt"), []byte("text")); err != nil {
		t.Fatal(err)
	}
	dir, err := os.OpenRoot(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = dir.Close() }()
	want := []string{alive, ".a.txt.gjc-abc", directory, "a.txt", "a.txt.gjc-ABCDEFGH", "new.txt"}
	slices.Sort(want)
	if diff := cmp.Diff(want, namesIn(t, dir)); diff != "" {
		t.Errorf("the directory (-want +got):\n%s", diff)
	}
}

func openRoot(t *testing.T) *os.Root {
	t.Helper()
	dir, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = dir.Close() })
	return dir
}

func namesIn(t *testing.T, dir *os.Root) []string {
	t.Helper()
	list, err := dir.Open(".")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = list.Close() }()
	names, err := list.Readdirnames(-1)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	return names
}
