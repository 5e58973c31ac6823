package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/acptest"
)

// cancels measures the time from a cancellation to the end of the turn: to the response while a model streams, and to
// the end of the process while a command runs.
func cancels(ctx context.Context, binary, dir string) ([]measure, error) {
	chunk := make(chan struct{}, 1)
	agent, work, err := startOffline(ctx, binary, filepath.Join(dir, "cancel"), acptest.EditorOptions{
		Capabilities: &acp.ClientCapabilities{}, // then commands are gjc's own children
		Updated:      onChunk(chunk),
	})
	if err != nil {
		return nil, err
	}
	defer end(agent)
	session, err := agent.NewSession(ctx, work)
	if err != nil {
		return nil, err
	}
	id := session.SessionID
	prompt := func(text string) <-chan error {
		done := make(chan error, 1)
		go func() {
			resp, err := agent.Prompt(ctx, id, text)
			if err == nil && resp.StopReason != acp.StopReasonCancelled {
				err = fmt.Errorf("the turn ended with %s", resp.StopReason)
			}
			done <- err
		}()
		return done
	}
	cancel := func() error {
		return acp.MethodSessionCancel.Notify(ctx, agent.Conn, &acp.CancelNotification{SessionID: id})
	}
	done := prompt("!say 1000000")
	<-chunk
	begin := time.Now()
	if err := cancel(); err != nil {
		return nil, err
	}
	if err := <-done; err != nil {
		return nil, err
	}
	all := []measure{{step: "cancel of a model that streams", took: time.Since(begin)}}

	costs, err := commandCost(ctx, agent, id)
	if err != nil {
		return nil, err
	}
	all = append(all, costs...)

	pidFile := filepath.Join(work, "pid")
	done = prompt("!bash echo $$ > " + pidFile + "; exec sleep 600")
	pid, err := readPID(ctx, pidFile)
	if err != nil {
		return nil, err
	}
	begin = time.Now()
	if err := cancel(); err != nil {
		return nil, err
	}
	for alive(pid) {
		time.Sleep(100 * time.Microsecond)
	}
	all = append(all, measure{step: "cancel until a command is gone", took: time.Since(begin)})
	return all, <-done
}

// commandCost measures the time of a command and of its shell alone: of the first command, and the mean of later ones.
func commandCost(ctx context.Context, agent *acptest.Agent, id acp.SessionID) ([]measure, error) {
	const several = 20
	alone, err := repeat(several, func() error { return exec.CommandContext(ctx, "bash", "-c", "true").Run() })
	if err != nil {
		return nil, err
	}
	command := func() error {
		resp, err := agent.Prompt(ctx, id, "!bash true")
		if err == nil && resp.StopReason != acp.StopReasonEndTurn {
			err = fmt.Errorf("the command's turn ended with %s", resp.StopReason)
		}
		return err
	}
	first, err := repeat(1, command)
	if err != nil {
		return nil, err
	}
	more, err := repeat(several, command)
	if err != nil {
		return nil, err
	}
	return []measure{
		{step: "bash -c true, without gjc", took: alone},
		{step: "tool call on this machine, first", took: first},
		{step: "tool call on this machine", took: more},
	}, nil
}

// onChunk returns a handler of updates that signals on chunk when text of the model arrives. chunk has a buffer of one.
func onChunk(chunk chan<- struct{}) func(*acp.SessionNotification) {
	return func(n *acp.SessionNotification) {
		if _, ok := n.Update.(*acp.AgentMessageChunk); ok {
			select {
			case chunk <- struct{}{}:
			default:
			}
		}
	}
}

// repeat calls fn n times, and returns the mean duration.
func repeat(n int, do func() error) (time.Duration, error) {
	begin := time.Now()
	for range n {
		if err := do(); err != nil {
			return 0, err
		}
	}
	return time.Since(begin) / time.Duration(n), nil
}

// closes measures the time that gjc needs to end when its editor disconnects in the middle of a response.
func closes(ctx context.Context, binary, dir string) ([]measure, error) {
	chunk := make(chan struct{}, 1)
	agent, work, err := startOffline(ctx, binary, dir, acptest.EditorOptions{Updated: onChunk(chunk)})
	if err != nil {
		return nil, err
	}
	defer end(agent)
	session, err := agent.NewSession(ctx, work)
	if err != nil {
		return nil, err
	}
	prompted := make(chan struct{})
	go func() {
		defer close(prompted)
		_, _ = agent.Prompt(ctx, session.SessionID, "!say 1000000") // ends with the connection
	}()
	<-chunk
	begin := time.Now()
	if err := agent.Process.Stdin().Close(); err != nil {
		return nil, err
	}
	if _, err := agent.Process.Wait(ctx); err != nil {
		return nil, err
	}
	took := time.Since(begin)
	<-prompted
	return []measure{{step: "stdin closed inside a prompt", took: took}}, nil
}

// readPID waits for a command to write its process ID.
func readPID(ctx context.Context, path string) (int, error) {
	for ctx.Err() == nil {
		data, err := os.ReadFile(path)
		if text, whole := strings.CutSuffix(string(data), "\n"); err == nil && whole {
			return strconv.Atoi(text)
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return 0, err
		}
		time.Sleep(time.Millisecond)
	}
	return 0, context.Cause(ctx)
}

// alive reports whether a process exists and is not a zombie. Elsewhere than on Linux it returns false at once.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(rest, "Z")
}
