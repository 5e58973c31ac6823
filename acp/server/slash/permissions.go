package slash

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/internal/text"
)

// permissions runs /permissions: it lists the remembered answers, or forgets some.
func permissions(c *call) error {
	workspace, session := c.session.Grants().List()
	all := slices.Concat(workspace, session)
	args := strings.Fields(c.args)
	switch {
	case len(args) == 0:
		return c.say(permissionLines(workspace, session), nil)
	case args[0] != "revoke" || len(args) == 1:
		return c.say("Write /permissions, /permissions revoke <number…> or /permissions revoke all.", nil)
	}
	drop := make([]*approval.Grant, 0, len(all))
	for _, arg := range args[1:] {
		n, err := strconv.Atoi(arg)
		switch {
		case arg == "all":
			for i := range all {
				drop = append(drop, &all[i])
			}
		case err != nil || n < 1 || n > len(all):
			return c.say(fmt.Sprintf("There is no answer %s; /permissions lists %s.", text.OneLine(arg), text.Count(len(all), "answer")), nil)
		default:
			drop = append(drop, &all[n-1])
		}
	}
	_, err := c.session.Grants().Revoke(c, func(g *approval.Grant) bool {
		return slices.ContainsFunc(drop, func(d *approval.Grant) bool { return d.Replaces(g) && d.When.Equal(g.When) })
	})
	if err != nil {
		return err
	}
	return c.say(fmt.Sprintf("Forgotten: %s. gjc asks again.", text.Count(len(drop), "answer")), nil)
}

// permissionLines lists answers with their numbers.
func permissionLines(workspace, session []approval.Grant) string {
	if len(workspace)+len(session) == 0 {
		return "No answer is remembered. Answers with \"always\" are listed here."
	}
	var s strings.Builder
	n := 0
	for _, part := range []struct {
		title  string
		grants []approval.Grant
	}{{"For this workspace, also in later sessions:", workspace}, {"For this session:", session}} {
		if len(part.grants) == 0 {
			continue
		}
		if n > 0 {
			s.WriteString("\n")
		}
		s.WriteString(part.title + "\n")
		for _, g := range part.grants {
			n++
			fmt.Fprintf(&s, "%d. %s\n", n, g.Describe())
		}
	}
	s.WriteString("\n/permissions revoke <number…> forgets answers.")
	return s.String()
}
