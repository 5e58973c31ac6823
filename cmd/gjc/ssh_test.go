package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/agent/tools/shell"
)

// Invalid machines are omitted, and reported with the line and the field.
func TestSSHHosts(t *testing.T) {
	dir := t.TempDir()
	if hosts, problems := sshHosts(dir, "/home/me"); hosts != nil || problems != nil {
		t.Errorf("%v %v", hosts, problems)
	}
	file := filepath.Join(dir, "ssh.json")
	writeFile(t, file, `{"hosts": {
		"web": {"host": "web.example", "username": "deploy", "port": 2222, "keyPath": "~/.ssh/id", "description": "it", "compat": true},
		"db": {"host": "10.0.0.2", "user": "root", "key": "/k"},
		"-o": {"host": "a"},
		"x": {"host": "-oProxyCommand=x"},
		"y": {"host": "a b"},
		"z": {"host": "a",
		      "username": "-l"},
		"p": {"host": "a", "port": 70000},
		"q": {"host": "a",
		      "port": "22"},
		"n": 7,
		"s": {"host": 7},
		"t": {"hots": "a"},
		"none": {}
	}}`)
	want := []shell.SSHHost{
		{Name: "db", Address: "10.0.0.2", User: "root", Key: "/k"},
		{Name: "web", Address: "web.example", User: "deploy", Port: 2222, Key: filepath.Join("/home/me", ".ssh/id"), Description: "it"},
	}
	hosts, problems := sshHosts(dir, "/home/me")
	if d := cmp.Diff(want, hosts); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	var wantProblems []string
	for _, p := range []string{
		`4: hosts."-o" has a name that is empty, begins with - or contains spaces`,
		`5: hosts."x".host is missing, begins with - or contains spaces`,
		`6: hosts."y".host is missing, begins with - or contains spaces`,
		`8: hosts."z".username begins with - or contains spaces or @`,
		`9: hosts."p".port must be a number from 1 to 65535`,
		`11: hosts."q".port must be a number from 1 to 65535`,
		`12: hosts."n" must be a mapping with host, not a number`,
		`13: hosts."s".host must be a string, not a number`,
		`14: hosts."t"."hots" is not a field; did you mean "host"?`,
		`15: hosts."none".host is missing, begins with - or contains spaces`,
	} {
		wantProblems = append(wantProblems, file+":"+p+"; the host is ignored")
	}
	if d := cmp.Diff(wantProblems, problems); d != "" {
		t.Errorf("problems, -want +got:\n%s", d)
	}
	for text, want := range map[string]string{
		"{": ":1: ", "[]": ":1: the file must be a mapping", "{\n\"hosts\": 7}": ":2: hosts must be a mapping", `{"hosts": null}`: ":1: hosts must be a mapping",
		`{"web": {"host": "a"}}`: ":1: hosts is missing", "{\"hosts\": {\"a\": {\"host\": \"a\"},\n}}": ":2: ",
	} {
		writeFile(t, file, text)
		if hosts, problems := sshHosts(dir, ""); hosts != nil || len(problems) != 1 || !strings.HasPrefix(problems[0], file+want) {
			t.Errorf("%s: %v %q", text, hosts, problems)
		}
	}
}

// Mistakes of the file are logged by the first session, and reported by doctor.
func TestSSHHosts_Reported(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "ssh.json")
	writeFile(t, file, "{\"hosts\": {\n\"a\": {\"host\": \"a\"},\n\"b\": {}}}")
	h := &host{env: []string{"HOME=" + dir}}
	models := h.registry(dir, new(options), func(string) {})
	defer models.Close()
	var logged []string
	session := h.tools(dir, new(options), models, func(note string) { logged = append(logged, note) })
	has := false
	for range 2 {
		for _, tool := range session() {
			has = has || tool.Spec().Name == "ssh"
		}
	}
	problem := file + `:3: hosts."b".host is missing, begins with - or contains spaces; the host is ignored`
	if d := cmp.Diff([]string{"the tool ssh: " + problem}, logged); d != "" || !has {
		t.Errorf("the tool is there: %v; logged, -want +got:\n%s", has, d)
	}
	var problems []string
	add := func(state, what, format string, args ...any) {
		problems = append(problems, state+" "+what+" "+fmt.Sprintf(format, args...))
	}
	examineSSH(h, dir, func(string) (string, error) { return "/bin/ssh", nil }, add)
	examineSSH(h, dir, func(string) (string, error) { return "", errors.New("none") }, add)
	want := []string{"problem ssh " + problem, "ok ssh a", "problem ssh " + problem, "warning ssh not on PATH, so there is no tool for a; install OpenSSH's client"}
	if d := cmp.Diff(want, problems); d != "" {
		t.Errorf("doctor, -want +got:\n%s", d)
	}
}
