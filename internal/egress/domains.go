package egress

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
)

// Domains is a list of hosts: "example.com" is that host, "*.example.com" every host below it, with any number of labels.
type Domains []string

// ErrDomain is wrapped by the error for an entry that is no host.
var ErrDomain = errors.New("no host name")

// ParseDomain returns an entry of [Domains] in its normal form.
func ParseDomain(text string) (string, error) {
	name := strings.TrimSuffix(strings.ToLower(text), ".")
	if addr, err := netip.ParseAddr(strings.Trim(name, "[]")); err == nil {
		return addr.Unmap().String(), nil
	}
	labels := strings.Split(strings.TrimPrefix(name, "*."), ".")
	for _, label := range labels {
		if label == "" || len(label) > 63 || strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return "", fmt.Errorf("%w: %q; write example.com, or *.example.com for the hosts below it", ErrDomain, text)
		}
	}
	if strings.HasPrefix(name, "*.") && len(labels) < 2 || len(name) > 253 {
		return "", fmt.Errorf("%w: %q; a wildcard stands for the hosts of one domain", ErrDomain, text)
	}
	return name, nil
}

// Contain reports whether a host is on the list. host is in lower case, without a dot at its end.
func (d Domains) Contain(host string) bool {
	for _, entry := range d {
		if entry == host {
			return true
		}
		if below, ok := strings.CutPrefix(entry, "*"); ok && len(host) > len(below) && strings.HasSuffix(host, below) {
			return true
		}
	}
	return false
}
