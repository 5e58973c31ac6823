package headless

import (
	"context"

	"github.com/gajae-code/gjc/acp"
)

// NoMachine is a part of an [acp.Client] that has no files, terminals and forms: the server uses those of the machine.
type NoMachine struct{}

func missing(method string) error {
	return &acp.Error{Code: acp.ErrorCodeMethodNotFound, Message: "method not found: " + method}
}

// AuthStatusUpdate implements [acp.Client].
func (NoMachine) AuthStatusUpdate(context.Context, *acp.AuthStatusUpdateNotification) error {
	return nil
}

// CompleteElicitation implements [acp.Client].
func (NoMachine) CompleteElicitation(context.Context, *acp.CompleteElicitationNotification) error {
	return nil
}

// CreateElicitation implements [acp.Client].
func (NoMachine) CreateElicitation(context.Context, *acp.CreateElicitationRequest) (*acp.CreateElicitationResponse, error) {
	return nil, missing(acp.MethodElicitationCreate.Name)
}

// ReadTextFile implements [acp.Client].
func (NoMachine) ReadTextFile(context.Context, *acp.ReadTextFileRequest) (*acp.ReadTextFileResponse, error) {
	return nil, missing(acp.MethodFSReadTextFile.Name)
}

// WriteTextFile implements [acp.Client].
func (NoMachine) WriteTextFile(context.Context, *acp.WriteTextFileRequest) (*acp.WriteTextFileResponse, error) {
	return nil, missing(acp.MethodFSWriteTextFile.Name)
}

// MessageMCP implements [acp.Client].
func (NoMachine) MessageMCP(context.Context, *acp.MessageMCPRequest) (*acp.MessageMCPResponse, error) {
	return nil, missing(acp.MethodMCPMessage.Name)
}

// CreateTerminal implements [acp.Client].
func (NoMachine) CreateTerminal(context.Context, *acp.CreateTerminalRequest) (*acp.CreateTerminalResponse, error) {
	return nil, missing(acp.MethodTerminalCreate.Name)
}

// KillTerminal implements [acp.Client].
func (NoMachine) KillTerminal(context.Context, *acp.KillTerminalRequest) (*acp.KillTerminalResponse, error) {
	return nil, missing(acp.MethodTerminalKill.Name)
}

// TerminalOutput implements [acp.Client].
func (NoMachine) TerminalOutput(context.Context, *acp.TerminalOutputRequest) (*acp.TerminalOutputResponse, error) {
	return nil, missing(acp.MethodTerminalOutput.Name)
}

// ReleaseTerminal implements [acp.Client].
func (NoMachine) ReleaseTerminal(context.Context, *acp.ReleaseTerminalRequest) (*acp.ReleaseTerminalResponse, error) {
	return nil, missing(acp.MethodTerminalRelease.Name)
}

// WaitForTerminalExit implements [acp.Client].
func (NoMachine) WaitForTerminalExit(context.Context, *acp.WaitForTerminalExitRequest) (*acp.WaitForTerminalExitResponse, error) {
	return nil, missing(acp.MethodTerminalWaitForExit.Name)
}
