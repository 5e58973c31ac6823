package config

import (
	"os"
	"strconv"
	"strings"
)

// executable returns the program of a process. If its file was deleted, it returns the path in /proc.
func executable(pid int) (string, error) {
	exe := "/proc/" + strconv.Itoa(pid) + "/exe"
	path, err := os.Readlink(exe)
	if strings.HasSuffix(path, " (deleted)") {
		return exe, nil
	}
	return path, err
}
