package archive

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"
)

// maxRewritten is the maximum size of an archive to rewrite, in bytes, packed and unpacked.
const maxRewritten = 256 << 20

// CheckName returns an error unless name is valid for a written member: it must name a file below the archive's root.
func CheckName(name string) error {
	switch clean := Clean(name); {
	case clean == "":
		return errors.New("the path must name a file in the archive")
	case strings.HasSuffix(name, "/") || strings.HasSuffix(name, "\\"):
		return errors.New("the path must name a file in the archive, not a directory")
	case clean == ".." || strings.HasPrefix(clean, "../"), strings.ContainsRune(clean, 0):
		return fmt.Errorf("%q points outside of the archive", name)
	}
	return nil
}

// New returns an archive with one member. The file's name selects its kind.
func New(file, name string, data []byte) ([]byte, error) {
	if err := CheckName(name); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	switch lower := strings.ToLower(file); {
	case strings.HasSuffix(lower, ".zip"):
		z := zip.NewWriter(&out)
		err := putZip(z, &zip.FileHeader{Name: Clean(name), Method: zip.Deflate, Modified: time.Now()}, data)
		if err = errors.Join(err, z.Close()); err != nil {
			return nil, err
		}
	case strings.HasSuffix(lower, ".tar"):
		if err := newTar(&out, name, data); err != nil {
			return nil, err
		}
	case strings.HasSuffix(lower, ".tar.gz"), strings.HasSuffix(lower, ".tgz"):
		gz := gzip.NewWriter(&out)
		if err := errors.Join(newTar(gz, name, data), gz.Close()); err != nil {
			return nil, err
		}
	default:
		return nil, ErrFormat
	}
	return out.Bytes(), nil
}

func newTar(w io.Writer, name string, data []byte) error {
	t := tar.NewWriter(w)
	return errors.Join(putTar(t, freshHeader(name), data), t.Close())
}

func freshHeader(name string) *tar.Header {
	return &tar.Header{Typeflag: tar.TypeReg, Name: Clean(name), Mode: 0o644, ModTime: time.Now().Truncate(time.Second)}
}

// Put returns the archive with data as the named member, which is replaced or appended. All other members stay
// unchanged; those of a zip are not even unpacked. replaced reports that the member existed.
func (a *Archive) Put(ctx context.Context, name string, data []byte) (out []byte, replaced bool, err error) {
	if err := CheckName(name); err != nil {
		return nil, false, err
	}
	if a.size > maxRewritten {
		return nil, false, fmt.Errorf("%w: the limit for writing is %d MB", errTooLarge, maxRewritten>>20)
	}
	var b bytes.Buffer
	if a.Kind == "zip" {
		replaced, err = a.putZip(ctx, &b, name, data)
		return b.Bytes(), replaced, err
	}
	var w io.Writer = &b
	var gz *gzip.Writer
	var src io.Reader = io.NewSectionReader(a.file, 0, a.size)
	if a.Kind == "tar.gz" {
		in, err := gzip.NewReader(src)
		if err != nil {
			return nil, false, fmt.Errorf("%w: %w", errBroken, err)
		}
		gz = gzip.NewWriter(&b)
		src, w = in, gz
	}
	replaced, err = rewriteTar(ctx, w, src, name, data)
	if gz != nil {
		err = errors.Join(err, gz.Close())
	}
	return b.Bytes(), replaced, err
}

// mayReplace returns an error for a member that is not a file.
func mayReplace(name string, mode fs.FileMode) error {
	if !mode.IsRegular() {
		return fmt.Errorf("%s is a directory or a link: %w", name, fs.ErrExist)
	}
	return nil
}

// conflict returns an error if one of the names is a file and the other would need it as a directory.
func conflict(have, want string, dir bool) error {
	if strings.HasPrefix(have, want+"/") || !dir && strings.HasPrefix(want, have+"/") {
		return fmt.Errorf("the archive has %s, so it cannot have %s: %w", have, want, fs.ErrExist)
	}
	return nil
}

func (a *Archive) putZip(ctx context.Context, w io.Writer, name string, data []byte) (replaced bool, err error) {
	want := Clean(name)
	z := zip.NewWriter(w)
	for _, f := range a.zip.File {
		if ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
		have := Clean(f.Name)
		if have != want {
			err = conflict(have, want, strings.HasSuffix(f.Name, "/"))
			if err == nil {
				err = z.Copy(f)
			}
		} else if err = mayReplace(want, f.Mode()); err == nil && !replaced {
			replaced = true
			h := f.FileHeader
			err = putZip(z, &zip.FileHeader{Name: h.Name, Comment: h.Comment, Method: zip.Deflate, Modified: time.Now(), ExternalAttrs: h.ExternalAttrs, CreatorVersion: h.CreatorVersion}, data)
		}
		if err != nil {
			return false, err
		}
	}
	if !replaced {
		if err := putZip(z, &zip.FileHeader{Name: want, Method: zip.Deflate, Modified: time.Now()}, data); err != nil {
			return false, err
		}
	}
	if err := z.SetComment(a.zip.Comment); err != nil {
		return false, err
	}
	return replaced, z.Close()
}

func putZip(z *zip.Writer, h *zip.FileHeader, data []byte) error {
	w, err := z.CreateHeader(h)
	if err == nil {
		_, err = w.Write(data)
	}
	return err
}

func rewriteTar(ctx context.Context, w io.Writer, src io.Reader, name string, data []byte) (replaced bool, err error) {
	want := Clean(name)
	in, out := tar.NewReader(&limited{r: src, left: maxRewritten}), tar.NewWriter(w)
	for {
		if ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil && !errors.Is(err, tar.ErrInsecurePath) {
			if errors.Is(err, errTooLarge) {
				return false, err
			}
			return false, fmt.Errorf("%w: %w", errBroken, err)
		}
		have := Clean(h.Name)
		if have == want {
			if err := mayReplace(want, h.FileInfo().Mode()); err != nil || h.Typeflag == tar.TypeLink {
				return false, errors.Join(err, mayReplace(want, fs.ModeSymlink))
			}
			if !replaced {
				h.Size, h.ModTime = int64(len(data)), time.Now().Truncate(time.Second)
				// The old member may have been sparse; the new one is not.
				h.Typeflag, h.Format, h.PAXRecords = tar.TypeReg, tar.FormatUnknown, nil
				if err := putTar(out, h, data); err != nil {
					return false, err
				}
			}
			replaced = true
			continue
		}
		if err := conflict(have, want, h.Typeflag == tar.TypeDir); err != nil {
			return false, err
		}
		if sparse(h) {
			return false, errors.New("it contains a sparse file, which rewriting would lose; use a command")
		}
		if err := out.WriteHeader(h); err != nil {
			return false, err
		}
		if _, err := io.Copy(out, in); err != nil {
			return false, fmt.Errorf("%w: %w", errBroken, err)
		}
	}
	if !replaced {
		if err := putTar(out, freshHeader(want), data); err != nil {
			return false, err
		}
	}
	return replaced, out.Close()
}

// sparse reports whether a member has holes. They could be written only as zeros, which may take any amount of space.
func sparse(h *tar.Header) bool {
	if h.Typeflag == tar.TypeGNUSparse {
		return true
	}
	for name := range h.PAXRecords {
		if strings.HasPrefix(name, "GNU.sparse.") {
			return true
		}
	}
	return false
}

func putTar(t *tar.Writer, h *tar.Header, data []byte) error {
	h.Size = int64(len(data))
	err := t.WriteHeader(h)
	if err == nil {
		_, err = t.Write(data)
	}
	return err
}
