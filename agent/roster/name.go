package roster

import "strings"

// maxName bounds a helper's name, without that of its parent.
const maxName = 48

// clean returns the part of a wanted name that can be in the name of a file and in an address.
func clean(name string) string {
	name = strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' {
			return r
		}
		return '-'
	}, name)
	name = strings.Trim(name[:min(len(name), maxName)], "-_")
	if isDevice(name) {
		name += "-1"
	}
	return name
}

// isDevice reports whether Windows takes a file of the name, whatever its extension, for a device.
func isDevice(name string) bool {
	switch name = strings.ToLower(name); name {
	case "con", "prn", "aux", "nul":
		return true
	}
	return len(name) == 4 && (strings.HasPrefix(name, "com") || strings.HasPrefix(name, "lpt")) && name[3] >= '0' && name[3] <= '9'
}

// word returns the name of the helper with the number n that has none: an adjective and a noun. The first ones differ in both.
func word(n int) string {
	adjectives := strings.Fields("Amber Brisk Calm Clear Copper Deft Early Fair Gentle Golden Keen Lucid Mellow Nimble Patient Quiet Rapid Silver Steady Sunny Swift Tidy Vivid Warm Wise")
	nouns := strings.Fields("Badger Beacon Cedar Comet Crane Falcon Fern Finch Harbor Heron Lantern Lark Maple Marten Meadow Otter Pebble Pine Raven River Robin Sparrow Willow")
	return adjectives[n*7%len(adjectives)] + nouns[n*5%len(nouns)]
}
