package shell

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/text"
	"github.com/gajae-code/gjc/providers"
)

// LostJobs describes the background jobs of a conversation that was stored before they ended, for its user: they have ended with their
// process. The next report of the session with the values k has them for the model, after which they are not lost again.
func LostJobs(k *agent.Values, history []providers.Message) []string {
	lost := lostTimers(history)
	jobs := openJobs(history)
	all := keptJobs(k)
	all.mu.Lock()
	defer all.mu.Unlock()
	for _, b := range jobs {
		lost = append(lost, b.what+" of this session was lost when gjc ended: "+b.title+".")
		all.lost = append(all.lost, fmt.Sprintf(lostLine, b.id, b.title))
	}
	return lost
}

// lostLine reports a lost job to the model: its ID and its title. openJobs reads it.
const lostLine = "Background job %s was lost when gjc ended, and does not run any more: %s"

// storedJob is a job of a stored conversation. what names it for its user.
type storedJob struct{ id, what, title string }

// openJobs returns the jobs, besides timers, whose end is not in a conversation. IDs are used again after a restart.
func openJobs(history []providers.Message) (open []storedJob) {
	ends := regexp.MustCompile(`(?m)^(?:Background job )?(job-\d+) (?:has ended|has failed|was lost|ended after|failed after)`)
	command := regexp.MustCompile(`^The command [^\n]* in the background as (job-\d+)\.`)
	helper := regexp.MustCompile(`(?m)^- (job-\d+): the helper (\S+) works on: (.*)$`)
	begin := func(b storedJob) {
		open = append(slices.DeleteFunc(open, func(other storedJob) bool { return other.id == b.id }), b)
	}
	commands := make(map[string]string) // by call
	for i := range history {
		m := &history[i]
		for _, c := range m.ToolCalls() {
			var in bashInput
			if c.Name == bashTool && jsonx.Unmarshal(c.Input, &in) == nil {
				commands[c.ID] = in.Command
			}
		}
		if m.Role == providers.RoleAssistant {
			continue
		}
		said := m.Text()
		if m.Role == providers.RoleTool {
			if found := command.FindStringSubmatch(said); m.ToolName == bashTool && found != nil {
				begin(storedJob{found[1], "A background command", text.Truncate(text.OneLine(commands[m.ToolCallID]), maxMatchTitle)})
				continue
			}
			for _, found := range helper.FindAllStringSubmatch(said, -1) {
				begin(storedJob{found[1], "The helper " + found[2], strings.TrimSuffix(found[3], "\r")})
			}
		}
		for _, found := range ends.FindAllStringSubmatch(said, -1) {
			open = slices.DeleteFunc(open, func(b storedJob) bool { return b.id == found[1] })
		}
	}
	return open
}
