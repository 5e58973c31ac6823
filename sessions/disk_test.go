package sessions_test

import (
	"errors"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/gajae-code/gjc/sessions"
)

var errBroken = errors.New("the disk is broken")

// disk is a file system whose files can hold room bytes in total. A write that exceeds that is partial and returns ENOSPC.
type disk struct {
	room      int
	truncates bool // whether Truncate works
	syncErr   error
	syncs     int
	writes    int
}

// diskFS is the real file system, except that a disk limits what is written to files.
type diskFS struct {
	sessions.FileSystem
	disk *disk
}

func (d diskFS) OpenFile(name string, flag int, perm os.FileMode) (sessions.File, error) {
	f, err := d.FileSystem.OpenFile(name, flag, perm)
	if err != nil || flag == os.O_RDONLY {
		return f, err
	}
	return &diskFile{f, d.disk}, nil
}

type diskFile struct {
	sessions.File
	disk *disk
}

func (f *diskFile) Write(p []byte) (int, error) {
	f.disk.writes++
	fits := min(len(p), f.disk.room)
	n, err := f.File.Write(p[:fits])
	f.disk.room -= n
	if err == nil && n < len(p) {
		err = syscall.ENOSPC
	}
	return n, err
}

func (f *diskFile) Truncate(size int64) error {
	if !f.disk.truncates {
		return errBroken
	}
	return f.File.Truncate(size)
}

func (f *diskFile) Sync() error {
	f.disk.syncs++
	return f.disk.syncErr
}

func withDisk(d *disk) func(*sessions.StoreOptions) {
	return func(o *sessions.StoreOptions) { o.FS = diskFS{sessions.Disk(), d} }
}

func TestFullDisk_KeepsWholeLinesAndRecovers(t *testing.T) {
	for _, truncates := range []bool{true, false} {
		for room := 0; room < 420; room += 7 {
			d := &disk{room: 1 << 20, truncates: truncates}
			s := newStore(t, withDisk(d))
			l := create(t, s)
			first := appendMessage(t, l, user("before"))
			before := readFile(t, l.Path())
			d.room = room

			var failed error
			kept := 0
			for failed == nil {
				if _, err := l.AppendMessage(new(user("a message"))); err != nil {
					failed = err
				} else {
					kept++
				}
			}
			if !errors.Is(failed, sessions.ErrReadOnly) || !errors.Is(failed, syscall.ENOSPC) {
				t.Fatalf("room %d: err = %v", room, failed)
			}
			// While there is no room, no entry is accepted.
			if err := l.SetTitle("t", "user"); !errors.Is(err, sessions.ErrReadOnly) || l.Err() == nil {
				t.Fatalf("room %d: SetTitle: %v", room, err)
			}
			if n := len(allMessages(t, l)); n != 1+kept {
				t.Fatalf("room %d: %d messages in memory, want %d", room, n, 1+kept)
			}
			got := readFile(t, l.Path())
			if !strings.HasPrefix(got, before) || truncates && (lines(got) != 2+kept || !strings.HasSuffix(got, "\n")) {
				t.Fatalf("room %d: the file is %q", room, got)
			}
			// With room again, the log continues, and so does a log that is opened then.
			d.room, d.truncates = 1<<20, true
			for range 2 {
				appendMessage(t, l, user("writable again"))
				kept++
				if err := l.Err(); err != nil {
					t.Fatalf("room %d: %v", room, err)
				}
				if got := readFile(t, l.Path()); !strings.HasPrefix(got, before) || lines(got) != 2+kept || !strings.HasSuffix(got, "\n") {
					t.Fatalf("room %d: the file is %q", room, got)
				}
				closeLog(t, l)
				l = open(t, s, l.ID())
				if got := allEntries(t, l); len(got) != 1+kept || got[0].Ref().ID != first {
					t.Fatalf("room %d: %d entries, want %d", room, len(got), 1+kept)
				}
			}
		}
	}
}

func TestFullDisk_CreateLeavesNothing(t *testing.T) {
	for room := range 90 { // less than a header needs
		d := &disk{room: room, truncates: true}
		s := newStore(t, withDisk(d))
		if _, err := s.Create(t.Context(), sessions.Header{Cwd: "/w/demo"}); !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("room %d: err = %v", room, err)
		}
		left, err := os.ReadDir(s.Dir() + "/--w-demo--")
		if err != nil || len(left) > 0 {
			t.Fatalf("room %d: left %v, %v", room, left, err)
		}
	}
}

func TestSync_FailureIsTakenBack(t *testing.T) {
	d := &disk{room: 1 << 20, truncates: true}
	s := newStore(t, withDisk(d))
	l := create(t, s)
	d.syncErr = errBroken
	for range 2 {
		if _, err := l.AppendMessage(new(user("x"))); !errors.Is(err, errBroken) || !errors.Is(err, sessions.ErrReadOnly) {
			t.Errorf("err = %v", err)
		}
	}
	d.syncErr = nil
	appendMessage(t, l, user("y"))
	closeLog(t, l)
	if got := allMessages(t, open(t, s, l.ID())); len(got) != 1 || got[0].Text() != "y" {
		t.Errorf("the messages are %v, want y alone", got)
	}
}

