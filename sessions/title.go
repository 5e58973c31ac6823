package sessions

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// titleFile is a copy of a session's title in its artifact directory, where the list finds it without reading the
// whole session. The truth is the session file's last title entry.
const titleFile = "title.json"

func writeTitleFile(path string, data []byte) error {
	dir := artifactDir(path)
	if err := os.MkdirAll(dir, dirPerm); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, titleFile), data, filePerm)
}

func readTitleFile(path string) string {
	data, err := os.ReadFile(filepath.Join(artifactDir(path), titleFile))
	if err != nil {
		return ""
	}
	var t titleData
	if jsonx.Unmarshal(data, &t) != nil {
		return ""
	}
	return t.Title
}

// repairTitleFile writes the copy anew where a crash or another program has left it behind.
func (l *Log) repairTitleFile() {
	for _, e := range slices.Backward(l.entries) {
		if t, ok := titleOf(e); ok {
			if readTitleFile(l.path) != t.Title {
				_ = writeTitleFile(l.path, e.(Custom).Data)
			}
			return
		}
	}
}
