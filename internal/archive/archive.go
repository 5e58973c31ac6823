// Package archive lists archives (zip, tar, tar.gz), reads single members, and replaces them in memory. It writes
// nothing to the disk, so the names of members are harmless.
package archive

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path"
	"strings"
	"time"
)

// Limits of reading an archive.
const (
	// maxDirectory is the maximum size of a zip file's directory, in bytes.
	maxDirectory = 64 << 20
	// maxStream is the maximum number of unpacked bytes that are read from a tar.
	maxStream = 4 << 30
	// maxEntries is the maximum number of members.
	maxEntries = 200_000
	// maxTime is the maximum time for reading an archive.
	maxTime = 10 * time.Second
)

// Errors of this package.
var (
	// ErrFormat reports a file that is not an archive of a supported kind.
	ErrFormat = errors.New("not an archive")
	// errBroken reports an archive that cannot be read to its end.
	errBroken = errors.New("the archive is broken")
	// errEncrypted reports a member that needs a password.
	errEncrypted = errors.New("it is encrypted")
	// errTooLarge reports an archive or a member above the limits.
	errTooLarge = errors.New("it is too large")
)

// Entry is a member of an archive.
type Entry struct {
	// Name is the slash-separated name in the archive; that of a directory ends with a slash.
	Name string
	// Size is the unpacked size that the archive declares, in bytes. It can be wrong.
	Size int64
	Mode fs.FileMode
	// Link is the target of a symbolic or hard link of a tar.
	Link      string
	Encrypted bool
}

// Dir reports whether e is a directory.
func (e *Entry) Dir() bool { return strings.HasSuffix(e.Name, "/") }

// Archive is an open archive. It reads from the file that it was opened with and needs no closing.
type Archive struct {
	// Kind is "zip", "tar" or "tar.gz".
	Kind string

	file io.ReaderAt
	size int64
	zip  *zip.Reader
}

// Open detects the kind of an archive and reads the directory of a zip.
func Open(file io.ReaderAt, size int64) (a *Archive, err error) {
	head := make([]byte, 512)
	n, err := file.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	head = head[:n]
	a = &Archive{file: file, size: size}
	switch {
	case bytes.HasPrefix(head, []byte("PK\x03\x04")), bytes.HasPrefix(head, []byte("PK\x05\x06")):
		a.Kind = "zip"
		list := &bounded{file, maxDirectory}
		a.zip, err = zip.NewReader(list, size)
		switch {
		case errors.Is(err, errTooLarge):
			return nil, fmt.Errorf("%w: its list of members has more than %d MB", errTooLarge, maxDirectory>>20)
		case err != nil && !errors.Is(err, zip.ErrInsecurePath):
			return nil, fmt.Errorf("%w: %w", errBroken, err)
		}
		list.left = math.MaxInt64 // members have their own limits
		return a, nil
	case bytes.HasPrefix(head, []byte("\x1f\x8b")):
		a.Kind = "tar.gz"
		gz, err := gzip.NewReader(io.NewSectionReader(file, 0, size))
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errBroken, err)
		}
		inner, err := io.ReadAll(io.LimitReader(gz, 512))
		switch {
		case err != nil:
			return nil, fmt.Errorf("%w: %w", errBroken, err)
		case !isTar(inner):
			return nil, ErrFormat
		}
	case isTar(head):
		a.Kind = "tar"
	default:
		return nil, ErrFormat
	}
	return a, nil
}

// bounded is a file of which only a limited number of bytes can be read.
type bounded struct {
	file io.ReaderAt
	left int64
}

func (b *bounded) ReadAt(p []byte, at int64) (int, error) {
	if b.left -= int64(len(p)); b.left < 0 {
		return 0, errTooLarge
	}
	return b.file.ReadAt(p, at)
}

// isTar reports whether block is the first block of a tar, with a valid checksum.
func isTar(block []byte) bool {
	if len(block) < 512 {
		return false
	}
	if bytes.Count(block, []byte{0}) == 512 {
		return false
	}
	if string(block[257:262]) == "ustar" {
		return true
	}
	_, err := tar.NewReader(bytes.NewReader(append(block[:512:512], make([]byte, 1024)...))).Next()
	return err == nil || errors.Is(err, tar.ErrInsecurePath)
}

