// Package netaddr distinguishes addresses of the public Internet from others.
package netaddr

import (
	"context"
	"encoding/binary"
	"errors"
	"net/netip"
	"syscall"
)

// closedPrefixes are prefixes that are not on the public Internet, in addition to those that package netip knows as
// private.
var closedPrefixes = [...]string{
	"0.0.0.0/8",        // this network
	"100.64.0.0/10",    // carrier-grade NAT; some clouds have their metadata service here
	"192.0.0.0/24",     // protocol assignments
	"192.0.2.0/24",     // documentation
	"192.88.99.0/24",   // 6to4 relays
	"198.18.0.0/15",    // benchmarks
	"198.51.100.0/24",  // documentation
	"203.0.113.0/24",   // documentation
	"240.0.0.0/4",      // reserved, broadcast
	"168.63.129.16/32", // metadata of a cloud
	"::/96",            // deprecated IPv4-compatible
	"64:ff9b:1::/48",   // local-use IPv4/IPv6 translation
	"100::/64",         // discard-only
	"2001::/23",        // protocol assignments, Teredo among them
	"2001:db8::/32",    // documentation
	"3fff::/20",        // documentation
	"5f00::/16",        // segment routing
	"fec0::/10",        // deprecated site-local
	"::ffff:0:0:0/96",  // IPv4 translated
}

// ErrPrivate reports an address of this machine or of a private network.
var ErrPrivate = errors.New("an address of this machine or of a private network")

// Check returns [ErrPrivate] for an address that is not on the public Internet.
func Check(addr netip.Addr) error {
	addr = addr.Unmap().WithZone("")
	if !addr.IsValid() || !addr.IsGlobalUnicast() || addr.IsPrivate() || addr.IsLoopback() || addr.IsLinkLocalUnicast() {
		return ErrPrivate
	}
	for _, text := range closedPrefixes {
		if netip.MustParsePrefix(text).Contains(addr) {
			return ErrPrivate
		}
	}
	if inner, ok := embedded(addr); ok {
		return Check(inner)
	}
	return nil
}

// embedded returns the IPv4 address that a translation mechanism embeds in an IPv6 address.
func embedded(addr netip.Addr) (netip.Addr, bool) {
	if !addr.Is6() {
		return netip.Addr{}, false
	}
	b := addr.As16()
	switch {
	case binary.BigEndian.Uint64(b[:8]) == 0x0064_ff9b_0000_0000 && binary.BigEndian.Uint32(b[8:12]) == 0: // 64:ff9b::/96
		return netip.AddrFrom4([4]byte(b[12:])), true
	case b[0] == 0x20 && b[1] == 0x02: // 2002::/16
		return netip.AddrFrom4([4]byte(b[2:6])), true
	default:
		return netip.Addr{}, false
	}
}

// Control is the ControlContext function of a dialer that refuses addresses which are not on the public Internet. It sees the address
// that is connected to, whatever a name has been resolved to before.
func Control(_ context.Context, _, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return ErrPrivate
	}
	return Check(at.Addr())
}
