package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"time"
)

// file is a file or, if its name ends with a slash, a directory of a tarball.
type file struct {
	name string
	mode int64
	data []byte
	// owner is the number of the user and of the group.
	owner int
}

// tarball returns a tar archive with the files in the given order, all of the same time.
func tarball(files []file, date time.Time) ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range files {
		kind := byte(tar.TypeReg)
		if f.name[len(f.name)-1] == '/' {
			kind = tar.TypeDir
		}
		header := &tar.Header{Typeflag: kind, Name: f.name, Mode: f.mode, Size: int64(len(f.data)), ModTime: date.Truncate(time.Second), Uid: f.owner, Gid: f.owner}
		if err := w.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return b.Bytes(), err
}

// compressed returns data in the gzip format, without a name and a time.
func compressed(data []byte) ([]byte, error) {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(data); err != nil {
		return nil, err
	}
	err := w.Close()
	return b.Bytes(), err
}
