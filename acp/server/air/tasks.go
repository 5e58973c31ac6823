package air

import (
	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/agent/tools/shell"
	"github.com/gajae-code/gjc/internal/jsonx"
)

// StopTask is the method with which a client ends a task.
const StopTask = "_session/async_task/stop"

// spawned is the update about a task that begins.
type spawned struct {
	SessionUpdate    string         `json:"sessionUpdate"`
	AsyncTaskID      string         `json:"asyncTaskId"`
	Name             string         `json:"name"`
	TaskType         string         `json:"taskType"`
	ShowInTranscript bool           `json:"showInTranscript"` // the tool call is shown there already
	CanStop          bool           `json:"canStop"`
	ToolCallID       acp.ToolCallID `json:"toolCallId"`
}

// stateUpdate is the update about a task that has ended.
type stateUpdate struct {
	SessionUpdate string `json:"sessionUpdate"`
	AsyncTaskID   string `json:"asyncTaskId"`
	State         string `json:"state"`
}

// TaskUpdates returns the updates about a background job that begins or has ended.
func TaskUpdates(job *shell.JobChange) []acp.SessionUpdate {
	id := job.ID
	switch job.State {
	case shell.JobRunning:
		call, kind := &acp.ToolCallUpdate{ToolCallID: acp.ToolCallID(job.CallID)}, "shell"
		if job.Helper {
			kind = "subagent"
		}
		Set(&call.Meta, string(AsyncTasks), map[string]bool{"backgrounded": true})
		return []acp.SessionUpdate{call, update(spawned{
			SessionUpdate: "async_task_spawned", AsyncTaskID: id, Name: job.Title, TaskType: kind, CanStop: true, ToolCallID: call.ToolCallID,
		})}
	case shell.JobCancelled:
		return []acp.SessionUpdate{update(stateUpdate{"async_task_state_update", id, "stopped"})}
	case shell.JobFailed:
		return []acp.SessionUpdate{update(stateUpdate{"async_task_state_update", id, "failed"})}
	default:
		return []acp.SessionUpdate{update(stateUpdate{"async_task_state_update", id, "completed"})}
	}
}

// update returns an update that is not part of ACP. It ignores an encoding error, because every caller passes an encodable value.
func update(v any) acp.SessionUpdate {
	raw, _ := jsonx.Marshal(v)
	return &acp.UnknownSessionUpdate{Raw: raw}
}
