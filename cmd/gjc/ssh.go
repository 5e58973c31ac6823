package main

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/agent/tools"
	"github.com/gajae-code/gjc/internal/jsonx"
)

// sshHosts reads ssh.json of the agent directory: the machines that the user lets models reach. A project has no say in it: a name
// that the user trusts could lead elsewhere. What cannot be understood is left out.
func sshHosts(agentDir, home string) []tools.SSHHost {
	data, err := os.ReadFile(filepath.Join(agentDir, "ssh.json"))
	if err != nil {
		return nil
	}
	var file struct {
		Hosts map[string]jsonx.Raw `json:"hosts"`
	}
	if err := jsonx.Unmarshal(data, &file); err != nil {
		return nil
	}
	var hosts []tools.SSHHost
	for name, raw := range file.Hosts {
		var in struct {
			Host        string `json:"host"`
			User        string `json:"user"`
			Username    string `json:"username"`
			Port        int    `json:"port"`
			Key         string `json:"key"`
			KeyPath     string `json:"keyPath"`
			Description string `json:"description"`
		}
		if jsonx.Unmarshal(raw, &in) != nil {
			continue
		}
		h := tools.SSHHost{
			Name: name, Address: in.Host, User: cmp.Or(in.Username, in.User), Port: in.Port, Key: cmp.Or(in.KeyPath, in.Key), Description: in.Description,
		}
		if rest, ok := strings.CutPrefix(h.Key, "~/"); ok {
			h.Key = filepath.Join(home, rest)
		}
		if h.Check() == "" {
			hosts = append(hosts, h)
		}
	}
	slices.SortFunc(hosts, func(a, b tools.SSHHost) int { return strings.Compare(a.Name, b.Name) })
	return hosts
}
