package sessions

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io/fs"
	"reflect"
	"slices"
	"time"
)

// MaxSnapshots is the number of lists that are kept.
const MaxSnapshots = maxSnapshots

// Limits of a scan.
const (
	ScanBuffer  = scanBuffer
	MaxScanLine = maxScanLine
)

// IndexRoundTrip adds the magic and the checksum to the body of an index file and decodes it. It reports whether that succeeded,
// and whether the result survives a round trip through encoding and decoding.
func IndexRoundTrip(body []byte) (read, same bool) {
	data := append([]byte(indexMagic), body...)
	data = binary.LittleEndian.AppendUint32(data, crc32.Checksum(data, castagnoli()))
	dirs, err := decodeIndex(data, "/root")
	if err != nil {
		return false, false
	}
	again, err := decodeIndex(encodeIndex(dirs), "/root")
	return true, err == nil && reflect.DeepEqual(dirs, again)
}

// IndexBody returns the body of an index file.
func IndexBody(file []byte) []byte { return file[len(indexMagic) : len(file)-4] }

// Scan is the result of scanning a session file.
type Scan struct {
	ID, Title, Reason string
	Messages          int
	Updated           time.Time
	Directories       []string
	record            record
}

// ScanParts scans a growing file: first its first part, then the first two, and so on.
func ScanParts(parts ...[]byte) (Scan, error) {
	var files [][]byte
	for i := range parts {
		files = append(files, slices.Concat(parts[:i+1]...))
	}
	return ScanReplaced(files...)
}

// ScanReplaced scans one file repeatedly, with each of the contents in turn.
func ScanReplaced(files ...[]byte) (Scan, error) {
	var (
		sc     scanner
		r      record
		reason error
	)
	for _, file := range files {
		info := growing(len(file))
		var err error
		if r, _, reason, err = sc.scan(bytes.NewReader(file), info, &r); err != nil {
			return Scan{}, err
		}
	}
	s := Scan{
		ID: r.id, Title: r.shownTitle(), Messages: r.messages, Updated: r.updated(), Directories: r.directories, record: r,
	}
	if reason != nil {
		s.Reason = reason.Error()
	}
	return s, nil
}

// Same reports whether two scans have the same result.
func (s *Scan) Same(other *Scan) bool { return reflect.DeepEqual(s, other) }

// growing is the [fs.FileInfo] of a file of the given size.
type growing int

func (g growing) Size() int64      { return int64(g) }
func (growing) Name() string       { return "" }
func (growing) Mode() fs.FileMode  { return 0 }
func (growing) ModTime() time.Time { return time.Unix(1, 0) }
func (growing) IsDir() bool        { return false }
func (growing) Sys() any           { return nil }
