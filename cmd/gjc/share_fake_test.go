package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// publishedDir is the environment variable with the directory in which a fake publisher notes what it gets.
const publishedDir = "GJC_TEST_PUBLISHED"

// isPublisher reports whether a path is that of a fake publisher: gh, or a program of the user.
func isPublisher(path string) bool {
	name := strings.TrimSuffix(filepath.Base(path), ".exe")
	return name == "gh" || name == "publish"
}

// runPublisher notes its arguments, its input and the files that the arguments name.
func runPublisher(dir string) int {
	if _, err := os.Stat(filepath.Join(dir, "logged-out")); err == nil {
		fmt.Fprintln(os.Stderr, "To get started with GitHub CLI, please run:  gh auth login")
		return 4
	}
	input, err := io.ReadAll(os.Stdin)
	if err != nil {
		return 1
	}
	files := map[string]string{"stdin": string(input), "args": strings.Join(os.Args[1:], "\n")}
	for _, arg := range os.Args[1:] {
		if data, err := os.ReadFile(arg); err == nil {
			files[filepath.Ext(arg)] = string(data)
		}
	}
	data, err := json.Marshal(files)
	if err != nil || os.WriteFile(filepath.Join(dir, "published"), data, 0o600) != nil {
		return 1
	}
	fmt.Print("uploading ...\nhttps://pages.example/1\n\n")
	return 0
}
