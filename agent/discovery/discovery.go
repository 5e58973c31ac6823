// Package discovery decides which tools a request offers to a model, and finds the others.
//
// The definitions of many tools fill a model's context and confuse it. So the tools of MCP servers and the like can be held back: the
// model then searches for them with BM25+, a ranking of documents by the words in weighted fields, and what it finds joins its next
// requests.
package discovery

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/internal/text"
)

// Mode determines which tools are held back until the model finds them.
type Mode string

// The modes. The empty mode means [Auto].
const (
	// Auto holds back foreign tools if there are more than 40 tools, or if the foreign ones are too large.
	Auto Mode = "auto"
	// All holds back all tools but the essential ones.
	All Mode = "all"
	// MCP holds back foreign tools.
	MCP Mode = "mcp"
	// Off holds back nothing.
	Off Mode = "off"
)

// Modes lists all modes.
func Modes() []Mode { return []Mode{Auto, All, MCP, Off} }

const (
	// threshold is the number of tools that [Auto] offers without a search.
	threshold = 40
	// maxForeign is the size of the foreign tools that [Auto] offers without a search, in bytes.
	maxForeign = 128 << 10
	// maxFound and maxFoundBytes bound the found tools that requests offer; enough remain that the order seldom changes.
	maxFound      = 64
	maxFoundBytes = 256 << 10
)

// Origin is where a foreign tool comes from. The zero value stands for gjc's own tools.
type Origin struct {
	// Server is the name of the MCP server, or of another source.
	Server string
	// Remote is the server's own name for the tool, and Title its name for people. Both may be empty.
	Remote, Title string
}

// foreign reports whether the tool is not gjc's own.
func (o *Origin) foreign() bool { return o.Server != "" }

// Item is a tool as far as the decision depends on it.
type Item struct {
	Name string
	Origin
	// Size is the length of the tool's definition, in bytes.
	Size int
	// Essential tools are never held back.
	Essential bool
}

// Room is the space that a model has for tools.
type Room struct {
	// Tools is the number of tools that its API accepts; zero for no limit.
	Tools int
	// Bytes bounds the definitions of foreign tools.
	Bytes int
}

// Holds reports for each item whether it is held back. It returns nil if none is.
func (m Mode) Holds(items []Item, room Room) []bool {
	foreign := 0
	for i := range items {
		if items[i].foreign() {
			foreign += items[i].Size
		}
	}
	if m == Off || (m == Auto || m == "") && len(items) <= threshold && foreign <= min(maxForeign, room.Bytes) {
		return nil
	}
	held, some := make([]bool, len(items)), false
	for i := range items {
		held[i] = !items[i].Essential && (m == All || items[i].foreign())
		some = some || held[i]
	}
	if !some {
		return nil
	}
	return held
}

// Active returns the indexes of the found items that a request offers, in the order in which they were found. It leaves out the ones
// that were found first if there are too many: more than 64, or definitions of more than 256 KiB or room.Bytes.
func Active(items []Item, held []bool, found []string, room Room) []int {
	at := make(map[string]int, len(items))
	for i := range items {
		if held[i] {
			at[items[i].Name] = i
		}
	}
	most := min(maxFoundBytes, room.Bytes)
	var active []int
	size := 0
	for _, name := range found {
		i, ok := at[name]
		if !ok || slices.Contains(active, i) {
			continue
		}
		active, size = append(active, i), size+items[i].Size
		drop, least := 0, 0
		if len(active) > maxFound {
			least = maxFound / 4
		}
		for drop < len(active)-1 && (drop < least || size > most) {
			size -= items[active[drop]].Size
			drop++
		}
		active = slices.Delete(active, 0, drop)
	}
	return active
}

// Cut is the number of tools of one server that a request leaves out.
type Cut struct {
	Server string
	Tools  int
}

// Fit reports for each item whether a request offers it, if none is held back: gjc's own tools, and as many foreign ones as there is
// room for. Servers take turns, so that one with many tools does not displace the others. The cuts are in the order of the servers.
func Fit(items []Item, room Room) (keep []bool, cuts []Cut) {
	keep = make([]bool, len(items))
	var servers []string
	of := make(map[string][]int)
	count, longest := 0, 0
	for i := range items {
		if !items[i].foreign() {
			keep[i] = true
			count++
			continue
		}
		server := items[i].Server
		if of[server] == nil {
			servers = append(servers, server)
		}
		of[server] = append(of[server], i)
		longest = max(longest, len(of[server]))
	}
	left, size := make(map[string]int), 0
	for turn := range longest {
		for _, server := range servers {
			if turn >= len(of[server]) {
				continue
			}
			i := of[server][turn]
			if room.Tools > 0 && count >= room.Tools || size+items[i].Size > room.Bytes {
				left[server]++
				continue
			}
			keep[i] = true
			count, size = count+1, size+items[i].Size
		}
	}
	for _, server := range servers {
		if left[server] > 0 {
			cuts = append(cuts, Cut{server, left[server]})
		}
	}
	return keep, cuts
}

const (
	// maxCatalogue bounds a catalogue, and maxCatalogueLine a line of it, in bytes.
	maxCatalogue     = 4 << 10
	maxCatalogueLine = 160
	// ownTools is the name of gjc's own tools in a catalogue.
	ownTools = "gjc"
)

// Catalogue lists the sources of the tools that are held back, each with its number of tools and the names of some. It does not depend
// on what was found, so that a request with it keeps its beginning. If there are too many sources, it ends with their number.
func Catalogue(items []Item, held []bool) string {
	var servers []string
	names := make(map[string][]string)
	total := 0
	for i := range items {
		if !held[i] {
			continue
		}
		total++
		server, name := items[i].Server, items[i].Remote
		if server == "" {
			server = ownTools
		}
		if name == "" {
			name = items[i].Name
		}
		if names[server] == nil {
			servers = append(servers, server)
		}
		names[server] = append(names[server], name)
	}
	var b strings.Builder
	listed := 0
	for n, server := range servers {
		line := catalogueLine(server, names[server])
		if b.Len()+len(line) > maxCatalogue {
			fmt.Fprintf(&b, "\n- and %s more with %d tools", text.Count(len(servers)-n, "source"), total-listed)
			break
		}
		b.WriteString(line)
		listed += len(names[server])
	}
	return b.String()
}

func catalogueLine(server string, names []string) string {
	line := "\n- " + text.TruncateBytes(text.OneLine(server), maxCatalogueLine/2) + ": " + text.Count(len(names), "tool")
	for i, name := range names {
		name = text.OneLine(name)
		next := " (" + name
		if i > 0 {
			next = ", " + name
		}
		if len(line)+len(next)+len(", …)") > maxCatalogueLine {
			if i > 0 {
				line += ", …)"
			}
			return line
		}
		line += next
	}
	return line + ")"
}