// A log does not write to a file that another program has changed after a failed write: the other program's data stays.
func TestRecovery_NoticesAnotherWriter(t *testing.T) {
	d := &disk{room: 1 << 20}
	s := newStore(t, withDisk(d))
	l := create(t, s)
	appendMessage(t, l, user("ours"))
	d.room = 100
	if _, err := l.AppendMessage(new(user("torn"))); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("err = %v", err)
	}
	d.room, d.truncates = 1<<20, true
	torn := readFile(t, l.Path())
	if err := os.WriteFile(l.Path(), []byte(torn[:len(torn)-20]+"written by another "), 0o600); err != nil {
		t.Fatal(err)
	}
	before := readFile(t, l.Path())
	for range 2 {
		if _, err := l.AppendMessage(new(user("more"))); !errors.Is(err, sessions.ErrReadOnly) || !strings.Contains(err.Error(), "another program") {
			t.Errorf("err = %v", err)
		}
	}
	if got := readFile(t, l.Path()); got != before {
		t.Errorf("the file was changed:\n%s\nwant\n%s", got, before)
	}
}

// noHandles is a file system on which no file can be opened while the process is out of descriptors.
type noHandles struct {
	sessions.FileSystem
	short bool
}

func (n *noHandles) OpenFile(name string, flag int, perm os.FileMode) (sessions.File, error) {
	if n.short {
		return nil, syscall.EMFILE
	}
	return n.FileSystem.OpenFile(name, flag, perm)
}

func (n *noHandles) SyncDir(name string) error {
	if n.short {
		return syscall.EMFILE
	}
	return n.FileSystem.SyncDir(name)
}

// A process that is temporarily out of descriptors keeps its sessions usable.
func TestRecovery_TooManyOpenFiles(t *testing.T) {
	n := &noHandles{FileSystem: sessions.Disk()}
	s := newStore(t, func(o *sessions.StoreOptions) { o.FS = n })
	l := create(t, s)
	n.short = true
	for range 3 { // the first message syncs the directory
		if _, err := l.AppendMessage(new(user("x"))); !errors.Is(err, syscall.EMFILE) {
			t.Fatalf("err = %v", err)
		}
	}
	n.short = false
	appendMessage(t, l, user("y"))
	if got := allMessages(t, l); len(got) != 1 || got[0].Text() != "y" {
		t.Errorf("the messages are %v, want y alone", got)
	}
}

func TestSync_Policies(t *testing.T) {
	for policy, want := range map[sessions.SyncPolicy]int{
		sessions.SyncMessages: 2, // message (with the header before it), compaction
		sessions.SyncAll:      5,
		sessions.SyncNever:    0,
	} {
		d := &disk{room: 1 << 20, truncates: true}
		s := newStore(t, withDisk(d), func(o *sessions.StoreOptions) { o.Sync = policy })
		l := create(t, s)
		appendMessage(t, l, user("x"))
		appendEntry(t, l, sessions.Compaction{Summary: "s"})
		appendEntry(t, l, sessions.ModeChange{Mode: "plan"})
		if err := l.SetTitle("t", "user"); err != nil {
			t.Fatal(err)
		}
		if d.syncs != want {
			t.Errorf("policy %d: %d syncs, want %d", policy, d.syncs, want)
		}
		if d.writes != 5 {
			t.Errorf("policy %d: %d writes for five lines", policy, d.writes)
		}
	}
}

func TestAppend_NoticesAnotherWriter(t *testing.T) {
	s := newStore(t)
	l := create(t, s)
	appendMessage(t, l, user("ours"))
	f, err := os.OpenFile(l.Path(), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(entryLine("f0000001", "", "theirs")); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := l.AppendMessage(new(user("lost"))); !errors.Is(err, sessions.ErrReadOnly) || !strings.Contains(err.Error(), "another program") {
		t.Errorf("err = %v", err)
	}
	closeLog(t, l)
	l = open(t, s, l.ID())
	if got := len(allEntries(t, l)); got != 2 {
		t.Errorf("%d entries, want 2", got)
	}
	appendMessage(t, l, user("fine again"))
}

func TestAppend_FromManyGoroutines(t *testing.T) {
	s := newStore(t, func(o *sessions.StoreOptions) { o.Sync, o.Clock = sessions.SyncNever, nil })
	l := create(t, s)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 25 {
				if _, err := l.AppendMessage(new(user("x"))); err != nil {
					t.Error(err)
				}
				_, _, _, _ = allMessages(t, l), l.State(), allEntries(t, l), l.Notices()
			}
		})
	}
	wg.Wait()
	closeLog(t, l)
	if _, err := l.AppendMessage(new(user("x"))); !errors.Is(err, sessions.ErrClosed) {
		t.Errorf("append after Close: %v", err)
	}
	if got := len(allMessages(t, open(t, s, l.ID()))); got != 200 {
		t.Errorf("%d messages, want 200", got)
	}
}
