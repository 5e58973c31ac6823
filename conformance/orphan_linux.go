package conformance

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// processes lists the processes of this machine and reports which have mark in their environment.
func processes(mark string) ([]processInfo, error) {
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil || len(dirs) == 0 {
		return nil, errNoTable
	}
	var all []processInfo
	for _, dir := range dirs {
		data, err := os.ReadFile(filepath.Join(dir, "stat"))
		if err != nil {
			continue // a zombie
		}
		// The command is in parentheses and may contain any characters.
		head, rest, ok := strings.Cut(string(data), "(")
		end := strings.LastIndexByte(rest, ')')
		if !ok || end < 0 {
			continue
		}
		fields := strings.Fields(rest[end+1:])
		if len(fields) < 20 {
			continue
		}
		i := processInfo{command: rest[:end], zombie: fields[0] == "Z" || fields[0] == "X", start: fields[19]}
		i.pid, _ = strconv.Atoi(strings.TrimSpace(head))
		i.parent, _ = strconv.Atoi(fields[1])
		i.group, _ = strconv.Atoi(fields[2])
		if mark != "" {
			environ, _ := os.ReadFile(filepath.Join(dir, "environ"))
			i.marked = bytes.Contains(append([]byte{0}, environ...), []byte("\x00"+mark+"\x00"))
		}
		all = append(all, i)
	}
	return all, nil
}
