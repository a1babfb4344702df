package transport

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// These are Linux's numbers for its MPTCP path manager (include/uapi/linux/mptcp_pm.h).
const (
	mptcpFamily      = "mptcp_pm"
	mptcpVersion     = 1
	mptcpAddAddress  = 1 // MPTCP_PM_CMD_ADD_ADDR
	mptcpAttrAddress = 1 // MPTCP_PM_ATTR_ADDR

	mptcpAddressFamily = 1 // MPTCP_PM_ADDR_ATTR_FAMILY
	mptcpAddressIPv4   = 3 // MPTCP_PM_ADDR_ATTR_ADDR4
	mptcpAddressIPv6   = 4 // MPTCP_PM_ADDR_ATTR_ADDR6
	mptcpAddressFlags  = 6 // MPTCP_PM_ADDR_ATTR_FLAGS

	mptcpSubflow = 1 << 1 // MPTCP_PM_ADDR_FLAG_SUBFLOW
	mptcpBackup  = 1 << 2 // MPTCP_PM_ADDR_FLAG_BACKUP
)

// addEndpoints tells the kernel which of the host's addresses MPTCP connections use: the
// first, and the others as backups, which carry data only when the first does not, as with
// SCTP. It needs the privilege to configure the network. It keeps endpoints that already
// exist.
func addEndpoints(locals []netip.Addr) error {
	family, err := netlink.GenlFamilyGet(mptcpFamily)
	if err != nil {
		return fmt.Errorf("find the kernel's MPTCP path manager: %w", err)
	}
	for i, a := range locals {
		flags := uint32(mptcpSubflow)
		if i > 0 {
			flags |= mptcpBackup
		}
		request := nl.NewNetlinkRequest(int(family.ID), unix.NLM_F_ACK)
		request.AddData(&nl.Genlmsg{Command: mptcpAddAddress, Version: mptcpVersion})
		address := nl.NewRtAttr(mptcpAttrAddress|unix.NLA_F_NESTED, nil)
		if a.Is4() {
			address.AddRtAttr(mptcpAddressFamily, nl.Uint16Attr(unix.AF_INET))
			address.AddRtAttr(mptcpAddressIPv4, a.AsSlice())
		} else {
			address.AddRtAttr(mptcpAddressFamily, nl.Uint16Attr(unix.AF_INET6))
			address.AddRtAttr(mptcpAddressIPv6, a.AsSlice())
		}
		address.AddRtAttr(mptcpAddressFlags, nl.Uint32Attr(flags))
		request.AddData(address)
		if _, err := request.Execute(unix.NETLINK_GENERIC, 0); err != nil && !errors.Is(err, unix.EEXIST) {
			return fmt.Errorf("make MPTCP use address %v: %w", a, err)
		}
	}
	return nil
}
