package config

import (
	"os"
	"strconv"
	"strings"
)

// executable returns the program of a process; where its file was deleted, the system's own way to it.
func executable(pid int) (string, error) {
	exe := "/proc/" + strconv.Itoa(pid) + "/exe"
	path, err := os.Readlink(exe)
	if strings.HasSuffix(path, " (deleted)") {
		return exe, nil
	}
	return path, err
}
