package sessions

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// migrate converts the lines of a file of an older version, header included, to the current one. Unknown members are
// kept. On an error bad is the number of the invalid line.
//
// Version 1 had no tree: entries get IDs by their position, so that they are stable, and each follows the previous one.
// Version 2 had the role "hookMessage" for "custom".
func migrate(lines []line, version int) (out []line, bad int, err error) {
	out = make([]line, 0, len(lines))
	for i, l := range lines {
		var m map[string]jsonx.Raw
		if err := jsonx.Unmarshal(l.text, &m); err != nil {
			return nil, l.no, err
		}
		if i == 0 {
			m["version"] = jsonx.Raw(fmt.Sprint(Version))
		} else {
			if version < 2 {
				if err := plant(m, i); err != nil {
					return nil, l.no, err
				}
			}
			if err := renameHookMessage(m); err != nil {
				return nil, l.no, err
			}
		}
		text, err := orderedObject(m, "type", "version", "id", "parentId", "timestamp")
		if err != nil {
			return nil, l.no, err
		}
		out = append(out, line{text: text, no: l.no})
	}
	return out, 0, nil
}

// plant sets the ID and the parent of an entry of a version 1 file. place is the entry's position; the header has position 0.
func plant(m map[string]jsonx.Raw, place int) error {
	id := func(place int) jsonx.Raw { return jsonx.Raw(fmt.Sprintf("%q", fmt.Sprintf("%08x", place))) }
	m["id"], m["parentId"] = id(place), jsonx.Raw("null")
	if place > 1 {
		m["parentId"] = id(place - 1)
	}
	raw, ok := m["firstKeptEntryIndex"]
	if !ok {
		return nil
	}
	var index float64
	if err := jsonx.Unmarshal(raw, &index); err != nil {
		return errors.New("firstKeptEntryIndex: " + err.Error())
	}
	delete(m, "firstKeptEntryIndex")
	if index >= 1 && int(index) < place {
		m["firstKeptEntryId"] = id(int(index))
	}
	return nil
}

func renameHookMessage(m map[string]jsonx.Raw) error {
	raw := m["message"]
	if raw.Kind() != '{' {
		return nil
	}
	var message map[string]jsonx.Raw
	if err := jsonx.Unmarshal(raw, &message); err != nil {
		return err
	}
	if string(message["role"]) != `"hookMessage"` {
		return nil
	}
	message["role"] = jsonx.Raw(`"custom"`)
	text, err := orderedObject(message, "role")
	m["message"] = text
	return err
}

// orderedObject encodes m with the named members first, for human readers.
func orderedObject(m map[string]jsonx.Raw, first ...string) ([]byte, error) {
	head := []byte{'{'}
	rest := maps.Clone(m)
	for _, name := range first {
		if raw, ok := rest[name]; ok {
			head = append(jsonx.AppendString(head, name), ':')
			head = append(append(head, raw...), ',')
			delete(rest, name)
		}
	}
	tail, err := jsonx.Marshal(rest)
	if err != nil {
		return nil, err
	}
	head[max(len(head)-1, 0)] = '}'
	if len(head) == 1 {
		return tail, nil
	}
	return joinObjects(head, tail), nil
}

const backupSuffix = ".bak"

// tempID returns a random part for the name of a temporary file.
func tempID() string { return randomHex(6) }

// randomHex returns n random bytes in hex.
func randomHex(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

// rewrite replaces a session file atomically. Until the new file is on the disk, the old one is kept with the suffix
// ".bak".
func (s *Store) rewrite(path string, data []byte) error {
	backup := path + backupSuffix
	if err := s.keepCopy(path, backup); err != nil {
		return fmt.Errorf("keeping a copy of the old file: %w", err)
	}
	if err := s.replace(path, data, true); err != nil {
		return err
	}
	// If it cannot be removed, the next opening removes it.
	_ = s.fs.Remove(backup)
	return nil
}

// keepCopy gives a file a second name. It replaces the leftover of an earlier rewrite.
func (s *Store) keepCopy(path, backup string) error {
	if err := s.fs.Remove(backup); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if s.fs.Link(path, backup) == nil {
		return nil
	}
	data, err := s.fs.ReadFile(path) // no hard links here
	if err != nil {
		return err
	}
	f, err := s.fs.OpenFile(backup, os.O_CREATE|os.O_EXCL|os.O_WRONLY, filePerm)
	if err != nil {
		return err
	}
	return writeAll(f, data, true)
}
