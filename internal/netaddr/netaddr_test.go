package netaddr_test

import (
	"errors"
	"net/netip"
	"testing"

	"github.com/gajae-code/gjc/internal/netaddr"
)

func TestCheck(t *testing.T) {
	for text, open := range map[string]bool{
		"8.8.8.8": true, "2606:4700::1111": true, "64:ff9b::808:808": true, "2002:808:808::1": true, "1.1.1.1": true,
		"127.0.0.1": false, "127.8.9.1": false, "10.0.0.1": false, "172.16.3.4": false, "192.168.1.1": false, "169.254.169.254": false, "0.0.0.0": false,
		"0.1.2.3": false, "100.64.0.1": false, "100.100.100.200": false, "168.63.129.16": false, "198.18.0.1": false, "224.0.0.1": false, "255.255.255.255": false,
		"240.0.0.1": false, "192.0.2.7": false,
		"::1": false, "::": false, "fe80::1": false, "fe80::1%eth0": false, "fc00::1": false, "fd00:ec2::254": false, "ff02::1": false, "::ffff:127.0.0.1": false, "::ffff:10.0.0.1": false,
		"::127.0.0.1": false, "64:ff9b::7f00:1": false, "64:ff9b::a9fe:a9fe": false, "2002:7f00:1::1": false, "2001:db8::1": false, "fec0::1": false, "2001::1": false,
	} {
		err := netaddr.Check(netip.MustParseAddr(text))
		if open != (err == nil) || err != nil && !errors.Is(err, netaddr.ErrPrivate) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
