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

// MaxSnapshots is how many lists are remembered.
const MaxSnapshots = maxSnapshots

// The limits of a scan.
const (
	ScanBuffer  = scanBuffer
	MaxScanLine = maxScanLine
)

// IndexRoundTrip gives the body of an index file its magic and its checksum, and reads it. It reports whether that
// went well, and whether what was read is the same when it is written and read again.
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

// Scan is what a scan knows of a session file.
type Scan struct {
	ID, Title, Reason string
	Messages          int
	Updated           time.Time
	Directories       []string
	record            record
}

// ScanParts scans a file that grows: its first part, then with the next one, and so on.
func ScanParts(parts ...[]byte) (Scan, error) {
	var files [][]byte
	for i := range parts {
		files = append(files, slices.Concat(parts[:i+1]...))
	}
	return ScanReplaced(files...)
}

// ScanReplaced scans a file that has one content after the other.
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

// Same reports whether two scans know the same.
func (s *Scan) Same(other *Scan) bool { return reflect.DeepEqual(s, other) }

// growing is a file of so many bytes.
type growing int

func (g growing) Size() int64      { return int64(g) }
func (growing) Name() string       { return "" }
func (growing) Mode() fs.FileMode  { return 0 }
func (growing) ModTime() time.Time { return time.Unix(1, 0) }
func (growing) IsDir() bool        { return false }
func (growing) Sys() any           { return nil }
