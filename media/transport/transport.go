package transport

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Strategy is what a viewer does when the address of its host changes.
type Strategy string

const (
	// Reconnect opens a new session from the new address. Rows with TLS resume the old TLS
	// session, which saves certificates but no round trip.
	Reconnect Strategy = "reconnect"
	// ZeroRTT reconnects with the first requests in the first packets (RFC 9001 section 4.6).
	ZeroRTT Strategy = "0-rtt"
	// Migrate moves the session to the new address (RFC 9000 section 9).
	Migrate Strategy = "migrate"
	// Multihome opens a session on several addresses and lets the transport fail over between
	// them (RFC 9260 section 6.4, RFC 8684). An address is an alternative for what the server
	// sends; what the client sends over SCTP follows its host's routes. MPTCP learns of
	// alternatives some round trips after the session has been opened, and the host's
	// endpoints stay configured for good.
	//
	// Linux 6.18 has a bug: if a path is cut off without the hosts noticing, about one MPTCP
	// session in ten never sends again until Patience ends it. This happens if all data had
	// arrived and only acknowledgements were lost. The kernel (__mptcp_retrans) then leaves
	// the alternative marked as chosen and no longer checks whether the path has failed. Linux
	// 7.3, which the virtual clock uses, is not affected; nor is 6.18 if the address is lost
	// with the link, or with net.mptcp.stale_loss_cnt at 1.
	Multihome Strategy = "multihome"
)

// Transport is one row of the table.
type Transport struct {
	// Name is what studies call it.
	Name string
	// Title is for people.
	Title string
	// Protocol is what packets carry in IP: "tcp", "udp" or "sctp".
	Protocol string
	// Encrypted says whether it is secured by TLS 1.3, or DTLS 1.2.
	Encrypted bool
	// Streams says whether a session can have several pending requests, each on its own
	// stream, instead of one at a time.
	Streams bool

	strategies []Strategy
	number     int   // of the protocol, for the socket call; 0 if programs bring their own
	lacking    error // the error if the host does not have the protocol
	connect    func(ctx context.Context, c *Client, locals []netip.Addr) (link, error)
	serve      func(ctx context.Context, s *Server) error
}

var (
	// ErrNoSCTP says that a host's kernel has no SCTP.
	ErrNoSCTP = errors.New("this machine's kernel has no SCTP: load it (modprobe sctp, as root), or use the virtual clock, " +
		"whose kernel has it; sctp-udp needs no kernel that does")
	// ErrNoMPTCP says that a host's kernel has no MPTCP.
	ErrNoMPTCP = errors.New("this machine's kernel has no MPTCP, or it is switched off: switch it on (sysctl net.mptcp.enabled=1), " +
		"or use the virtual clock, whose kernel has it")
	// ErrUnsupported says that a transport cannot do what a strategy needs.
	ErrUnsupported = errors.New("unsupported")
)

// All returns the table, in the order in which results are shown.
func All() []Transport {
	tcp := Transport{
		Name: "tcp", Title: "TCP with TLS 1.3", Protocol: "tcp", Encrypted: true, strategies: []Strategy{Reconnect},
		number: unix.IPPROTO_TCP, connect: connectTCP, serve: serveTCP,
	}
	mptcp := tcp
	mptcp.Name, mptcp.Title, mptcp.strategies = "mptcp", "Multipath TCP with TLS 1.3", []Strategy{Reconnect, Multihome}
	mptcp.number, mptcp.lacking = unix.IPPROTO_MPTCP, ErrNoMPTCP
	return []Transport{
		tcp,
		tcp.clear(),
		mptcp,
		mptcp.clear(),
		{
			Name: "sctp", Title: "SCTP of the kernel, in the clear", Protocol: "sctp", Streams: true, strategies: []Strategy{Reconnect, Multihome},
			number: unix.IPPROTO_SCTP, lacking: ErrNoSCTP, connect: connectSCTP, serve: serveSCTP,
		},
		{
			Name: "sctp-udp", Title: "SCTP over UDP, in the clear", Protocol: "udp", Streams: true, strategies: []Strategy{Reconnect},
			connect: connectSCTPOverUDP, serve: serveSCTPOverUDP,
		},
		{
			Name: "sctp-udp-dtls", Title: "SCTP over UDP with DTLS 1.2", Protocol: "udp", Encrypted: true, Streams: true,
			strategies: []Strategy{Reconnect}, connect: connectSCTPOverUDP, serve: serveSCTPOverUDP,
		},
		{
			Name: "quic", Title: "QUIC", Protocol: "udp", Encrypted: true, Streams: true, strategies: []Strategy{Reconnect, ZeroRTT, Migrate},
			connect: connectQUIC, serve: serveQUIC,
		},
	}
}

// clear is the row without TLS.
func (t Transport) clear() Transport {
	t.Title = strings.TrimSuffix(t.Title, "with TLS 1.3") + "in the clear"
	t.Name, t.Encrypted = t.Name+"-clear", false
	return t
}

// multipath reports whether the row uses MPTCP.
func (t Transport) multipath() bool { return t.number == unix.IPPROTO_MPTCP }

// Names returns the names of all rows.
func Names() []string {
	var names []string
	for _, t := range All() {
		names = append(names, t.Name)
	}
	return names
}

// Lookup returns the row called name. The error lists the rows.
func Lookup(name string) (Transport, error) {
	for _, t := range All() {
		if t.Name == name {
			return t, nil
		}
	}
	return Transport{}, fmt.Errorf("unknown transport %q: there are %s", name, strings.Join(Names(), ", "))
}

// Supports returns nil if the transport supports a strategy, and otherwise the reason why
// not. The error wraps ErrUnsupported.
func (t Transport) Supports(s Strategy) error {
	if slices.Contains(t.strategies, s) {
		return nil
	}
	why := map[Strategy]string{
		ZeroRTT:   "only QUIC carries requests in its first packets here",
		Migrate:   "its sessions are bound to the addresses they were opened with; only QUIC's are not",
		Multihome: "a session of it has one address at a time; those of sctp and mptcp may have several",
	}[s]
	if why == "" {
		return fmt.Errorf("unknown strategy %q: there are %s, %s, %s and %s", s, Reconnect, ZeroRTT, Migrate, Multihome)
	}
	return fmt.Errorf("strategy %s over %s is %w: %s", s, t.Name, ErrUnsupported, why)
}

// Available returns nil if a host can use the transport, and otherwise the reason why not.
// The error wraps ErrNoSCTP or ErrNoMPTCP if the kernel lacks the protocol.
func (t Transport) Available(h Host) error {
	if t.lacking == nil {
		return nil
	}
	err := h.do(func() error {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, t.number)
		if err != nil {
			return err
		}
		return unix.Close(fd)
	})
	// The protocol is unknown, not compiled in, or switched off.
	if errors.Is(err, unix.EPROTONOSUPPORT) || errors.Is(err, unix.ESOCKTNOSUPPORT) || errors.Is(err, unix.ENOPROTOOPT) {
		return t.lacking
	}
	if err != nil {
		return fmt.Errorf("try %s: %w", t.Name, err)
	}
	return nil
}