// each calls fn for the members in order until it returns false. The result of open is valid during the call only.
func (a *Archive) each(ctx context.Context, fn func(e *Entry, open func() (io.Reader, error)) bool) error {
	stop := &watched{ctx: ctx, deadline: time.Now().Add(maxTime)}
	if a.Kind == "zip" {
		for i, f := range a.zip.File {
			if i%1000 == 0 {
				if err := stop.check(); err != nil {
					return err
				}
			}
			e := &Entry{Name: f.Name, Size: int64(min(f.UncompressedSize64, 1<<62)), Mode: f.Mode(), Encrypted: f.Flags&1 != 0}
			if !fn(e, func() (io.Reader, error) { return openZip(f, stop) }) || i == maxEntries {
				return nil
			}
		}
		return nil
	}
	stop.r = io.NewSectionReader(a.file, 0, a.size)
	var r io.Reader = bufio.NewReaderSize(stop, 256<<10)
	if a.Kind == "tar.gz" {
		gz, err := gzip.NewReader(r)
		if err != nil {
			return fmt.Errorf("%w: %w", errBroken, err)
		}
		r = gz
	}
	t := tar.NewReader(&limited{r: r, left: maxStream})
	for range maxEntries {
		h, err := t.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, tar.ErrInsecurePath):
		case errors.Is(err, errTooLarge), errors.Is(err, errSlow), ctx.Err() != nil:
			return err
		case err != nil:
			return fmt.Errorf("%w: %w", errBroken, err)
		}
		e := &Entry{Name: h.Name, Size: h.Size, Mode: h.FileInfo().Mode(), Link: h.Linkname}
		if h.Typeflag == tar.TypeDir && !e.Dir() {
			e.Name += "/"
		}
		if !fn(e, func() (io.Reader, error) { return t, nil }) {
			return nil
		}
	}
	return nil
}

func openZip(f *zip.File, stop *watched) (io.Reader, error) {
	if f.Flags&1 != 0 {
		return nil, errEncrypted
	}
	r, err := f.Open()
	switch {
	case errors.Is(err, zip.ErrAlgorithm):
		return nil, fmt.Errorf("its compression method %d is not supported", f.Method)
	case err != nil:
		return nil, fmt.Errorf("%w: %w", errBroken, err)
	}
	return &watched{ctx: stop.ctx, deadline: stop.deadline, r: r}, nil
}

// errSlow reports that reading took longer than maxTime.
var errSlow = fmt.Errorf("%w: going through it takes longer than %v", errTooLarge, maxTime)

// watched is a reader that fails when its context or its time ends.
type watched struct {
	ctx      context.Context //nolint:containedctx // bounds one walk of an archive: an io.Reader has no context
	deadline time.Time
	r        io.Reader
}

func (w *watched) check() error {
	if w.ctx.Err() != nil {
		return context.Cause(w.ctx)
	}
	if time.Now().After(w.deadline) {
		return errSlow
	}
	return nil
}

func (w *watched) Read(p []byte) (int, error) {
	if err := w.check(); err != nil {
		return 0, err
	}
	return w.r.Read(p)
}

// limited is a reader that fails after a number of bytes, whereas an [io.LimitedReader] would return [io.EOF].
type limited struct {
	r    io.Reader
	left int64
}

func (l *limited) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, fmt.Errorf("%w: it unpacks to more than %d GB", errTooLarge, int64(maxStream)>>30)
	}
	n, err := l.r.Read(p[:min(int64(len(p)), l.left)])
	l.left -= int64(n)
	return n, err
}

// List returns the members below dir in order, at most most of them, and their total number. dir is "" for all members.
// On an error it returns what it found before.
func (a *Archive) List(ctx context.Context, dir string, most int) (entries []Entry, total int, err error) {
	prefix := ""
	if dir = Clean(dir); dir != "" {
		prefix = dir + "/"
	}
	err = a.each(ctx, func(e *Entry, _ func() (io.Reader, error)) bool {
		name := Clean(e.Name)
		if !strings.HasPrefix(name+"/", prefix) || name+"/" == prefix || name == "" {
			return true
		}
		if total++; len(entries) < most {
			entries = append(entries, *e)
		}
		return true
	})
	return entries, total, err
}

// ReadFile returns a member of at most limit bytes. The error for a directory, even one that exists only as a prefix of
// names, wraps [fs.ErrInvalid], and that for an unknown name [fs.ErrNotExist].
func (a *Archive) ReadFile(ctx context.Context, name string, limit int64) (data []byte, err error) {
	want := Clean(name)
	err = fmt.Errorf("there is no %s in it: %w", name, fs.ErrNotExist)
	walked := a.each(ctx, func(e *Entry, open func() (io.Reader, error)) bool {
		have := Clean(e.Name)
		if have != want {
			if strings.HasPrefix(have, want+"/") {
				err = fs.ErrInvalid
			}
			return true
		}
		switch {
		case e.Dir():
			err = fs.ErrInvalid
			return true
		case e.Link != "":
			err = fmt.Errorf("it is a link to %s", e.Link)
			return false
		}
		data, err = readMember(open, limit)
		return false
	})
	if walked != nil && data == nil {
		return nil, walked
	}
	return data, err
}

func readMember(open func() (io.Reader, error), limit int64) ([]byte, error) {
	r, err := open()
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	switch {
	case int64(len(data)) > limit:
		return nil, fmt.Errorf("%w: it unpacks to more than %d MB", errTooLarge, limit>>20)
	case errors.Is(err, errTooLarge), errors.Is(err, context.Canceled):
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("%w: %w", errBroken, err)
	case data == nil:
		return []byte{}, nil
	}
	return data, nil
}

// Clean returns a member's name in the form that [Archive.ReadFile] compares: without a leading "./" and trailing slashes. A name
// that escapes the archive's root is unchanged.
func Clean(name string) string {
	name = strings.TrimLeft(strings.ReplaceAll(name, "\\", "/"), "/")
	if name == "" {
		return ""
	}
	if name = path.Clean(name); name == "." {
		return ""
	}
	return name
}
