package main

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/agent/tools"
)

func TestSSHHosts(t *testing.T) {
	dir := t.TempDir()
	if hosts := sshHosts(dir, "/home/me"); hosts != nil {
		t.Errorf("%v", hosts)
	}
	file := filepath.Join(dir, "ssh.json")
	writeFile(t, file, `{"hosts": {
		"web": {"host": "web.example", "username": "deploy", "port": 2222, "keyPath": "~/.ssh/id", "description": "it", "compat": true},
		"db": {"host": "10.0.0.2", "user": "root", "key": "/k"},
		"-o": {"host": "a"}, "x": {"host": "-oProxyCommand=x"}, "y": {"host": "a b"}, "z": {"host": "a", "username": "-l"}, "p": {"host": "a", "port": 70000},
		"n": 7, "s": {"host": 7}, "none": {}
	}}`)
	want := []tools.SSHHost{
		{Name: "db", Address: "10.0.0.2", User: "root", Key: "/k"},
		{Name: "web", Address: "web.example", User: "deploy", Port: 2222, Key: filepath.Join("/home/me", ".ssh/id"), Description: "it"},
	}
	if d := cmp.Diff(want, sshHosts(dir, "/home/me")); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	for _, text := range []string{"", "{", "[]", `{"hosts": 7}`, `{"hosts": null}`} {
		writeFile(t, file, text)
		if hosts := sshHosts(dir, ""); hosts != nil {
			t.Errorf("%s: %v", text, hosts)
		}
	}
}
