package server

import "github.com/gajae-code/gjc/acp"

// commandsUpdate tells which slash commands there are. The list is complete each time.
func commandsUpdate() acp.SessionUpdate {
	u := &acp.AvailableCommandsUpdate{AvailableCommands: []acp.AvailableCommand{}}
	for _, c := range commands {
		u.AvailableCommands = append(u.AvailableCommands, acp.AvailableCommand{Name: c.name, Description: c.description})
	}
	return u
}

type command struct{ name, description string }

var commands []command
