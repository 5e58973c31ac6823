package lsp

import (
	"context"
	"path/filepath"
	"slices"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// AddFolders makes directories workspace folders. It reports whether the server knows them now or is told when it starts;
// one that runs and can not take them needs another process for them. It waits for nothing.
func (s *Server) AddFolders(_ context.Context, folders []string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state == StateClosed {
		return false
	}
	if s.state != StateReady || s.last.isOver() {
		for _, dir := range folders {
			s.addFolderLocked(dir)
		}
		return true // whether it takes them is known when it is ready
	}
	var added []string
	for _, dir := range folders {
		if dir = filepath.Clean(dir); dir != filepath.Clean(s.opts.Root) && !slices.Contains(s.folders, dir) {
			added = append(added, dir)
		}
	}
	if len(added) == 0 {
		return true
	}
	if !s.last.takesFolders() || s.last.changeFolders(added, nil) != nil {
		return false
	}
	s.folders = append(s.folders, added...)
	return true
}

// RemoveFolders takes directories off the workspace folders that nobody needs any more.
func (s *Server) RemoveFolders(folders []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var removed []string
	s.folders = slices.DeleteFunc(s.folders, func(dir string) bool {
		gone := slices.Contains(folders, dir)
		if gone {
			removed = append(removed, dir)
		}
		return gone
	})
	if len(removed) > 0 && s.state == StateReady && !s.last.isOver() && s.last.takesFolders() {
		_ = s.last.changeFolders(nil, removed) // a server that is gone has no folders
	}
}

func (s *Server) addFolderLocked(dir string) {
	dir = filepath.Clean(dir)
	if dir != filepath.Clean(s.opts.Root) && !slices.Contains(s.folders, dir) {
		s.folders = append(s.folders, dir)
	}
}

// settleFoldersLocked brings the folders in line with what a process that has become ready can do: one that knows no
// folders has the root alone, and one that was not told all of them is told the rest. s.mu is held.
func (s *Server) settleFoldersLocked(l *life) {
	if !isOn(jsonx.Lookup(l.folderSupport(), "supported")) {
		s.folders = nil
		return
	}
	var missing []string
	for _, dir := range s.folders {
		if !slices.Contains(l.folders, dir) {
			missing = append(missing, dir)
		}
	}
	if len(missing) == 0 || l.takesFolders() && l.changeFolders(missing, nil) == nil {
		return
	}
	s.folders = slices.DeleteFunc(s.folders, func(dir string) bool { return slices.Contains(missing, dir) })
}

func (l *life) folderSupport() jsonx.Raw {
	return jsonx.Lookup(jsonx.Lookup(l.caps.raw, "workspace"), "workspaceFolders")
}

// takesFolders reports whether the server wants to know of new workspace folders.
func (l *life) takesFolders() bool {
	if l.registry.has("workspace/didChangeWorkspaceFolders") {
		return true
	}
	support := l.folderSupport()
	return isOn(jsonx.Lookup(support, "supported")) && isOn(jsonx.Lookup(support, "changeNotifications"))
}

func (l *life) changeFolders(added, removed []string) error {
	return l.tryNotify("workspace/didChangeWorkspaceFolders", folderChange{
		Event: folderEvent{Added: l.workspaceFolders(added), Removed: l.workspaceFolders(removed)},
	})
}
